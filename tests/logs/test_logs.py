"""The package: public names that are there, and what importing it does not load."""

import subprocess
import sys

import sojourn.logs as logs

HEAVY = ("ibis", "numba", "matplotlib", "jinja2", "sojourn.simulation", "sojourn.policies")


def loaded_after(statement: str) -> set[str]:
    """Which of `HEAVY` a fresh process has loaded after a statement."""
    code = f"import sys; {statement}; print(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_found() -> None:
    assert "fit" in dir(logs) and "decide" in dir(logs)
    for name in dir(logs):
        assert getattr(logs, name).__name__.rpartition(".")[2] == name


def test_importing_the_package_loads_no_engine() -> None:
    assert loaded_after("import sojourn.logs") == set()


def test_reading_options_needs_no_engine() -> None:
    assert loaded_after("from sojourn.logs.reading.spec import LogSpec") == set()


def test_ibis_waits_for_a_log_and_matplotlib_for_a_report() -> None:
    assert not {"ibis", "matplotlib", "jinja2"} & loaded_after(
        "from sojourn.logs import Fit, decide, evaluate, fit, report"
    )

"""What a test process says when it ends is no verdict.

DuckDB 2 is built with nanobind, which lists on standard error what is alive when the interpreter
ends. Python frees nothing that a daemon thread holds, so one that was left waiting with a DuckDB
object in a variable is enough (tests/release/test_endings.py; seen with 2.0.0, not with 1.5.6).
Nothing is lost by it: the process is over.
"""

import atexit
import os


def end_quietly() -> None:
    """Have this process say nothing on standard error once it is ending."""
    atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))

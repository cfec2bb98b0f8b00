"""Compiled code from child processes, which leave it in the disk cache: nobody waits for it.

Compiling in a thread would hold the GIL most of the time.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from multiprocessing import spawn
from typing import Any

from numba import config

AT_ONCE = 2
"""Most children at a time; each takes one processor, at low priority."""

START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from sojourn.engine.background import work; work()"
)

_free = defaultdict[int, threading.Semaphore](partial(threading.Semaphore, AT_ONCE))
_jobs: dict[Hashable, Future[str]] = {}
"""Both by process: the threads of one that was forked are not in the child."""


def compile_later(key: Hashable, function: Callable[..., Any], *arguments: Any) -> Future[str]:
    """Have a child process call a function that compiles something, once for each key.

    The result is empty, or one line that says what went wrong: arguments have to be of classes that
    a child can import, which those of `__main__` and of notebooks are not.
    """
    made = Future[str]()
    future = _jobs.setdefault((os.getpid(), key), made)
    if future is made:
        task = made, (function, arguments)
        threading.Thread(target=_run, args=task, name="sojourn-compile", daemon=True).start()
    return future


def _run(future: Future[str], job: Any) -> None:
    with _free[os.getpid()]:
        try:
            said = _call(pickle.dumps(sys.path) + pickle.dumps(job))
        except Exception as error:
            said = _line(error)
    future.set_result(said)


def _call(job: bytes) -> str:
    """Let a child do a job; it ends with this process, because its input does."""
    folder = {"NUMBA_CACHE_DIR": config.CACHE_DIR} if config.CACHE_DIR else {}
    with subprocess.Popen(
        [spawn.get_executable(), "-c", START],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, **folder}, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(job)
        child.stdin.flush()
        said = child.stdout.read().decode(errors="replace")
    return said or (f"the compiler ended with code {child.returncode}" if child.returncode else "")


def work() -> None:
    """The child: do one job, and print what went wrong."""
    answer, sys.stdout, said = sys.stdout, sys.stderr, ""  # what modules print is no answer
    with suppress(AttributeError):  # Windows
        os.nice(5)
    try:
        function, arguments = pickle.load(sys.stdin.buffer)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        function(*arguments)
    except Exception as error:
        said = _line(error)
    print(said, end="", file=answer, flush=True)
    os._exit(0)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

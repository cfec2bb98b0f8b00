"""A stranger's script: every block of the Start pages, in order, copied into a terminal and Python.

Commands run in processes of their own and Python in one interpreter, all in one folder that was
empty, with an environment that has nothing but the package. What they print is what the pages show.
Two things differ from what a stranger does: the package is installed already, and the port that
servers take is one that is free. With `SOJOURN_PYTHON=/path/to/python` it is the package of that
environment, such as one into which a wheel was installed and nothing else.
"""

import doctest
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from blocks import ROOT, all_blocks, commands, same
from small import free_port

PORT = "8000"
INSTALL = "pip install"
DONE = "that was all"
PATIENCE = 300
"""Seconds for anything."""
PYTHON = os.environ.get("SOJOURN_PYTHON", sys.executable)
KEPT = ("PYTHONPATH", "NUMBA_CACHE_DIR") if PYTHON == sys.executable else ()
"""Variables that say where the package is."""


def start_pages() -> list[Path]:
    """In the order of the site."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1])
    (start,) = (entry["Start"] for entry in nav if "Start" in entry)
    return [ROOT / "docs" / page for entry in start for page in entry.values()]


def test_every_block_of_the_start_pages(tmp_path: Path) -> None:
    port = str(free_port())
    path = os.pathsep.join([str(Path(PYTHON).parent), "/usr/bin", "/bin"])
    ours = {name: os.environ[name] for name in KEPT if name in os.environ}
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    env = {**ours, "PATH": path, "HOME": str(home), "SOJOURN_PORT": port}
    there = {"cwd": folder, "env": env}
    languages = []
    with python(there, tmp_path / "errors.txt") as interpreter:
        for page in start_pages():
            with ExitStack() as running:  # servers, until the end of their page
                for language, text in all_blocks(page):
                    languages.append(language)
                    if language == "python":
                        interpreter.paste(text.replace(PORT, port))
                    elif language == "console":
                        for line, shown in commands(text):
                            assert same(shown, printed(line, there)), line
                    elif INSTALL not in text:
                        assert "Sojourn" in running.enter_context(server(text, port, there))
    assert set(languages) == {"sh", "console", "python"}


def printed(line: str, there: Any) -> list[str]:
    """What a command prints."""
    more: Any = {"capture_output": True, "text": True, "timeout": PATIENCE, "check": False}
    found = subprocess.run(shlex.split(line), **more, **there)
    assert found.returncode == 0, found.stderr
    return [text.rstrip() for text in found.stdout.splitlines()]


@contextmanager
def server(text: str, port: str, there: Any) -> Iterator[str]:
    """In another terminal: the front page, once it is there; Ctrl-C ends it without an error."""
    with (there["cwd"].parent / "server.txt").open("w+") as log:
        process = subprocess.Popen(shlex.split(text), stdout=log, stderr=log, **there)
        try:
            yield front_page(f"http://127.0.0.1:{port}/", process)
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(PATIENCE)
            log.seek(0)
            assert code == 0, log.read()


def front_page(url: str, process: "subprocess.Popen[bytes]") -> str:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return str(answer.read().decode())
        except OSError:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)


class Interpreter:
    """A Python at its prompt."""

    def __init__(self, process: Any, errors: Path) -> None:
        self._process, self._errors = process, errors

    def paste(self, text: str) -> None:
        """Type what stands after the prompts, and compare what comes."""
        for example in doctest.DocTestParser().get_examples(text):
            found = self._type(example.source)
            told = f"{example.source}{found}{self._errors.read_text()}"
            assert doctest.OutputChecker().check_output(example.want, found, 0), told
            assert "Traceback" not in told, told

    def _type(self, source: str) -> str:
        self._process.stdin.write(f"{source}\nprint({DONE!r})\n")
        self._process.stdin.flush()
        lines = iter(self._process.stdout.readline, f"{DONE}\n")
        found = ""
        for line in lines:
            assert line, f"Python ended at {source}{self._errors.read_text()}"
            found += line
        return found


@contextmanager
def python(there: Any, errors: Path) -> Iterator[Interpreter]:
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with errors.open("w") as log:
        process = subprocess.Popen([PYTHON, "-i", "-q"], stderr=log, **pipes, **there)
        try:
            yield Interpreter(process, errors)
        finally:
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0

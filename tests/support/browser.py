"""A headless Chromium for tests: that of the machine, or one from npm, got once by itself.

`$SOJOURN_CHROMIUM` names one; else the first on the PATH; else npm puts its package
@sparticuz/chromium under the virtual environment's folder.
"""

import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHROMIUM = "@sparticuz/chromium", "147.0.0"
AXE = "axe-core", "4.14.0"
HOME = Path(sys.prefix) / "share" / "sojourn-tests"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-domain-reliability", "--no-pings", "--font-render-hinting=none",
]  # fmt: skip
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{home}/fonts</dir><dir>/usr/share/fonts</dir>
<cachedir>{home}/fonts-cache</cachedir></fontconfig>
"""
PATIENCE = 180
"""Seconds for a download."""


class Browser(NamedTuple):
    """A program, and the environment that it needs."""

    program: Path
    environment: dict[str, str]


def found() -> Browser:
    """A browser; the test is skipped if there is none to be had, except where tests must run."""
    try:
        return _own() or _fetched()
    except Exception as error:
        _without(f"no Chromium here, and none to be had: {type(error).__name__}: {error}")


@contextmanager
def launched() -> Iterator[Any]:
    """A browser of Playwright, without which the test is skipped."""
    api = pytest.importorskip("playwright.sync_api")
    program, environment = found()
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=ARGUMENTS, env=environment)
        yield made
        made.close()


def axe() -> str:
    """The text of axe-core, which looks for barriers in a page."""
    try:
        return (_package(*AXE) / "axe.min.js").read_text(encoding="utf-8")
    except Exception as error:
        _without(f"axe-core cannot be had: {type(error).__name__}: {error}")


def _without(reason: str) -> None:
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.fail(reason)
    pytest.skip(reason)


def _own() -> Browser | None:
    named = os.environ.get("SOJOURN_CHROMIUM")
    program = named or next(filter(None, map(shutil.which, NAMES)), None)
    return None if program is None else Browser(Path(program), dict(os.environ))


def _fetched() -> Browser:
    bin = _package(*CHROMIUM) / "bin"
    home = HOME / f"chromium-{CHROMIUM[1]}"
    with _locked():
        if not (home / "chromium").exists():
            _unpack(bin, home)
    environment = {**os.environ, "FONTCONFIG_PATH": str(home)}
    if _lacks(home / "chromium"):
        environment["LD_LIBRARY_PATH"] = str(home / "lib")
    return Browser(home / "chromium", environment)


def _lacks(program: Path) -> bool:
    """Whether libraries are missing, which the package then brings."""
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return done.returncode != 0


def _unpack(bin: Path, home: Path) -> None:
    import brotli

    home.mkdir(parents=True, exist_ok=True)
    for name in ("al2023", "fonts", "swiftshader"):
        archive = io.BytesIO(brotli.decompress((bin / f"{name}.tar.br").read_bytes()))
        with tarfile.open(fileobj=archive) as tar:
            tar.extractall(home, filter="data")
    (home / "fonts.conf").write_text(FONTS.format(home=home))
    part = home / "chromium.part"
    part.write_bytes(brotli.decompress((bin / "chromium.br").read_bytes()))
    part.chmod(0o755)
    part.replace(home / "chromium")  # the last thing, and at once: it says that all is there


def _package(name: str, version: str) -> Path:
    """The folder of an npm package, fetched if need be."""
    home = HOME / "npm" / f"{name.rpartition('/')[2]}-{version}"
    folder = home / "node_modules" / name
    with _locked():
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            folder.mkdir(parents=True)
            _install(home, name, version)
            (home / "ready").touch()
    return folder


def _install(home: Path, name: str, version: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not installed")
    (home / "package.json").write_text(json.dumps({"private": True}))
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--omit=dev")
    command = [npm, "install", *quiet, f"{name}@{version}"]
    subprocess.run(command, cwd=home, capture_output=True, timeout=PATIENCE, check=True)


@contextmanager
def _locked() -> Iterator[None]:
    """One at a time: several processes may run tests."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

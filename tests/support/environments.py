"""Environments with the wheel in them and, of other packages, what the wheel asks for and no more.

Packages are linked from the environment that runs the tests, so that nothing is downloaded, and a
requirement that `pyproject.toml` forgot is missing as it would be for a user. Where SOJOURN_RELEASE
is set they are installed from the package index instead, which takes minutes.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
RELEASE = bool(os.environ.get("SOJOURN_RELEASE"))


class Built(NamedTuple):
    wheel: Path
    sdist: Path


def build(folder: Path) -> Built:
    """A source distribution of this folder, and the wheel made of that."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


class Environment(NamedTuple):
    """A folder that `python -m venv` made."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """A command of the environment, run by a user who has set nothing."""
        variables = {"HOME": str(self.home), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(
            command, cwd=self.home, env=variables, capture_output=True, text=True, check=False
        )

    def says(self, code: str) -> str:
        """What Python prints in the end, with its errors."""
        done = self.run(self.python, "-c", code)
        return (done.stdout + done.stderr).strip()

    def pip(self, *arguments: str) -> None:
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", self.python]
        subprocess.run([*pip, *arguments], check=True)


def environment(
    folder: Path, wheel: Path, *extras: str, python: str = sys.executable
) -> Environment:
    """A new environment in which the wheel is installed with these extras."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    made = Environment(folder)
    made.home.mkdir()
    if RELEASE:
        made.pip("install", f"{wheel}[{','.join(extras)}]" if extras else str(wheel))
        return made
    made.pip("install", "--no-deps", "--no-index", str(wheel))
    (own,) = made.packages.glob("sojourn-*.dist-info")
    for package in required(Distribution.at(own), extras):
        _link(package, made.packages)
    return made


def required(
    package: Distribution, extras: Iterable[str], found: dict[str, Distribution] | None = None
) -> Iterable[Distribution]:
    """What a package with these extras requires, and what that requires, as installed here."""
    found = {} if found is None else found
    for text in package.requires or ():
        needs = Requirement(text)
        if needs.marker is None or any(
            needs.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            key = f"{needs.name}[{','.join(sorted(needs.extras))}]"
            if key not in found:
                found[key] = distribution(needs.name)
                required(found[key], needs.extras, found)
    return found.values()


def _link(package: Distribution, folder: Path) -> None:
    for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(str(package.locate_file(name)))

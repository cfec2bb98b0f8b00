"""Compiled code is read where it is, and kept where that can be; nowhere is no error."""

import errno
import fcntl
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest
from numba import config
from numba.core import caching
from small import module_of

from sojourn.cli.output import warnings_as_notes
from sojourn.engine import disk_cache

MODULE = """
from sojourn.engine.loops import loop

@loop
def double(x):
    return 2 * x

@loop
def triple(x):
    return 3 * x
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "_warned", [])


def module(folder: Path) -> ModuleType:
    """The loops as a new process would have them."""
    (folder / "loops_outside.py").write_text(MODULE)
    return module_of(folder / "loops_outside.py", "loops_outside")


def hits(loop: Any) -> int:
    return sum(sum(made.stats.cache_hits.values()) for made in loop._made.values())


def read_only(*_: Any, **__: Any) -> NoReturn:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*.nb?"))


@pytest.mark.usefixtures("fresh")
def test_where_no_folder_can_be_made_code_is_compiled_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths below a file: not even root can write there."""
    (tmp_path / "__pycache__").write_text("")
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "__pycache__" / "kept"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "__pycache__"))
    loops = module(tmp_path)
    with warnings_as_notes():
        assert loops.double(4) == 8
        assert loops.triple(4) == 12
    said = capsys.readouterr().err
    assert said == (
        "note: compiled code cannot be kept (Not a directory), so that every process compiles it "
        "again: set NUMBA_CACHE_DIR to a folder that can be written to\n"
    )


@pytest.mark.usefixtures("fresh")
def test_a_filled_folder_is_read_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr(config, "CACHE_DIR", str(cache))
    first = module(tmp_path)
    assert first.double(4) == 8 and hits(first.double) == 0
    filled = files(cache)
    assert len(filled) == 2

    monkeypatch.setattr(caching.tempfile, "TemporaryFile", read_only)
    again = module(tmp_path)
    assert again.double(4) == 8 and hits(again.double) == 1
    with pytest.warns(
        disk_cache.CacheWarning, match=r"^compiled code cannot be kept \(Read-only file"
    ):
        assert again.triple(4) == 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again.triple(0.5) == 1.5  # said once
    assert files(tmp_path) == filled


def test_before_the_folder_that_is_written_to_a_filled_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image with a filled folder that is read-only, and a home that can be written to."""
    cache, home = tmp_path / "cache", tmp_path / "home"
    monkeypatch.setattr(config, "CACHE_DIR", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert module(tmp_path).double(4) == 8

    def writable(dir: str) -> Any:
        return (home / "x").open("w") if dir.startswith(str(home)) else read_only()

    monkeypatch.setattr(caching.tempfile, "TemporaryFile", writable)
    again = module(tmp_path)
    assert again.double(4) == 8 and hits(again.double) == 1
    assert again.triple(4) == 12
    assert [file.name.split("-")[0] for file in files(home)] == ["loops_outside.triple"] * 2


@pytest.mark.usefixtures("fresh")
def test_code_that_cannot_be_read_or_saved_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full, and files of another account."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))

    def full(*_: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", read_only)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    with pytest.warns(disk_cache.CacheWarning, match=r"\(No space left on device\)"):
        assert module(tmp_path).double(4) == 8


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_nothing_is_left_in_a_package_that_was_installed(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be there after the package is uninstalled, and could be imported, empty."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / folder).mkdir()
    assert module(tmp_path / folder).double(4) == 8
    assert not files(tmp_path / folder) and len(files(tmp_path / "home")) == 2
    again = module(tmp_path / folder)
    assert again.double(4) == 8 and hits(again.double) == 1


RACE = """
import sys, time
from sojourn.engine import disk_cache
from loops_outside import double

found = disk_cache.DiskCache.load_overload

def slow(self, *what):
    code = found(self, *what)
    if code is None:
        time.sleep(1.5)  # so that others look before this one has compiled
    return code

disk_cache.DiskCache.load_overload = slow
while time.time() < float(sys.argv[1]):
    time.sleep(0.01)
assert double(4) == 8
print(sum(sum(made.stats.cache_misses.values()) for made in double._made.values()))
"""


def test_processes_take_turns_and_only_one_compiles(tmp_path: Path) -> None:
    (tmp_path / "loops_outside.py").write_text(MODULE)
    (tmp_path / "race.py").write_text(RACE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "race.py", str(time.time() + 1.0)]
    racers = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    missed = [int(racer.communicate(timeout=100)[0]) for racer in racers]
    assert sorted(missed) == [0, 0, 1]
    assert not list(tmp_path.rglob("*.turn"))


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(disk_cache, "PATIENCE", 0.1)
    loops = module(tmp_path)
    assert loops.double(4) == 8
    (code,) = (path for path in files(tmp_path) if path.suffix == ".nbi" and "double" in path.name)
    turn = code.with_suffix(".turn")
    with turn.open("w") as hung:
        fcntl.flock(hung, fcntl.LOCK_EX)
        assert module(tmp_path).double(4) == 8
    assert not turn.exists()

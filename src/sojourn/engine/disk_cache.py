"""Compiled code on disk: read wherever it is, kept wherever that can be.

Numba looks for the first folder that it can write to (`NUMBA_CACHE_DIR`, the package's own, the
user's), reads no other, and fails if there is none. Here folders before that one are read as well,
such as a cache that was filled when an image was built, and where nothing can be written code is
compiled for this process alone. Processes that want the same code at the same time take turns: the
first compiles, others find it kept. Nothing is written into the folder of an installed package:
an installer would not remove those files, nor their folder, with the package.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

try:
    import fcntl
except ImportError:  # Windows: no turns, and the same code may be compiled twice
    fcntl = None  # type: ignore[assignment]

PATIENCE, PAUSE = 120.0, 0.05
"""Seconds to wait for another process that compiles, and between two looks."""

INSTALLED = {"site-packages", "dist-packages"}
"""Folders that belong to an installer."""


class CacheWarning(UserWarning):
    """Compiled code cannot be kept, so that the next process has to compile it again."""


class NotKept(Exception):
    """Code is not on disk, and only what is there was asked for."""


class DiskCache(NullCache):  # type: ignore[misc]
    """Numba's cache of one function: the folders up to the first that can be written to.

    With `only_kept` it raises `NotKept` where Numba would compile.
    """

    def __init__(self, function: FunctionType, *, only_kept: bool = False) -> None:
        self._folders, self._only_kept = list(_folders(function)), only_kept

    def load_overload(self, signature: Any, target: Any) -> Any:
        for folder in self._folders:
            try:
                found = folder.load_overload(signature, target)
            except OSError:
                continue
            if found is not None:
                return found
        if self._only_kept:
            raise NotKept
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            self._folders[-1].save_overload(signature, code)
        except (IndexError, OSError) as error:
            _warn_once(getattr(error, "strerror", None) or "there is no folder for it")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the code's turn; without a folder to keep it in there is nothing to wait for."""
        if not self._folders or fcntl is None:
            yield
            return
        kept = self._folders[-1]._impl
        path = Path(kept.locator.get_cache_path()) / f"{kept.filename_base}.turn"
        try:
            file = path.open("w")
        except OSError:
            yield
            return
        with file:
            _wait_for(file)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)  # waiting processes have it open, and find the code


def _wait_for(file: Any) -> None:
    """Lock a file, or give up after `PATIENCE`: its owner may hang."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return


def _folders(function: FunctionType) -> Iterator[Any]:
    for kind in _kinds(Path(function.__code__.co_filename)):
        try:
            folder = kind(function)
        except (OSError, RuntimeError):  # no source file, or the user's own locators find nothing
            continue
        yield folder
        try:
            folder._impl.locator.ensure_cache_path()
        except OSError:
            continue
        return


def _kind(place: Any) -> Any:
    """Numba's cache in one place, whether it can be written to or not."""

    class Locator(place):  # type: ignore[misc]
        @classmethod
        def from_function(cls, function: Any, file: str) -> Any:
            return cls(function, file)

    class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Locator,)

    class Folder(FunctionCache):  # type: ignore[misc]
        _impl_class = Implementation

    return Folder


_NAMED = _kind(UserProvidedCacheLocator)
_BESIDE = _kind(InTreeCacheLocator)
_OF_THE_USER = _kind(UserWideCacheLocator)


def _kinds(source: Path) -> Iterator[Any]:
    """The places to look in, in order."""
    if config.CACHE_DIR:
        yield _NAMED
    if INSTALLED.isdisjoint(source.parts):
        yield _BESIDE
    yield _OF_THE_USER


_warned: list[str] = []


def _warn_once(reason: str) -> None:
    if _warned:
        return
    _warned.append(reason)
    warnings.warn(
        f"compiled code cannot be kept ({reason}), so that every process compiles it again: set "
        "NUMBA_CACHE_DIR to a folder that can be written to",
        CacheWarning,
        stacklevel=2,
    )

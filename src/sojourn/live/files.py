"""Files that nobody else reads, and that are whole or not there: of SQLite stores, and of keys."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..validation import InputError
from .errors import InUse

PRIVATE = 0o600
PREFIX = ".sojourn-"  # of files that are not whole yet


def make_private(path: Path) -> int | None:
    """Create and open a file that only its owner can read; None if it exists already.

    SQLite gives its other files (-wal, -shm) the mode of the database. One that is there must not
    be opened beside SQLite: closing it would give up the locks that this process has on it.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be opened ({error.strerror})") from None


class Lock:
    """A lock on a database, in a file beside it, which ends with the process at the latest."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self._path = database.with_name(database.name + ".lock")
        made = make_private(self._path)
        self._made = made is not None
        try:
            self._file = os.open(self._path, os.O_RDWR) if made is None else made
        except OSError as error:
            raise InputError(f"{self._path} cannot be opened ({error.strerror})") from None
        if not locked(self._file):
            os.close(self._file)
            raise InUse(
                f"{database} is in use by another process: a SQLite file serves one process at a "
                "time, and PostgreSQL serves several"
            )

    def close(self) -> None:
        """Once: the number of a closed file may be another's the next time."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def withdraw(self) -> None:
        """Leave things as they were: there is no store to lock."""
        if self._made:
            self._path.unlink(missing_ok=True)
        self.close()


def locked(file: int) -> bool:
    """Whether this process has the lock of an open file now: nobody else does."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A private file under another name in the same folder, which becomes `target` at the end.

    A process that is killed before leaves a file .part, which the next call in this folder deletes.
    """
    try:
        file, name = tempfile.mkstemp(".part", PREFIX, target.parent)
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror})") from None
    part = Path(name)
    if sys.platform != "win32":  # where a file that is open cannot be deleted
        locked(file)
    for other in target.parent.glob(f"{PREFIX}*.part"):
        with suppress(OSError):
            _delete_if_left(other)
    try:
        yield part
        os.fsync(file)
        part.replace(target)
        sync(target.parent)
    finally:
        os.close(file)
        _delete(part)


def _delete_if_left(part: Path) -> None:
    """Delete a file that nobody has locked, unless it is so new that it may be about to be."""
    with part.open("rb") as file:
        if locked(file.fileno()) and time.time() - part.stat().st_mtime > 1.0:
            _delete(part)


def _delete(part: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        Path(f"{part}{end}").unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    if sys.platform != "win32":
        entry = os.open(path, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)

"""A store: finished chunks in one SQLite file, so that long work can be stopped and continued.

Every finished chunk is one transaction. The file is in write-ahead mode with full synchronisation:
a chunk takes about a second to compute and some milliseconds to make durable, so there is nothing
to gain from risking the last ones in a power cut. Chunks are found by `Job.key`, which changes
with anything their numbers depend on, so a chunk of another version is never used; that there
are some is said once.
"""

import json
import sqlite3
import warnings
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np

from ..stats.moments import Array, Moments, Part
from ..validation import InputError
from ..version import __version__
from .chunks import Job

APPLICATION = 0x534F4A4F  # "SOJO", in the header of the file
FORMAT = 1
PATIENCE = 60.0  # seconds to wait for another process that is writing

TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT PRIMARY KEY,
    subject TEXT NOT NULL,  -- what was simulated, in words
    version TEXT NOT NULL   -- of the package
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
    key TEXT NOT NULL REFERENCES jobs,
    first INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (key, first, runs)
) WITHOUT ROWID;
"""


class StoreWarning(UserWarning):
    """A store has chunks that cannot be used."""


class ChunkStore(AbstractContextManager["ChunkStore"]):
    """The finished chunks in a file, which is made if it does not exist."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._clearly():
            self._db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            with self._clearly():
                self._open()
        except InputError:
            self._db.close()
            raise

    def _open(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and (application, version) != (APPLICATION, FORMAT):
            raise InputError(
                f"{self.path} is not a store of chunks, or of another format than {FORMAT}"
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if not tables:
            self._db.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; "
                f"PRAGMA user_version = {FORMAT}; {TABLES} COMMIT;"
            )

    def enter(self, job: Job) -> None:
        """Register a job, and warn if the store has chunks of it from other code."""
        names = {"problem": repr(job.problem), "policy": repr(job.policy), "seed": job.seed}
        subject = json.dumps({**names, "checkpoints": job.grid.tolist()})
        with self._clearly():
            self._db.execute(
                "INSERT OR IGNORE INTO jobs VALUES (?, ?, ?)", (job.key, subject, __version__)
            )
            others = self._db.execute(
                "SELECT DISTINCT version FROM jobs WHERE subject = ? AND key != ? "
                "AND EXISTS (SELECT 1 FROM chunks WHERE chunks.key = jobs.key) ORDER BY version",
                (subject, job.key),
            ).fetchall()
        if others:
            versions = " and ".join(version for (version,) in others)
            warnings.warn(
                f"{self.path} has chunks of {job.policy!r} that were computed by other code "
                f"(sojourn {versions}, perhaps with another Numba): they are not used",
                StoreWarning,
                stacklevel=3,
            )

    def get(self, job: Job, first: int, runs: int) -> Part | None:
        with self._clearly():
            found = self._db.execute(
                "SELECT data FROM chunks WHERE key = ? AND first = ? AND runs = ?",
                (job.key, first, runs),
            ).fetchone()
            return None if found is None else _unpack(found[0], job, runs)

    def put(self, job: Job, first: int, part: Part) -> None:
        """Keep a chunk: when this returns it is on the disk."""
        arrays = (part.moments.mean, part.moments.squares, part.regret)
        data = b"".join(a.astype("<f8").tobytes() for a in arrays)
        with self._clearly():
            self._db.execute(
                "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?)",
                (job.key, first, part.moments.runs, zlib.compress(data, level=1)),
            )

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """Say in one sentence what is wrong with the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise InputError(f"{self.path}: the store cannot be used ({error})") from None
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise InputError(f"{self.path} is not a store, or it is damaged ({error})") from None


def _unpack(data: bytes, job: Job, runs: int) -> Part:
    numbers: Array = np.frombuffer(zlib.decompress(data), "<f8").astype(np.float64)
    points, columns = job.shape
    size = points * columns
    if numbers.size != 2 * size + runs * points:
        raise sqlite3.DatabaseError("a chunk has the wrong size")
    mean, squares, regret = np.split(numbers, [size, 2 * size])
    moments = Moments(runs, mean.reshape(job.shape), squares.reshape(job.shape))
    return Part(moments, regret.reshape(runs, points))

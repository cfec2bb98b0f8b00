"""Where live visits are kept: in memory, in a SQLite file, or in PostgreSQL."""

from .base import Store
from .memory import MemoryStore
from .postgres import PostgresStore
from .sqlite import SqliteStore

__all__ = ["MemoryStore", "PostgresStore", "SqliteStore", "Store", "open_store"]


def open_store(url: str, *, reading: bool = False) -> Store:
    """The store at an address: memory://, sqlite:///file or postgresql://...

    With `reading` nothing can be written, and a SQLite file that is in use can be opened.

    >>> open_store("mysql://host")
    Traceback (most recent call last):
    ValueError: store = 'mysql://...' is not allowed: it must be memory://, sqlite:///file or \
postgresql://user@host/database
    """
    scheme, found, rest = str(url).partition("://")
    if scheme == "memory" and found:
        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteStore(rest[1:], reading=reading)
    if scheme in ("postgresql", "postgres"):
        return PostgresStore(url, reading=reading)
    shown = f"{scheme}://..." if found else url  # the rest may hold a password
    raise ValueError(
        f"store = {shown!r} is not allowed: it must be memory://, sqlite:///file or "
        "postgresql://user@host/database"
    )

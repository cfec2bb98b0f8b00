"""The command `sojourn backup`."""

from pathlib import Path
from typing import Annotated

from ..validation import InputError
from .arguments import AsJson
from .output import print_json
from .stores import file_errors_as_input, store_and, store_words

EXAMPLE = "sojourn backup live.db live-2026-11-16.db"


def backup_command(
    words: Annotated[list[str], store_words("[STORE] FILE", " FILE: a new SQLite file.")],
    as_json: AsJson = False,
) -> None:
    """Copy a SQLite store as it is at one moment, while a server goes on writing to it.

    To restore it, stop the server, remove the -wal file and put the copy in place of the store.
    """
    from ..live import store_class

    url, file = store_and(words, "FILE")
    target = Path(file)
    if target.exists():
        raise InputError(f"FILE = {file!r} is not allowed: it is there already, give a new name")
    with file_errors_as_input():
        store_class(url).backup(url, target)
    size = target.stat().st_size
    print_json({"file": file, "bytes": size}) if as_json else print(f"{file}: {size:,} bytes")

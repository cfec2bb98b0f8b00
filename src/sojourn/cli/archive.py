"""The command `sojourn archive`."""

from pathlib import Path
from typing import Annotated

from ..show.tables import Table
from ..validation import InputError
from .arguments import AsJson, option
from .output import note, print_json, print_table
from .stores import store_first, store_words, writable

EXAMPLE = "sojourn archive live.db --to archive --older-than 30"
DAY = 86_400.0

Folder = Annotated[
    Path | None,
    option("The folder of the archive; default: leave it alone.", "--archive", metavar="FOLDER"),
]


def archive_command(
    words: Annotated[
        list[str] | None, store_words("[STORE] [EXPERIMENT]...", " Default: all experiments.")
    ] = None,
    to: Annotated[Path, option("The folder of the archive.", metavar="FOLDER")] = Path("archive"),
    older_than: Annotated[
        float, option("Visits that ended more than so many days ago.", metavar="DAYS")
    ] = 30.0,
    shrink: Annotated[
        bool, option("Then give the room in the store back to the disk; calls wait.", "--shrink")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Move the events of old visits to Parquet files by day; counters and charts stay.

    A SQLite file that a server is using is archived by it: sojourn serve --archive --keep-days.
    """
    from ..live import archive
    from ..live.stores.base import all_of_their_own

    url, names = store_first(words or [])
    if not 0.0 <= older_than <= 36_500.0:
        raise InputError(
            f"--older-than {older_than:g} is not allowed: it must be from 0 to 36500 days"
        )
    with writable(url, "sojourn serve --archive FOLDER --keep-days DAYS") as store:
        before, done = store.now() - DAY * older_than, {}
        for name in names or all_of_their_own(store):
            try:
                done[name] = archive(store, name, before, to)
            except InputError as error:
                if names:
                    raise
                note(str(error))
        if shrink:
            store.shrink()
    if as_json:
        print_json({"archived": {name: moved._asdict() for name, moved in done.items()}})
        return
    rows = [[name, *(f"{n:,}" for n in moved)] for name, moved in done.items()]
    print_table(Table(["experiment", "visits", "events", "files"], rows))

"""The command `sojourn verify`."""

from typing import Annotated, Any

import typer

from ..show.tables import Table
from .archive import Folder
from .arguments import AsJson
from .output import print_json, print_table
from .stores import reading, store_first, store_words

EXAMPLE = "sojourn verify live.db"


def verify_command(
    words: Annotated[
        list[str] | None, store_words("[STORE] [EXPERIMENT]...", " Default: all experiments.")
    ] = None,
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check that all sums are those of the events; a table and exit code 1 if they are not."""
    from ..live import verify
    from ..live.stores.base import all_of_their_own

    url, names = store_first(words or [])
    with reading(url) as store:
        wrong = {name: verify(store, name, archive) for name in names or all_of_their_own(store)}
    found = [
        {"experiment": name, "counter": list(key), "counted": counted, "events": folded}
        for name, differing in wrong.items()
        for key, (counted, folded) in sorted(differing.items())
    ]
    if as_json:
        print_json({"experiments": list(wrong), "wrong": found})
    elif found:
        print_table(
            Table(["experiment", "counter", "counted", "by events"], list(map(_row, found)))
        )
    else:
        count = len(wrong)
        print(f"{count} experiment{'' if count == 1 else 's'}: all sums are those of the events")
    if found:
        raise typer.Exit(1)


def _row(found: dict[str, Any]) -> list[str]:
    what, *numbers = found["counter"]
    counts = (f"{found['counted']:,g}", f"{found['events']:,g}")
    return [found["experiment"], f"{what} {tuple(numbers)}", *counts]

"""The command `sojourn changes`."""

from datetime import UTC, datetime
from typing import Annotated

from ..show.tables import Table
from ..validation import InputError
from .arguments import AsJson, option
from .output import print_json, print_table
from .stores import reading, store_first, store_words

EXAMPLE = "sojourn changes live.db shorts"


def changes_command(
    words: Annotated[
        list[str] | None, store_words("[STORE] [EXPERIMENT]", " Default: all experiments.")
    ] = None,
    last: Annotated[int, option("So many lines, the latest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Who changed what, and when: the audit log of experiments."""
    url, names = store_first(words or [])
    if len(names) > 1:
        raise InputError(f"{len(names)} words are given, and wanted is one experiment, or none")
    if not 1 <= last <= 100_000:
        raise InputError(f"--last {last} is not allowed: it must be from 1 to 100000")
    with reading(url) as store:
        found = store.edits(last, *names)
    if as_json:
        print_json([edit._asdict() for edit in found])
        return
    rows = [
        [f"{datetime.fromtimestamp(edit.at, UTC):%Y-%m-%d %H:%M:%S}", *edit[1:]] for edit in found
    ]
    print_table(Table(["when (UTC)", "who", "experiment", "what", "details"], rows))

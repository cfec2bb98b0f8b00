"""The commands `sojourn store ...`: verify, export, archive and delete what is stored."""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import validation
from ..show.tables import Table
from ..validation import InputError
from .arguments import OPERATE, AsJson, group, option
from .output import note, print_json, print_table
from .stores import file_errors_as_input, reading, store_and, store_first, store_words, writable

command = group(
    OPERATE,
    "store",
    "Verify, export, archive and delete what a store holds.",
    "sojourn store verify live.db",
)

DAY = 86_400.0

SomeExperiments = Annotated[
    list[str] | None, store_words("[STORE] [EXPERIMENT]...", " Default: all experiments.")
]
OneExperiment = Annotated[list[str], store_words("[STORE] EXPERIMENT")]
Folder = Annotated[
    Path | None,
    option("The folder of the archive; default: not used.", "--archive", metavar="FOLDER"),
]
Prior = dict[str, tuple[Any, Any]]  # pulls and successes by arm


@command("verify", "sojourn store verify live.db")
def verify_command(
    words: SomeExperiments = None, archive: Folder = None, as_json: AsJson = False
) -> None:
    """Check that all sums agree with the events; if not, print a table and exit with code 1."""
    from ..live import verify
    from ..live.stores.base import all_of_their_own

    url, names = store_first(words or [])
    with reading(url) as store:
        wrong = {}
        for name in names or all_of_their_own(store):
            with suppress(*_dropped_since(names)):
                wrong[name] = verify(store, name, archive)
    found = [
        {"experiment": name, "counter": list(key), "counted": counted, "events": folded}
        for name, differing in wrong.items()
        for key, (counted, folded) in sorted(differing.items())
    ]
    if as_json:
        print_json({"experiments": list(wrong), "wrong": found})
    elif found:
        print_table(
            Table(["experiment", "counter", "counted", "by events"], list(map(_difference, found)))
        )
    else:
        count = len(wrong)
        print(f"{count} experiment{'' if count == 1 else 's'}: all sums agree with the events")
    if found:
        raise typer.Exit(1)


def _dropped_since(names: list[str]) -> list[type[Exception]]:
    """The error that ends nothing if all experiments were meant: one was dropped meanwhile."""
    from ..live import NotFound

    return [] if names else [NotFound]


def _difference(found: dict[str, Any]) -> list[str]:
    what, *numbers = found["counter"]
    counts = (f"{found['counted']:,g}", f"{found['events']:,g}")
    return [found["experiment"], f"{what} {tuple(numbers)}", *counts]


@command("export", "sojourn store export live.db shorts steps.parquet && sojourn fit steps.parquet")
def export_command(
    words: Annotated[
        list[str],
        store_words("[STORE] EXPERIMENT FILE", " FILE: a .parquet or .csv file to write."),
    ],
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write the resolved steps of an experiment to a file that `sojourn fit` can read."""
    from ..live import export

    url, experiment, file = store_and(words, "EXPERIMENT", "FILE")
    with reading(url) as store:
        steps = export(store, experiment, file, archive)
    found = {"experiment": experiment, "file": file, "steps": steps}
    print_json(found) if as_json else print(f"{file}: {steps:,} steps of {experiment}")


@command("backup", "sojourn store backup live.db live-2026-11-16.db")
def backup_command(
    words: Annotated[list[str], store_words("[STORE] FILE", " FILE: a new SQLite file.")],
    as_json: AsJson = False,
) -> None:
    """Copy a SQLite store as it is at one moment, while a server goes on writing to it.

    To restore it, stop the server, remove the -wal file and put the copy in place of the store.
    """
    from ..live import backup

    url, file = store_and(words, "FILE")
    target = Path(file)
    if target.exists():
        raise InputError(f"FILE = {file!r} is not allowed: it exists already, give a new name")
    with file_errors_as_input():
        backup(url, target)
    size = target.stat().st_size
    print_json({"file": file, "bytes": size}) if as_json else print(f"{file}: {size:,} bytes")


@command("archive", "sojourn store archive live.db --to archive --older-than 30")
def archive_command(
    words: SomeExperiments = None,
    to: Annotated[Path, option("The folder of the archive.", metavar="FOLDER")] = Path("archive"),
    older_than: Annotated[
        float, option("Archive visits that ended more than this many days ago.", metavar="DAYS")
    ] = 30.0,
    shrink: Annotated[
        bool,
        option("Afterwards return free space to the disk; other calls wait meanwhile.", "--shrink"),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Move the events of old visits to Parquet files by day; counters and charts stay.

    If a server is using a SQLite file, it has to archive: sojourn serve --archive --keep-days.
    """
    from ..live import archive
    from ..live.stores.base import all_of_their_own

    url, names = store_first(words or [])
    validation.number("--older-than", older_than, 0, 36_500)
    with writable(url, "sojourn serve --archive FOLDER --keep-days DAYS") as store:
        before, done = store.ping() - DAY * older_than, {}
        for name in names or all_of_their_own(store):
            try:
                with suppress(*_dropped_since(names)):
                    done[name] = archive(store, name, before, to)
            except InputError as error:
                if names:
                    raise
                note(str(error))
        if shrink:
            with store.upkeep() as upkeep:
                upkeep.compact(0.0, shrink=True)
    if as_json:
        print_json({"archived": {name: moved._asdict() for name, moved in done.items()}})
        return
    rows = [[name, *(f"{n:,}" for n in moved)] for name, moved in done.items()]
    print_table(Table(["experiment", "visits", "events", "files"], rows))


@command("drop", "sojourn store drop live.db shorts --yes --archive archive")
def drop_command(
    words: OneExperiment,
    yes: Annotated[bool, option("Confirm; this cannot be undone.", "--yes")] = False,
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Delete an experiment, its variants and all their data; with --archive, their files too."""
    from ..live import NotFound, drop_archived
    from ..live.archiving import dropped_parts
    from ..live.enrolment import drop_with_variants

    url, experiment = store_and(words, "EXPERIMENT")
    if not yes:
        raise InputError(
            f"experiment {experiment!r} would be deleted with all its visits, which cannot be "
            "undone: add --yes to confirm"
        )
    with writable(url, f"DELETE /v1/experiments/{experiment}") as store:
        try:
            dropped = drop_with_variants(store, experiment)
        except NotFound:
            if archive is None or not dropped_parts(store, experiment):
                raise
            dropped = [experiment]  # before, and its files were kept
        removed = 0
        if archive is not None:
            removed = sum(drop_archived(store, name, archive) for name in dropped)
        kept = sum(len(dropped_parts(store, name)) for name in dropped)
    if as_json:
        print_json({"dropped": experiment, "removed_files": removed, "kept_files": kept})
        return
    print(f"{experiment}: dropped")
    if removed:
        print(f"archive files deleted: {removed:,}")
    if kept:
        print(
            f"archive files kept: {kept:,}; users are still erased from them, and "
            "the same command with --archive FOLDER deletes them"
        )


@command("erase", "sojourn store erase live.db u42 --archive archive")
def erase_command(
    words: Annotated[list[str], store_words("[STORE] USER")],
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Erase a user's id from all visits and events; the visits stay, without a user."""
    from ..live import erase

    url, user = store_and(words, "USER")
    with writable(url, f"DELETE /v1/users/{user}") as store:
        found = erase(store, user, archive)
    if found.archived is None and archive is None:
        note("there is an archive, which may have this user too: give its folder with --archive")
    elif found.archived is None:
        note(
            "another process is archiving or erasing: it will erase this user from the archive too"
        )
    visits = f"visits in the store {found.visits:,}, in the archive {found.archived or 0:,}"
    print_json(found) if as_json else print(f"{user}: erased; {visits}")


@command("audit", "sojourn store audit live.db shorts")
def audit_command(
    words: Annotated[
        list[str] | None, store_words("[STORE] [EXPERIMENT]", " Default: all experiments.")
    ] = None,
    last: Annotated[int, option("Number of lines, the latest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the audit log of experiments: who changed what, and when."""
    from ..live import Edit

    url, names = store_first(words or [])
    if len(names) > 1:
        raise InputError(f"expected one experiment or none, but got {len(names)}")
    validation.whole("--last", last, 1, 100_000)
    with reading(url) as store:
        found = store.series(Edit, names[0] if names else None, limit=last)
    if as_json:
        print_json(found)
        return
    rows = [
        [f"{datetime.fromtimestamp(edit.at, UTC):%Y-%m-%d %H:%M:%S}", *astuple(edit)[1:]]
        for edit in found
    ]
    print_table(Table(["when (UTC)", "actor", "experiment", "what", "details"], rows))


@command("warm-start", "sojourn store warm-start live.db shorts counts.csv")
def warm_start_command(
    words: Annotated[
        list[str],
        store_words(
            "[STORE] EXPERIMENT FILE",
            " FILE: a .csv file with columns arm, pulls, successes, or .json "
            'like {"arm": {"pulls": 10, "successes": 4}}.',
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Start an experiment with prior counts; given again, they replace the earlier ones."""
    from ..live import Experiment, Journal

    url, experiment, file = store_and(words, "EXPERIMENT", "FILE")
    prior = read_prior(Path(file))
    with (
        writable(url, f"PUT /v1/experiments/{experiment}/prior") as store,
        Journal(store, upkeep=False) as journal,
    ):
        Experiment.open(experiment, journal, compiled=False).warm_start(prior)
    found = {"experiment": experiment, "arms": prior}
    print_json(found) if as_json else print(f"{experiment}: prior counts of {len(prior)} arms")


def read_prior(path: Path) -> Prior:
    """The counts in a file."""
    readers: dict[str, Callable[[str], Prior]] = {".csv": _from_csv, ".json": _from_json}
    if path.suffix not in readers:
        raise InputError(f"FILE = {str(path)!r} is not allowed: it must end in .csv or .json")
    try:
        return readers[path.suffix](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path} is not allowed: it must have an arm, its pulls and its successes in each "
            'line (.csv), or be like {"arm": {"pulls": 10, "successes": 4}} (.json)'
        ) from None


def _from_csv(text: str) -> Prior:
    rows = csv.DictReader(text.splitlines())
    return {row["arm"]: (float(row["pulls"]), float(row["successes"])) for row in rows}


def _from_json(text: str) -> Prior:
    data = json.loads(text)
    arms = data["arms"] if set(data) == {"arms"} else data
    return {name: (counts["pulls"], counts["successes"]) for name, counts in arms.items()}

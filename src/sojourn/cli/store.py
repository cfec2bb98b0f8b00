"""The commands on a store of live visits: `verify`, `export`, `backup` and `warm-start`.

STORE is an address, like sqlite:///live.db or postgresql://..., or the path of a SQLite file. It
may be left out if the environment variable SOJOURN_STORE has it, so that no password has to be in
a command line.
"""

import csv
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..live import Experiment, InUse, Journal, LiveError, Store, open_store, verify
from ..live import export as export_steps
from ..service.options import STORE_VARIABLE as VARIABLE
from .console import print_json

VERIFY_EPILOG = "Example: sojourn verify live.db"
EXPORT_EPILOG = "Example: sojourn export live.db shorts steps.parquet && sojourn fit steps.parquet"
BACKUP_EPILOG = "Example: sojourn backup live.db live-2026-11-16.db"
WARM_EPILOG = "Example: sojourn warm-start live.db shorts counts.csv"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
WHERE = f"STORE: an address, or the path of a SQLite file; default: ${VARIABLE}."


def _words(metavar: str, more: str = "") -> Any:
    return typer.Argument(metavar=metavar, help=f"{WHERE}{more}", show_default=False)


def verify_command(
    words: Annotated[
        list[str] | None, _words("[STORE] [EXPERIMENT]...", " Default: all experiments.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that counters are the sums of all events; a table and exit code 1 if they are not."""
    url, names = _store_first(words or [])
    with _reading(url) as store:
        wrong = {name: verify(store, name) for name in names or store.experiments()}
    found = [
        {"experiment": name, "counter": list(key), "counted": counted, "events": folded}
        for name, differing in wrong.items()
        for key, (counted, folded) in sorted(differing.items())
    ]
    if as_json:
        print_json({"experiments": list(wrong), "wrong": found})
    elif found:
        _print_wrong(found)
    else:
        count = len(wrong)
        print(f"{count} experiment{'' if count == 1 else 's'}: counters are the sums of all events")
    if found:
        raise typer.Exit(1)


def export_command(
    words: Annotated[
        list[str], _words("[STORE] EXPERIMENT FILE", " FILE: a .parquet or .csv file to write.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the resolved steps of an experiment to a file that `sojourn fit` reads as it is."""
    url, experiment, file = _all_of(words, "EXPERIMENT", "FILE")
    with _reading(url) as store:
        steps = export_steps(store, experiment, file)
    if as_json:
        print_json({"experiment": experiment, "file": file, "steps": steps})
    else:
        print(f"{file}: {steps:,} steps of {experiment}")


def backup_command(
    words: Annotated[list[str], _words("[STORE] FILE", " FILE: a new SQLite file.")],
    as_json: AsJson = False,
) -> None:
    """Copy a SQLite store as it is at one moment, while a server goes on writing to it.

    To restore it, stop the server, remove the -wal file and put the copy in place of the store.
    """
    url, file = _all_of(words, "FILE")
    target = Path(file)
    if not url.startswith("sqlite://"):
        raise ValueError(
            "backup is for SQLite files: for PostgreSQL use pg_dump --format=custom --file=FILE "
            "ADDRESS, and pg_restore --dbname=ADDRESS FILE into an empty database"
        )
    if target.exists():
        raise ValueError(f"FILE = {file!r} is not allowed: it is there already, give a new name")
    with _reading(url):
        copy(_path(url), target)
    size = target.stat().st_size
    print_json({"file": file, "bytes": size}) if as_json else print(f"{file}: {size:,} bytes")


def warm_start_command(
    words: Annotated[
        list[str],
        _words(
            "[STORE] EXPERIMENT FILE",
            " FILE: a .csv file with columns arm, pulls, successes, or .json "
            'like {"arm": {"pulls": 10, "successes": 4}}.',
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Counts from elsewhere to begin with; given again, they replace the ones given before."""
    url, experiment, file = _all_of(words, "EXPERIMENT", "FILE")
    prior = read_prior(Path(file))
    with _reading(url):
        pass  # a file that is not there is a mistake, and not to be made
    with _clearly(), _alone(url, experiment) as journal:
        Experiment.open(experiment, journal, compiled=False).warm_start(prior)
    if as_json:
        print_json({"experiment": experiment, "arms": prior})
    else:
        print(f"{experiment}: prior counts of {len(prior)} arms")


def copy(source: Path, target: Path) -> None:
    """A consistent copy of a SQLite file that others may be writing to."""
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as made:
        live.execute("PRAGMA query_only = ON")
        live.backup(made)
        (answer,) = made.execute("PRAGMA quick_check").fetchone()
    if answer != "ok":
        raise ValueError(f"the copy in {target} is damaged ({answer})")


def read_prior(path: Path) -> dict[str, tuple[Any, Any]]:
    """(pulls, successes) by arm from a file."""
    readers: dict[str, Callable[[str], dict[str, tuple[Any, Any]]]] = {
        ".csv": _from_csv,
        ".json": _from_json,
    }
    if path.suffix not in readers:
        raise ValueError(f"FILE = {str(path)!r} is not allowed: it must end in .csv or .json")
    try:
        return readers[path.suffix](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} is not allowed: it must have an arm, its pulls and its successes in each "
            'line (.csv), or be like {"arm": {"pulls": 10, "successes": 4}} (.json)'
        ) from None


def _from_csv(text: str) -> dict[str, tuple[Any, Any]]:
    rows = csv.DictReader(text.splitlines())
    return {row["arm"]: (float(row["pulls"]), float(row["successes"])) for row in rows}


def _from_json(text: str) -> dict[str, tuple[Any, Any]]:
    data = json.loads(text)
    arms = data["arms"] if set(data) == {"arms"} else data
    return {name: (counts["pulls"], counts["successes"]) for name, counts in arms.items()}


def _is_store(word: str) -> bool:
    return "://" in word or Path(word).exists()


def _store_first(words: Sequence[str]) -> tuple[str, list[str]]:
    """The address of the store, which may be that of the environment, and the other words."""
    if words and (_is_store(words[0]) or VARIABLE not in os.environ):
        return _address(words[0]), list(words[1:])
    if VARIABLE not in os.environ:
        raise ValueError(f"STORE is missing: give an address or a file, or set {VARIABLE}")
    return _address(os.environ[VARIABLE]), list(words)


def _all_of(words: Sequence[str], *names: str) -> tuple[str, ...]:
    """The address of the store, and one word for each of the names."""
    rest = list(words)
    url = os.environ.get(VARIABLE, "")
    if len(rest) > len(names) or not url:
        url = rest.pop(0)
    if len(rest) != len(names):
        wanted = ", ".join(("STORE", *names))
        raise ValueError(f"{len(words)} words are given, and wanted are {wanted}")
    return _address(url), *rest


def _address(word: str) -> str:
    return word if "://" in word else f"sqlite:///{word}"


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@contextmanager
def _clearly() -> Iterator[None]:
    """What goes wrong with a store is bad input here: one sentence."""
    try:
        yield
    except LiveError as error:
        raise ValueError(str(error)) from error


@contextmanager
def _reading(url: str) -> Iterator[Store]:
    with _clearly(), closing(open_store(url, reading=True)) as store:
        yield store


@contextmanager
def _alone(url: str, experiment: str) -> Iterator[Journal]:
    """The store to write to; a SQLite file that is being served belongs to the server."""
    try:
        journal = Journal(url, upkeep=False)
    except InUse:
        raise ValueError(
            f"{_path(url)} is in use by a server: give the counts to it, by "
            f"PUT /v1/experiments/{experiment}/prior"
        ) from None
    with journal:
        yield journal


def _print_wrong(found: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("experiment", no_wrap=True)
    table.add_column("counter", no_wrap=True)
    for heading in ("counted", "by events"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in found:
        what, *numbers = row["counter"]
        name = f"{what} {tuple(numbers)}"
        table.add_row(row["experiment"], name, f"{row['counted']:,g}", f"{row['events']:,g}")
    console = Console(highlight=False, markup=False)
    console.width = max(console.width, 100)
    console.print(table)

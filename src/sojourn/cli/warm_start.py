"""The command `sojourn warm-start`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from ..validation import InputError
from .arguments import AsJson
from .output import print_json
from .stores import store_and, store_words, writable

EXAMPLE = "sojourn warm-start live.db shorts counts.csv"

Prior = dict[str, tuple[Any, Any]]  # pulls and successes by arm


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
    if as_json:
        print_json({"experiment": experiment, "arms": prior})
    else:
        print(f"{experiment}: prior counts of {len(prior)} arms")


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

"""Export the resolved steps of an experiment, as a file that `sojourn fit` reads."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from ..validation import InputError
from .archiving import events_in, pyarrow, schema_of
from .records import DECIDE, LEAVE, RESOLVE, Arm, Event, late_in
from .stores.base import Store, loaded, one_of_its_own, plain_settings

PART = 50_000  # rows held in memory at a time
ABOVE = 1e-9  # the threshold of experiments that call any reward above 0 good


class ExportRow(NamedTuple):
    """One resolved step, in the columns that `sojourn fit` looks for.

    `t` is the time of its decision, in seconds. `left` says that it was the last step of its visit,
    `censored` that nobody knows yet, because the visit is open. `threshold` is the least graded
    reward that is good; it is empty if rewards are 0 and 1. `shadow_arm` is the arm that the policy
    would have shown where the caller chose, and `candidates` those that were eligible, as JSON,
    where not all in use were.
    """

    user: str
    visit: str
    step: int
    arm: str
    reward: float
    left: bool
    censored: bool
    t: float
    propensity: float | None
    threshold: float | None
    shadow_arm: str | None
    candidates: str | None


def lines(
    events: Iterable[Event],
    arms: Sequence[Arm],
    late: Mapping[tuple[str, int], float],
    threshold: float | None = None,
) -> Iterator[ExportRow]:
    """The resolved steps of a log, each when it is known whether the user stayed.

    `late` are the rewards that were learned after their step was resolved without them, and
    `threshold` that of graded rewards.
    """
    users: dict[str, str] = {}
    decided: dict[str, Event] = {}
    held: dict[str, ExportRow] = {}
    for event in events:
        visit = event.visit
        if event.kind == DECIDE:
            decided[visit] = event
        elif event.kind == RESOLVE:
            if visit in held:
                yield held[visit]
            choice = decided[visit]
            assert event.arm is not None
            assert event.reward is not None
            held[visit] = ExportRow(
                users.get(visit, visit), visit, event.step, arms[event.arm].name,
                late.get((visit, event.step), event.reward), False, False, choice.at,
                choice.propensity, threshold,
                None if choice.shadow_arm is None else arms[choice.shadow_arm].name,
                None if choice.candidates is None else _named(choice.candidates, arms),
            )  # fmt: skip
        elif event.kind == LEAVE:
            decided.pop(visit, None)
            users.pop(visit, None)
            if visit in held:
                yield held.pop(visit)._replace(left=True)
        elif event.user is not None:
            users[visit] = event.user
    for line in held.values():
        yield line._replace(censored=True)


def _named(candidates: str, arms: Sequence[Arm]) -> str:
    """The names of arms whose positions are joined by commas, as JSON."""
    return json.dumps([arms[int(place)].name for place in candidates.split(",") if place])


def export(
    store: Store, experiment: str, path: str | Path, archive: str | Path | None = None
) -> int:
    """Write the resolved steps of an experiment to a .csv or .parquet file; returns their number.

    With the folder of the `archive`, archived steps come first.

    >>> export(None, "news", "steps.txt")
    Traceback (most recent call last):
    sojourn.InputError: path = 'steps.txt' is not allowed: it must end in .csv or .parquet
    """
    path = Path(path)
    if path.suffix not in WRITERS:
        raise InputError(f"path = {str(path)!r} is not allowed: it must end in .csv or .parquet")
    stored = one_of_its_own(store, experiment)
    threshold = plain_settings(stored.settings).get("reward_threshold", 0.0)
    if threshold == 0.0:  # any reward above 0 is good
        threshold = ABOVE
    ledger, events = store.audit_state(experiment, "late", "parts")
    parts = () if archive is None else events_in(store, ledger.parts, archive)
    arms = loaded(store, experiment).arms  # some may have been added just now
    archived = chain.from_iterable(lines(part, arms, late_in(part), threshold) for part in parts)
    rows = chain(archived, lines(events, arms, ledger.late, threshold))
    done = 0

    def parts_of_file() -> Iterator[list[ExportRow]]:
        nonlocal done
        while part := list(islice(rows, PART)):
            yield part
            done += len(part)

    WRITERS[path.suffix](path, parts_of_file())
    return done


def _csv(path: Path, parts: Iterable[list[ExportRow]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(ExportRow._fields)
        for line in chain.from_iterable(parts):
            writer.writerow([int(v) if isinstance(v, bool) else v for v in line])


def _parquet(path: Path, parts: Iterable[list[ExportRow]]) -> None:
    pa, pq = pyarrow()
    schema = schema_of(pa, ExportRow)
    with pq.ParquetWriter(path, schema) as writer:
        for part in parts:
            columns = zip(ExportRow._fields, map(list, zip(*part, strict=True)), strict=True)
            writer.write_table(pa.table(dict(columns), schema=schema))


WRITERS: dict[str, Callable[[Path, Iterable[list[ExportRow]]], None]]
WRITERS = {".csv": _csv, ".parquet": _parquet}

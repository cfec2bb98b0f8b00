"""Check that all sums of a store agree with its events."""

from collections import defaultdict
from pathlib import Path

from .archiving import events_in
from .monitor.trends import as_counts, by_arm
from .records import ALL_SUMS, CHARTED, END, GROUPED, TIMEOUT, Counts, Key, Ledger, added, sums_of
from .settings import split_of
from .stores.base import Store, one_of_its_own

Wrong = dict[Key, tuple[float, float]]


def verify(store: Store, experiment: str, archive: str | Path | None = None) -> Wrong:
    """The sums that differ from the fold of all events, as (stored, by events); empty if none does.

    Checked are counters, the timeline, the rows of visits, and the sums of groups and over time.
    Where events were archived, their sums take their place; with the folder of the `archive`, those
    are compared with its files.

    >>> from sojourn.live import Experiment
    >>> with Experiment("news", ["a", "b"], compiled=False) as experiment:
    ...     arm = experiment.visit().choose()
    ...     verify(experiment.journal.store, "news")
    {}
    """
    split = split_of(one_of_its_own(store, experiment).settings)
    ledger, events = store.audit_state(experiment, *ALL_SUMS)
    hot = sums_of(events, *split)
    chart = {(CHARTED, i, 0, 0): n for i, n in enumerate(ledger.charted[1:])}
    kept = {**ledger.counts, **chart}
    grouped = {key: n for key, n in ledger.archived.items() if key[0] == GROUPED}
    archived = {key: n for key, n in ledger.archived.items() if key not in grouped}
    folded = added(hot, archived)
    wrong = differing(kept, folded) | differing(*_rows(ledger, hot))
    wrong |= differing(ledger.trends, as_counts(by_arm(folded.items()).values()))
    groups = {(GROUPED, i, 0, 0): n for i, n in enumerate(ledger.grouped)}
    assigned = {(GROUPED, i, 0, 0): n for i, n in enumerate(ledger.assigned)}
    wrong |= differing(groups, added(assigned, grouped))
    if archive is not None:
        folded = {}
        for part in events_in(store, ledger.parts, archive):
            folded = added(folded, sums_of(part, *split))
        found = differing(archived, folded).items()
        wrong |= {(f"archived: {key[0]}", *key[1:]): sums for key, sums in found}
    return wrong


def _rows(ledger: Ledger, hot: Counts) -> tuple[Counts, Counts]:
    """What the rows of visits say together, and what their events do."""
    by_kind: defaultdict[str, float] = defaultdict(float)
    for (what, *_), n in hot.items():
        by_kind[what] += n
    left = by_kind[f"left by {END}"] + by_kind[f"left by {TIMEOUT}"]
    total = [sum(column) for column in zip(*ledger.rows.values(), strict=True)] or [0, 0, 0.0]
    open_rows = ledger.rows.get("open", (0, 0, 0.0))[0]
    rows = open_rows, total[0] - open_rows, total[1], total[2]
    logged = by_kind["open"] - left, left, by_kind["issued"], by_kind["successes"]
    names = "visits open", "visits ended", "steps of visits", "rewards of visits"
    keys = [(name, 0, 0, 0) for name in names]
    kept, by_events = (dict(zip(keys, map(float, each), strict=True)) for each in (rows, logged))
    return kept, by_events


def differing(kept: Counts, by_events: Counts) -> Wrong:
    """The sums in which two tables differ by more than the rounding of their last digits."""
    wrong = {}
    for key in kept.keys() | by_events.keys():
        one, other = kept.get(key, 0.0), by_events.get(key, 0.0)
        if abs(one - other) > 1e-9 * max(abs(one), abs(other), 1.0):
            wrong[key] = one, other
    return wrong

"""Variants compared with their holdout: means per visit and their differences, at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from .. import validation
from ..show.tables import Table
from ..stats.intervals import Interval
from ..stats.moments import Array
from ..stats.sequences import FIRST, PLANNED, sequence
from ..stats.strata import Estimate, difference, mean, sample_ratio
from .groups import GROUPS, Group
from .plan import METRICS, Alarm, Allocation, Guardrail, names_of
from .stores.base import Store
from .variants import allocation_of

QUANTITIES = ("visits", *METRICS, "opened")
COLUMNS = [Group._fields.index(name) for name in QUANTITIES]
UNLIKELY = 0.001
"""Below it, a sample ratio is wrong: something loses visits, or assigns them otherwise."""

WORDS = {"reward": "reward per visit", "steps": "steps per visit", "left": "share that left"}


@dataclass(frozen=True)
class Measured:
    """One variant: its share now, the visits opened and ended, and means per visit that ended.

    `differences` are those to the holdout, which has none.
    """

    name: str
    share: float
    opened: int
    visits: int
    means: dict[str, Interval]
    differences: dict[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is None."""
        return {
            "name": self.name,
            "share": self.share,
            "opened": self.opened,
            "visits": self.visits,
            "means": {name: _plain(found) for name, found in self.means.items()},
            "differences": {name: _plain(found) for name, found in self.differences.items()},
        }


@dataclass(frozen=True)
class Comparison:
    """Variants beside their holdout. With 1 - alpha, an interval holds at every look together.

    `sample_ratio` is the p-value, valid at every look, of visits that do not follow the shares.
    """

    experiment: str
    holdout: str
    alpha: float
    at: float
    variants: tuple[Measured, ...]
    sample_ratio: float
    guardrail: Guardrail | None
    alarm: Alarm | None

    @property
    def ratio_is_wrong(self) -> bool:
        """Whether the numbers of visits are no chance: then nothing else can be believed."""
        return self.sample_ratio < UNLIKELY

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "experiment": self.experiment,
            "holdout": self.holdout,
            "alpha": self.alpha,
            "at": self.at,
            "variants": [variant.to_dict() for variant in self.variants],
            "sample_ratio": {"p_value": self.sample_ratio, "wrong": self.ratio_is_wrong},
            "alarm": None if self.alarm is None else self.alarm.reason,
        }

    def __str__(self) -> str:
        head = ["variant", "share", "visits", *(WORDS[metric] for metric in METRICS)]
        rows = []
        for variant in self.variants:
            means = [_brief(variant.means[metric]) for metric in METRICS]
            rows.append((variant.name, f"{variant.share:.4g}", f"{variant.visits:,}", *means))
            if variant.differences:
                found = [_brief(variant.differences[metric], "+") for metric in METRICS]
                rows.append(("  - holdout", "", "", *found))
        table = [Table(head, rows, left=range(len(head))).text()]
        if self.ratio_is_wrong:
            table.append(
                f"The numbers of visits do not follow the shares (p = {self.sample_ratio:.1g}): "
                "find out why before you believe the differences."
            )
        if self.alarm is not None:
            table.append(f"The guardrail has acted: {self.alarm.reason}.")
        return "\n".join(table)


def compare(
    store: Store, experiment: str, *, alpha: float = 0.05, planned: float = PLANNED, since: int = 1
) -> Comparison:
    """The variants of an experiment, compared by their visits that were opened from epoch `since`.

    Intervals are narrowest at `planned` visits, and infinite before there are visits of 50 users in
    both variants.

    >>> from sojourn.live import Experiment, Variant
    >>> both = [Variant("old", 0.5), Variant("new", 0.5)]
    >>> more = {"variants": both, "holdout": "old", "compiled": False}
    >>> with Experiment("shorts", ["dance", "news"], **more) as shorts:
    ...     ended = [shorts.visit(user=f"u{n}").end() for n in range(4)]
    ...     print(shorts.compare())
    variant      share  visits  reward per visit  steps per visit  share that left
    old          0.5    1       0                 0                1
    new          0.5    3       0                 0                1
      - holdout                 +0                +0               +0
    """
    alpha = validation.number("alpha", alpha, 0, 1, open_ends=True)
    planned = validation.number("planned", planned, 1, inf)
    since = validation.whole("since", since, 1)
    allocation = allocation_of(store, experiment)
    names = names_of(experiment, allocation.variants)
    groups = {variant: store.groups(child) for variant, child in names.items()}
    return compared(experiment, allocation, groups, store.now(), alpha, planned, since)


def compared(
    experiment: str,
    allocation: Allocation,
    groups: Mapping[str, list[Group]],
    now: float,
    alpha: float,
    planned: float = PLANNED,
    since: int = 1,
) -> Comparison:
    """The comparison by the sums of groups, by variant."""
    epochs = range(since, allocation.epoch + 1)
    sums = {name: _array(groups[name], epochs) for name in allocation.variants}
    opened = np.stack([sums[name][:, :, -1] for name in allocation.variants])
    shares = np.array(
        [[allocation.epochs[e - 1].shares[v] for v in allocation.variants] for e in epochs]
    )

    def measured(place: int, name: str) -> Measured:
        here, holdout = sums[name], sums[allocation.holdout]
        means, differences = {}, {}
        for quantity, metric in enumerate(METRICS, start=1):
            means[metric] = _interval(mean(here, quantity), alpha, planned)
            if name != allocation.holdout:
                found = difference(here, holdout, quantity)
                differences[metric] = _interval(found, alpha, planned)
        visits, begun = int(here[:, :, 0].sum()), int(opened[place].sum())
        return Measured(name, allocation.shares[name], begun, visits, means, differences)

    return Comparison(
        experiment,
        allocation.holdout,
        alpha,
        now,
        tuple(measured(place, name) for place, name in enumerate(allocation.variants)),
        sample_ratio(opened, shares) if len(epochs) else 1.0,
        allocation.guardrail,
        allocation.alarm,
    )


def _array(groups: Sequence[Group], epochs: range) -> Array:
    """Sums [epoch, group, quantity]."""
    found = np.zeros((len(epochs), GROUPS, len(QUANTITIES)))
    table = np.array(groups, dtype=float).reshape(-1, len(Group._fields))
    table = table[np.isin(table[:, 0], epochs)]
    epoch, number = (table[:, i].astype(int) for i in (0, 1))
    found[epoch - epochs.start, number] = table[:, COLUMNS]
    return found


def _interval(found: Estimate, alpha: float, planned: float) -> Interval:
    error = found.error if found.clusters >= FIRST else inf
    return sequence(found.value, error, found.units, alpha, planned)


def _plain(found: Interval) -> dict[str, float | None]:
    value, low, high = (number if isfinite(number) else None for number in found)
    return {"value": value, "low": low, "high": high}


def _brief(found: Interval, sign: str = "") -> str:
    """A number with its ends, if they are known."""
    if isnan(found.value):
        return "-"
    if not isfinite(found.high):
        return f"{found.value:{sign}.4g}"
    return f"{found.value:{sign}.4g} [{found.low:{sign}.4g}, {found.high:{sign}.4g}]"

"""Who has how much regret."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf, nan

from ....stats.intervals import Interval, Pair, ratio
from ...claims import Measured
from ..tables import Table, Tables, at
from .base import Measure


@dataclass(frozen=True)
class Less(Measure):
    """`one` has less regret than `other` after `visits` visits (all of them unless given)."""

    experiment: str
    one: str
    other: str
    visits: int | None = None

    def measure(self, tables: Tables) -> list[Measured]:
        """Regret of `one` less that of `other`, run by run."""
        table = tables[self.experiment]
        found = table.difference(self.one, self.other, self.visits)
        base = table.regret(self.other, self.visits)[0]
        when = "" if self.visits is None else f", K = {table.visits(self.visits):,}"
        share = found.value / base if base else nan
        what = f"{self.experiment}: regret of {self.one} less {self.other} ({share:+.1%}){when}"
        return [Measured(what, found, 0.0, above=False)]


def rising(experiment: str, *labels: str) -> tuple[Less, ...]:
    """Along these labels the regret rises from each to the next.

    >>> [(less.one, less.other) for less in rising("A", "KL-ULCB", "ULCB", "UCB")]
    [('KL-ULCB', 'ULCB'), ('ULCB', 'UCB')]
    """
    return tuple(Less(experiment, one, other) for one, other in pairwise(labels))


@dataclass(frozen=True)
class Times(Measure):
    """The regret of `other` is more than `factor` times that of `one`, and the ratio grows with K.

    `since` is the earlier K of that comparison.
    """

    experiment: str
    one: str
    other_experiment: str
    other: str
    factor: float
    since: int

    needs = ("experiment", "other_experiment")

    def measure(self, tables: Tables) -> list[Measured]:
        """The ratio at the end, and the ratio of that to the earlier one."""
        mine, theirs = tables[self.experiment], tables[self.other_experiment]
        late = ratio(theirs.regret(self.other), mine.regret(self.one))
        early = ratio(theirs.regret(self.other, self.since), mine.regret(self.one, self.since))
        growth = Interval(
            late.value / early.value if early.value else nan,
            late.low / early.high if early.high else 0.0,
            late.high / early.low if early.low else inf,
        )
        name = f"{self.experiment}: regret of {self.other} over that of {self.one}"
        grew = f"{name}, at K = {mine.visits():,} over at K = {mine.visits(self.since):,}"
        return [
            Measured(name, late, self.factor, above=True),
            Measured(grew, growth, 1.0, above=True),
        ]


@dataclass(frozen=True)
class MoreWrongPulls(Measure):
    """After `visits` visits `one` has pulled arms other than the best more often than `other`."""

    experiment: str
    one: str
    other_experiment: str
    other: str
    visits: int

    needs = ("experiment", "other_experiment")

    def measure(self, tables: Tables) -> list[Measured]:
        """The difference; adding half-widths makes its interval the widest there may be."""
        mine, theirs = tables[self.experiment], tables[self.other_experiment]
        one = _wrong_pulls(mine, self.one, self.visits)
        other = _wrong_pulls(theirs, self.other, self.visits)
        what = (
            f"{self.experiment}: wrong pulls of {self.one} less those of {self.other} "
            f"({other[0]:,.4g}), K = {mine.visits(self.visits):,}"
        )
        found = Interval.around(one[0] - other[0], one[1] + other[1])
        return [Measured(what, found, 0.0, above=True)]


def _wrong_pulls(table: Table, label: str, visits: int) -> Pair:
    pulls, best = table.result.pulls, table.problem.best_arm
    found = [
        at(pulls, table[label], table.point(visits), level, arm)
        for level in range(table.problem.user.levels)
        for arm in range(table.problem.arms)
        if arm != best
    ]
    return sum(mean for mean, _ in found), sum(width for _, width in found)


@dataclass(frozen=True)
class Agrees(Measure):
    """Regret summed from gaps and regret from raw rewards agree to a share of all rewards."""

    experiment: str
    label: str
    share: float

    def measure(self, tables: Tables) -> list[Measured]:
        """Their difference at the end, over the reward of the optimal rule; at its widest."""
        table = tables[self.experiment]
        raw, wide = at(table.result.raw_regret, table[self.label], -1)
        gaps, narrow = table.regret(self.label)
        total = table.visits() * table.problem.value()
        interval = Interval.around((raw - gaps) / total, (wide + narrow) / total)
        what = f"{self.experiment}: {self.label}, (from rewards less from gaps) / reward"
        return [
            Measured(what, interval, -self.share, above=True),
            Measured(what, interval, self.share, above=False),
        ]

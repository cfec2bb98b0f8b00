"""What happens in which state: the lemmas behind Theorem 1."""

from dataclasses import dataclass
from math import nan

from .... import theory
from ....stats.intervals import Interval, ratio
from ...claims import Measured
from ..tables import Tables, at
from .base import Measure


@dataclass(frozen=True)
class Settles(Measure):
    """The regret that arises in state 0 all but stops growing, while that in state 1 goes on.

    From `since` to the end it grows by less than a `share` in state 0, and by more in state 1.
    """

    experiment: str
    label: str
    since: int
    share: float

    def measure(self, tables: Tables) -> list[Measured]:
        """Growth by state over the last span, as a share of what there was."""
        table = tables[self.experiment]
        found = []
        for level, above in ((0, False), (1, True)):
            grown, width = table.growth(self.label, self.since, None, level)
            before = table.regret(self.label, self.since, level)[0] or nan
            what = (
                f"{self.experiment}: growth of {self.label}'s regret in state {level}, "
                f"K = {table.visits(self.since):,} to {table.visits():,}"
                + ("" if grown else ", in no run")
            )
            share = Interval.around(grown / before, width / before)
            found.append(Measured(what, share, self.share, above))
        return found


@dataclass(frozen=True)
class WithinLemma4(Measure):
    """The regret that arises in state 0 is at most the constant of Lemma 4."""

    experiment: str
    label: str

    def measure(self, tables: Tables) -> list[Measured]:
        """Regret in state 0 at the end."""
        table = tables[self.experiment]
        interval = Interval.around(*table.regret(self.label, None, 0))
        what = f"{self.experiment}: {self.label}'s regret in state 0"
        return [Measured(what, interval, theory.lemma4(table.problem).regret, above=False)]


@dataclass(frozen=True)
class LinearPulls(Measure):
    """The best arm has more than a share p_min / 2 of all pulls, as Lemma 3 has it."""

    experiment: str
    label: str
    since: int

    def measure(self, tables: Tables) -> list[Measured]:
        """Its share of the pulls, at an early K and at the end."""
        table = tables[self.experiment]
        pulls, p, best = table.result.pulls, table[self.label], table.problem.best_arm
        least = theory.lemma3(table.problem).p_min / 2.0
        found = []
        for mark in (self.since, None):
            point = table.point(mark)
            top = float(pulls.mean[p, point, :, best].sum())
            width = float(pulls.half_width[p, point, :, best].sum())
            share = ratio((top, width), at(table.result.steps, p, point))
            what = f"{self.experiment}: best arm's share of pulls, K = {table.visits(mark):,}"
            found.append(Measured(what, share, least, above=True))
        return found

"""What happens in which state: the lemmas behind Theorem 1."""

from dataclasses import dataclass
from math import nan

from ... import theory
from ...stats.intervals import Interval, ratio
from ..results import Results, at
from ..verdicts import Measured
from . import Simulated


class ByState(Simulated):
    """A measure of what happens in which state."""

    kind = "what happens in which state"


@dataclass(frozen=True)
class Settles(ByState):
    """The regret that arises in state 0 all but stops growing, while that in state 1 goes on.

    From `since` to the end it grows by less than a `share` in state 0, and by more in state 1.
    """

    trial: str
    label: str
    since: int
    share: float

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        found = []
        for level, above in ((0, False), (1, True)):
            grown, width = trial.growth(self.label, self.since, None, level)
            before = trial.regret(self.label, self.since, level)[0] or nan
            what = (
                f"{self.trial}: growth of {self.label}'s regret in state {level}, "
                f"K = {trial.visits(self.since):,} to {trial.visits():,}"
                + ("" if grown else ", in no run")
            )
            share = Interval.around(grown / before, width / before)
            so = (
                f"{self.trial}: {self.label}'s regret in state {level} still grows by "
                f"{share.value:.1%} in the last decade of visits"
            )
            found.append(Measured(what, share, self.share, above, so))
        return found


@dataclass(frozen=True)
class WithinLemma4(ByState):
    """The regret that arises in state 0 is at most the constant of Lemma 4."""

    trial: str
    label: str

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        interval = Interval.around(*trial.regret(self.label, None, 0))
        what, most = f"{self.trial}: {self.label}'s regret in state 0", theory.lemma4(trial.problem)
        so = f"{what} is {interval.value:,.4g}, the constant {most.regret:,.4g}"
        return [Measured(what, interval, most.regret, above=False, contrary=so)]


@dataclass(frozen=True)
class LinearPulls(ByState):
    """The best arm has more than a share p_min / 2 of all pulls, as Lemma 3 has it."""

    trial: str
    label: str
    since: int

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        pulls, p, best = trial.result.pulls, trial[self.label], trial.problem.best_arm
        least = theory.lemma3(trial.problem).p_min / 2.0
        found = []
        for mark in (self.since, None):
            point = trial.point(mark)
            top = float(pulls.mean[p, point, :, best].sum())
            width = float(pulls.half_width[p, point, :, best].sum())
            share = ratio((top, width), at(trial.result.steps, p, point))
            what = f"{self.trial}: best arm's share of pulls, K = {trial.visits(mark):,}"
            so = f"{what}, is {share.value:.1%}, not {least:.1%}"
            found.append(Measured(what, share, least, above=True, contrary=so))
        return found

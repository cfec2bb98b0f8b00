"""How regret grows with log K, against the paper's bounds, and what happens in which state."""

from dataclasses import dataclass
from math import hypot, log, nan

from ... import theory
from ...stats.intervals import Interval, Pair, ratio
from ..results import Results, Simulated, at
from ..verdicts import Measured, Verdict

DOUBLED = 2.0
"""If from one decade of visits to the next the slope against log K is multiplied by so much, or for
lower bounds divided, regret does not grow like log K at all."""


class Growth(Simulated):
    """A measure of how regret grows."""

    kind = "growth of regret, against the bounds"


@dataclass(frozen=True)
class Towards(Growth):
    """Regret / log K is nearer to the policy's bound at the end than at an earlier K."""

    trial: str
    label: str
    since: int

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        bound = trial.bound(self.label)
        k, k0 = trial.visits(), trial.visits(self.since)
        (r, w), (r0, w0) = trial.regret(self.label), trial.regret(self.label, self.since)
        now, before = (r / log(k), w / log(k)), (r0 / log(k0), w0 / log(k0))
        what = (
            f"{self.trial}: distance of {self.label}'s regret / log K from its bound "
            f"{bound:,.4g} ({now[0] - bound:+,.4g} at K = {k:,}, {before[0] - bound:+,.4g} at "
            f"K = {k0:,}), change"
        )
        so = (
            f"{self.trial}: regret / log K of {self.label} moves away from its bound "
            f"{bound:,.3g}: {before[0]:,.3g}, then {now[0]:,.3g}"
        )
        return [Measured(what, _nearer(now, before, bound), 0.0, above=False, contrary=so)]


@dataclass(frozen=True)
class SlopeNears(Growth):
    """The slope of regret against log K over the last span is nearer to the bound than before.

    `marks` are three numbers of visits: slopes are taken between them.
    """

    trial: str
    label: str
    marks: tuple[int, int, int]

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        bound = trial.bound(self.label)
        first, middle, last = self.marks
        early = trial.slope(self.label, first, middle)
        late = trial.slope(self.label, middle, last)
        what = (
            f"{self.trial}: distance of {self.label}'s slope from its bound {bound:,.4g}: "
            f"slope {late[0]:,.4g} up to K = {trial.visits(last):,}, {early[0]:,.4g} up to "
            f"{trial.visits(middle):,}"
        )
        so = (
            f"{self.trial}: the slope of {self.label} moves away from its bound's {bound:,.3g}: "
            f"{early[0]:,.3g}, then {late[0]:,.3g}"
        )
        return [Measured(what, _nearer(late, early, bound), 0.0, above=False, contrary=so)]


def _nearer(now: Pair, before: Pair, bound: float) -> Interval:
    """How much farther from the bound it is than before."""
    change = abs(now[0] - bound) - abs(before[0] - bound)
    return Interval.around(change, hypot(now[1], before[1]))


@dataclass(frozen=True)
class SlopeBelow(Growth):
    """The slope of regret against log K over the last span is at most the bound's.

    `marks` are three numbers of visits: slopes are taken between them. The bound is the policy's
    own unless `bound` names another; with `above` the slope is at least that. With a `level` only
    the regret that arose at that level of experience counts.

    Bounds are about K without end. A slope on the other side says "not yet", unless it shows that
    regret does not grow like log K: see `DOUBLED`.
    """

    trial: str
    label: str
    marks: tuple[int, int, int]
    bound: str | None = None
    above: bool = False
    level: int | None = None

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        first, middle, last = self.marks
        early = trial.slope(self.label, first, middle, self.level)
        late = trial.slope(self.label, middle, last, self.level)
        bound = trial.bound(self.bound or self.label)
        change = ratio(late, early)
        unlike_log = change.high < 1.0 / DOUBLED if self.above else change.low > DOUBLED
        where = "" if self.level is None else f" in state {self.level}"
        what = f"{self.trial}: slope of {self.label}{where} from K = {trial.visits(middle):,} on"
        so = (
            f"{self.trial}: the slope of {self.label}{where} is {late[0]:,.3g} "
            f"({early[0]:,.3g} a decade before), the bound's {bound:,.3g}"
        )
        verdict = Verdict.NOT_CONFIRMED if unlike_log else Verdict.NOT_YET
        return [Measured(what, Interval.around(*late), bound, self.above, so, verdict)]


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

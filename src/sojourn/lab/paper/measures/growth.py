"""How regret grows with log K, against the paper's bounds."""

from dataclasses import dataclass
from math import hypot, log

from ....stats.intervals import Interval, Pair
from ...claims import Measured
from ..results import Results
from . import Simulated


@dataclass(frozen=True)
class Towards(Simulated):
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
        return [Measured(what, _nearer(now, before, bound), 0.0, above=False)]


@dataclass(frozen=True)
class SlopeNears(Simulated):
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
        return [Measured(what, _nearer(late, early, bound), 0.0, above=False)]


def _nearer(now: Pair, before: Pair, bound: float) -> Interval:
    """How much farther from the bound it is than before."""
    change = abs(now[0] - bound) - abs(before[0] - bound)
    return Interval.around(change, hypot(now[1], before[1]))


@dataclass(frozen=True)
class SlopeBelow(Simulated):
    """The slope of regret against log K, from `since` to the end, is at most the bound's.

    The bound is the policy's own unless `bound` names another; with `above` the slope is at least
    that. With a `level` only the regret that arose at that level of experience counts.
    """

    trial: str
    label: str
    since: int
    bound: str | None = None
    above: bool = False
    level: int | None = None

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        found = Interval.around(*trial.slope(self.label, self.since, None, self.level))
        where = "" if self.level is None else f" in state {self.level}"
        what = (
            f"{self.trial}: slope of {self.label}{where} from K = {trial.visits(self.since):,} on"
        )
        return [Measured(what, found, trial.bound(self.bound or self.label), self.above)]

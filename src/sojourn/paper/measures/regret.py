"""Which policy has less regret and by how much, and how wide the intervals are."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf, nan, sqrt

import numpy as np

from ...settings import SETTINGS
from ...stats.intervals import Z95, Interval, Pair, ratio
from ..results import LabelledResult, Results, Simulated, at
from ..verdicts import Measure, Measured, Verdict


class Compared(Simulated):
    """A measure of how much regret there is, beside something else."""

    kind = "regret: who has less, and how much"


@dataclass(frozen=True)
class Less(Compared):
    """`one` has less regret than `other` after `visits` visits (all of them unless given)."""

    trial: str
    one: str
    other: str
    visits: int | None = None

    def measure(self, results: Results) -> list[Measured]:
        trial = results[self.trial]
        found = trial.difference(self.one, self.other, self.visits)
        base = trial.regret(self.other, self.visits)[0]
        when = "" if self.visits is None else f", K = {trial.visits(self.visits):,}"
        other = f"{self.other} ({found.value / base if base else nan:+.1%}){when}"
        what = f"{self.trial}: regret of {self.one} less {other}"
        so = f"{self.trial}: {self.one} has {found} more regret than {other}"
        return [Measured(what, found, 0.0, above=False, contrary=so)]


def rising(trial: str, *labels: str) -> tuple[Less, ...]:
    """Along these labels the regret rises from each to the next.

    >>> [(less.one, less.other) for less in rising("A", "KL-ULCB", "ULCB", "UCB")]
    [('KL-ULCB', 'ULCB'), ('ULCB', 'UCB')]
    """
    return tuple(Less(trial, one, other) for one, other in pairwise(labels))


@dataclass(frozen=True)
class Times(Compared):
    """The regret of `other` is more than `factor` times that of `one`, and the ratio grows with K.

    `since` is the earlier K of that comparison.
    """

    trial: str
    one: str
    other_trial: str
    other: str
    factor: float
    since: int

    needs = ("trial", "other_trial")

    def measure(self, results: Results) -> list[Measured]:
        mine, theirs = results[self.trial], results[self.other_trial]
        late = ratio(theirs.regret(self.other), mine.regret(self.one))
        early = ratio(theirs.regret(self.other, self.since), mine.regret(self.one, self.since))
        growth = Interval(
            late.value / early.value if early.value else nan,
            late.low / early.high if early.high else 0.0,
            late.high / early.low if early.low else inf,
        )
        name = f"{self.trial}: regret of {self.other} over that of {self.one}"
        grew = f"{name}, at K = {mine.visits():,} over at K = {mine.visits(self.since):,}"
        so = f"{self.trial}: the regret of {self.other} is {late.value:.3g} times {self.one}'s"
        return [
            Measured(name, late, self.factor, True, f"{so}, not {self.factor:g}"),
            Measured(grew, growth, 1.0, True, f"{so}, and was {early.value:.3g} times it before"),
        ]


@dataclass(frozen=True)
class MoreWrongPulls(Compared):
    """After `visits` visits `one` has pulled arms other than the best more often than `other`."""

    trial: str
    one: str
    other_trial: str
    other: str
    visits: int

    needs = ("trial", "other_trial")

    def measure(self, results: Results) -> list[Measured]:
        """The difference; adding half-widths makes its interval the widest there may be."""
        mine, theirs = results[self.trial], results[self.other_trial]
        one = _wrong_pulls(mine, self.one, self.visits)
        other = _wrong_pulls(theirs, self.other, self.visits)
        what = (
            f"{self.trial}: wrong pulls of {self.one} less those of {self.other} "
            f"({other[0]:,.4g}), K = {mine.visits(self.visits):,}"
        )
        found = Interval.around(one[0] - other[0], one[1] + other[1])
        so = f"{self.trial}: {self.one} pulls wrong arms {-found.value:,.3g} times less often"
        return [Measured(what, found, 0.0, above=True, contrary=so)]


def _wrong_pulls(trial: LabelledResult, label: str, visits: int) -> Pair:
    pulls, best = trial.result.pulls, trial.problem.best_arm
    found = [
        at(pulls, trial[label], trial.point(visits), level, arm)
        for level in range(trial.problem.user.space.bins)
        for arm in range(trial.problem.arms)
        if arm != best
    ]
    return sum(mean for mean, _ in found), sum(width for _, width in found)


@dataclass(frozen=True)
class Agrees(Compared):
    """Regret summed from gaps and regret from raw rewards agree to a share of all rewards."""

    trial: str
    label: str
    share: float

    def measure(self, results: Results) -> list[Measured]:
        """Their difference at the end, over the reward of the optimal rule; at its widest."""
        trial = results[self.trial]
        raw, wide = at(trial.result.raw_regret, trial[self.label], -1)
        gaps, narrow = trial.regret(self.label)
        total = trial.visits() * trial.problem.value()
        interval = Interval.around((raw - gaps) / total, (wide + narrow) / total)
        what = f"{self.trial}: {self.label}, (from rewards less from gaps) / reward"
        so = f"{self.trial}: {self.label}'s regrets differ by {interval.value:.1%} of the reward"
        return [
            Measured(what, interval, -self.share, above=True, contrary=so),
            Measured(what, interval, self.share, above=False, contrary=so),
        ]


KIND = "half-widths of intervals"


@dataclass(frozen=True)
class RawWidth(Simulated):
    """With `runs` runs, regret from raw rewards has at most this 95 % half-width."""

    kind = KIND

    trial: str
    labels: tuple[str, ...]
    runs: float
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        """From the spread of rewards; a spread from n runs is known to a share 1 / sqrt(2 n)."""
        trial = results[self.trial]
        found = []
        for label in self.labels:
            p = trial[label]
            n = trial.result.runs[p]
            width = at(trial.result.raw_regret, p, -1)[1] * sqrt(n / self.runs)
            what = f"{self.trial}: half-width of {label}, {self.runs:,.0f} runs"
            interval = Interval.around(width, Z95 * width / sqrt(2.0 * n))
            so = f"{what}, would be {width:,.3g}, not {self.at_most:g}"
            found.append(Measured(what, interval, self.at_most, above=False, contrary=so))
        return found


@dataclass(frozen=True)
class OptimalWidth(Measure[Results]):
    """The same for the optimal rule, exactly: from the variance of the reward of a visit."""

    kind = KIND

    problem: str
    visits: int
    runs: float
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        spread = self.visits * SETTINGS[self.problem].reward.variance
        width = Z95 * sqrt(spread / self.runs)
        what = f"{self.problem}: half-width for the optimal rule, {self.runs:,.0f} runs"
        so = f"{what}, is {width:,.4g}, not {self.at_most:g}"
        return [Measured(what, Interval.exact(width), self.at_most, above=False, contrary=so)]


@dataclass(frozen=True)
class OwnWidth(Simulated):
    """Every regret here has at most this 95 % half-width.

    Runs that were not asked for a half-width decide nothing if theirs is greater.
    """

    kind = KIND

    trial: str
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        result = results[self.trial].result
        width = float(np.max(result.regret.half_width))
        runs = f"{min(result.runs):,} to {max(result.runs):,} runs"
        what = f"{self.trial}: largest half-width here, from gaps, {runs}"
        so = f"{self.trial}: the largest half-width is {width:,.3g}, not {self.at_most:g}"
        verdict = Verdict.UNDECIDED if result.precision is None else Verdict.NOT_CONFIRMED
        return [Measured(what, Interval.exact(width), self.at_most, False, so, verdict)]

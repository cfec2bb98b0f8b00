"""Measurements behind claims: a number with a 95 % interval, and what it says about a claim.

A claim says on which side of a threshold a number is. It is confirmed if the whole interval is
there, not confirmed if the whole interval is on the other side, and otherwise not decidable at the
precision of the results. Policies are compared run by run where they met the same users; where a
measurement combines estimates whose covariance is not kept, its interval is the widest they allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import hypot, inf, isfinite, log, nan, sqrt
from typing import NamedTuple, Protocol

import numpy as np

from .. import theory
from ..policies import Policy
from ..problem import Problem
from ..simulation import Estimate, Result
from ..simulation.bounds import bound_for, lower_bounds
from ..simulation.moments import NORMAL_95
from .settings import SETTINGS

LOWER = "lower bound"


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "not decidable at this precision"


class Interval(NamedTuple):
    """A number, and the ends of its 95 % interval; all alike if it is exact."""

    value: float
    low: float
    high: float

    @staticmethod
    def around(value: float, half_width: float) -> "Interval":
        """value ± half_width; unbounded if the half-width is not a number."""
        width = inf if np.isnan(half_width) else float(half_width)
        return Interval(float(value), float(value) - width, float(value) + width)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:,.6g} (exact)"
        if not isfinite(self.low) or not isfinite(self.high):
            return f"{self.value:,.4g} [{self.low:,.4g}, {self.high:,.4g}]"
        digits = _digits(self.high - self.low)
        middle = (self.low + self.high) / 2
        even = abs(self.value - middle) <= (self.high - self.low) / 100
        if even:
            return f"{self.value:,.{digits}f} ± {(self.high - self.low) / 2:,.{digits}f}"
        return f"{self.value:,.{digits}f} [{self.low:,.{digits}f}, {self.high:,.{digits}f}]"


def _digits(width: float) -> int:
    """Decimals that show two digits of a half-width."""
    return int(max(0, min(8, 1 - np.floor(np.log10(width / 2)))))


class Measured(NamedTuple):
    """One measurement: what it is, the number, and the side of the threshold that was claimed."""

    what: str
    interval: Interval
    threshold: float
    above: bool

    @property
    def verdict(self) -> Verdict:
        """Which side of the threshold the interval is on.

        >>> Measured("x", Interval(2.0, 1.0, 3.0), 0.0, above=True).verdict.value
        'confirmed'
        """
        low, high = self.interval.low, self.interval.high
        if np.isnan([low, high, self.interval.value, self.threshold]).any():
            return Verdict.UNDECIDED
        if low == high == self.threshold:  # exact and equal: "at least" and "at most" both hold
            return Verdict.CONFIRMED
        if low > self.threshold:
            return Verdict.CONFIRMED if self.above else Verdict.NOT_CONFIRMED
        if high < self.threshold:
            return Verdict.NOT_CONFIRMED if self.above else Verdict.CONFIRMED
        return Verdict.UNDECIDED

    def __str__(self) -> str:
        sign = ">" if self.above else "<"
        return f"{self.what}: {self.interval} (claimed: {sign} {self.threshold:,.6g})"


def overall(measured: Sequence[Measured]) -> Verdict:
    """Of a claim with several measurements: confirmed if all are, not if any is not."""
    verdicts = {m.verdict for m in measured}
    if not verdicts or Verdict.NOT_CONFIRMED in verdicts:
        return Verdict.NOT_CONFIRMED if verdicts else Verdict.UNDECIDED
    return Verdict.CONFIRMED if verdicts == {Verdict.CONFIRMED} else Verdict.UNDECIDED


@dataclass(frozen=True, eq=False)
class Table:
    """A result, with its policies by the labels of the experiment."""

    result: Result
    labels: tuple[str, ...]

    def __getitem__(self, label: str) -> int:
        return self.labels.index(label)

    def regret(self, label: str, visits: int | None = None) -> tuple[float, float]:
        """Mean and 95 % half-width at the checkpoint nearest to `visits`, or at the end."""
        return at(self.result.regret, self[label], self.point(visits))

    def point(self, visits: int | None = None) -> int:
        """The number of the checkpoint nearest to `visits`, or of the last."""
        grid = self.result.checkpoints
        return len(grid) - 1 if visits is None else int(np.argmin(np.abs(np.log(grid / visits))))

    def visits(self, visits: int | None = None) -> int:
        """The checkpoint itself."""
        return int(self.result.checkpoints[self.point(visits)])

    @property
    def problem(self) -> Problem:
        """Of the result."""
        return self.result.problem


def at(estimate: Estimate, *place: int) -> tuple[float, float]:
    """Mean and half-width at one place of an estimate."""
    return float(estimate.mean[place]), float(estimate.half_width[place])


Tables = Mapping[str, Table]


class Measure(Protocol):
    """Something to measure on results."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments it needs."""

    def measure(self, tables: Tables) -> list[Measured]:
        """The measurements."""


@dataclass(frozen=True)
class Less:
    """`one` has less regret at the end than `other`, in the same experiment, run by run."""

    experiment: str
    one: str
    other: str

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """Regret of `one` less that of `other`."""
        table = tables[self.experiment]
        mean, width = at(table.result.difference(table[self.one], table[self.other]), -1)
        base = table.regret(self.other)[0]
        share = mean / base if base else nan
        what = f"{self.experiment}: regret of {self.one} less {self.other} ({share:+.1%})"
        return [Measured(what, Interval.around(mean, width), 0.0, above=False)]


@dataclass(frozen=True)
class Order:
    """Along `labels` the regret at the end rises (or falls) from each to the next."""

    experiment: str
    labels: tuple[str, ...]
    rises: bool

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The differences of neighbours."""
        table = tables[self.experiment]
        found = []
        for one, other in zip(self.labels[1:], self.labels[:-1], strict=True):
            mean, width = at(table.result.difference(table[one], table[other]), -1)
            what = f"{self.experiment}: regret at {one} less that at {other}"
            found.append(Measured(what, Interval.around(mean, width), 0.0, above=self.rises))
        return found


@dataclass(frozen=True)
class Times:
    """The regret of `other` is more than `factor` times that of `one`, and the ratio grows with K.

    `since` is the earlier K of that comparison.
    """

    experiment: str
    one: str
    other_experiment: str
    other: str
    factor: float
    since: int

    @property
    def experiments(self) -> tuple[str, ...]:
        """Both."""
        return self.experiment, self.other_experiment

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


def ratio(top: tuple[float, float], bottom: tuple[float, float]) -> Interval:
    """The ratio of two positive numbers given with half-widths, at its widest."""
    low = (top[0] - top[1]) / (bottom[0] + bottom[1]) if bottom[0] > 0.0 else 0.0
    high = (top[0] + top[1]) / (bottom[0] - bottom[1]) if bottom[0] > bottom[1] else inf
    value = top[0] / bottom[0] if bottom[0] else nan
    return Interval(value, max(low, 0.0), high)


@cache
def upper_slope(policy: Policy, problem: Problem) -> float | None:
    """What multiplies log K in the paper's bound for this policy, if it has one."""
    bound = bound_for(policy, problem)
    return None if bound is None else bound.slope


@cache
def lower_slope(problem: Problem) -> float | None:
    """What multiplies log K in the lower bound, if there is one."""
    found = lower_bounds(problem)
    return found[0].slope if found else None


def bound_slope(table: Table, label: str) -> float:
    """Of the policy's upper bound, or of the "lower bound"; not a number if there is none."""
    if label == LOWER:
        found = lower_slope(table.problem)
    else:
        found = upper_slope(table.result.policies[table[label]], table.problem)
    return nan if found is None else found


@dataclass(frozen=True)
class Towards:
    """Regret / log K is nearer to the policy's bound at the end than at an earlier K."""

    experiment: str
    label: str
    since: int

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The change of the distance |regret / log K - slope|.

        The covariance of the two regrets is positive, one being part of the other, so that adding
        the variances makes the interval too wide rather than too narrow.
        """
        table = tables[self.experiment]
        slope = bound_slope(table, self.label)
        k, k0 = table.visits(), table.visits(self.since)
        (r, w), (r0, w0) = table.regret(self.label), table.regret(self.label, self.since)
        distance, distance0 = abs(r / log(k) - slope), abs(r0 / log(k0) - slope)
        change = Interval.around(distance - distance0, hypot(w / log(k), w0 / log(k0)))
        what = (
            f"{self.experiment}: distance of {self.label}'s regret / log K from its bound "
            f"{slope:,.4g}, {distance:,.4g} at K = {k:,} less {distance0:,.4g} at K = {k0:,}"
        )
        return [Measured(what, change, 0.0, above=False)]


@dataclass(frozen=True)
class SlopeNears:
    """The slope of regret against log K over the last span is nearer to the bound than before.

    `marks` are three numbers of visits: slopes are taken between them.
    """

    experiment: str
    label: str
    marks: tuple[int, int, int]

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The change of the distance |slope - bound|."""
        table = tables[self.experiment]
        bound = bound_slope(table, self.label)
        first, middle, last = self.marks
        early, late = (
            slope(table, self.label, first, middle),
            slope(table, self.label, middle, last),
        )
        distance, distance0 = abs(late[0] - bound), abs(early[0] - bound)
        what = (
            f"{self.experiment}: distance of {self.label}'s slope from its bound {bound:,.4g}: "
            f"slope {late[0]:,.4g} up to K = {table.visits(last):,}, {early[0]:,.4g} up to "
            f"{table.visits(middle):,}"
        )
        change = Interval.around(distance - distance0, hypot(late[1], early[1]))
        return [Measured(what, change, 0.0, above=False)]


def slope(table: Table, label: str, first: int, last: int) -> tuple[float, float]:
    """(R(last) - R(first)) / (log last - log first) and its half-width, too wide if anything."""
    k0, k = table.visits(first), table.visits(last)
    (r0, w0), (r, w) = table.regret(label, first), table.regret(label, last)
    span = log(k) - log(k0)
    if span == 0.0:  # too few visits were simulated to have a slope there
        return nan, nan
    return (r - r0) / span, hypot(w, w0) / span


@dataclass(frozen=True)
class SlopeBelow:
    """The slope of regret against log K, from `since` to the end, is at most the bound's."""

    experiment: str
    label: str
    since: int
    bound: str | None = None
    above: bool = False

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The slope, against the bound."""
        table = tables[self.experiment]
        end = table.visits()
        found = Interval.around(*slope(table, self.label, self.since, end))
        what = f"{self.experiment}: slope of {self.label} from K = {table.visits(self.since):,} on"
        limit = bound_slope(table, self.bound or self.label)
        return [Measured(what, found, limit, self.above)]


@dataclass(frozen=True)
class RawWidth:
    """With `runs` runs, regret from raw rewards has at most this 95 % half-width."""

    experiment: str
    labels: tuple[str, ...]
    runs: float
    at_most: float

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """From the spread of rewards; a spread from n runs is known to a share 1 / sqrt(2 n)."""
        table = tables[self.experiment]
        found = []
        for label in self.labels:
            p = table[label]
            n = table.result.runs[p]
            width = at(table.result.raw_regret, p, -1)[1] * sqrt(n / self.runs)
            what = f"{self.experiment}: half-width of {label}, {self.runs:,.0f} runs"
            interval = Interval.around(width, NORMAL_95 * width / sqrt(2.0 * n))
            found.append(Measured(what, interval, self.at_most, above=False))
        return found


@dataclass(frozen=True)
class OptimalWidth:
    """The same for the optimal rule, exactly: from the variance of the reward of a visit."""

    problem: str
    visits: int
    runs: float
    at_most: float
    experiments: tuple[str, ...] = ()

    def measure(self, tables: Tables) -> list[Measured]:
        """1.96 sqrt(K variance / runs)."""
        spread = self.visits * SETTINGS[self.problem].reward.variance
        width = NORMAL_95 * sqrt(spread / self.runs)
        what = f"{self.problem}: half-width for the optimal rule, {self.runs:,.0f} runs"
        return [Measured(what, Interval(width, width, width), self.at_most, above=False)]


@dataclass(frozen=True)
class OwnWidth:
    """Every regret here has at most this 95 % half-width."""

    experiment: str
    at_most: float

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The largest half-width of all policies and checkpoints."""
        result = tables[self.experiment].result
        width = float(np.max(result.regret.half_width))
        runs = f"{min(result.runs):,} to {max(result.runs):,} runs"
        what = f"{self.experiment}: largest half-width here, from gaps, {runs}"
        interval = Interval(width, width, width)
        return [Measured(what, interval, self.at_most, above=False)]


@dataclass(frozen=True)
class Settles:
    """The regret that arises in state 0 all but stops growing, while that in state 1 goes on.

    From `since` to the end it grows by less than a `share` in state 0, and by more in state 1.
    """

    experiment: str
    label: str
    since: int
    share: float

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """Growth by state over the last span, as a share of what there was."""
        table = tables[self.experiment]
        levels, p = table.result.regret_by_level, table[self.label]
        middle, last = table.point(self.since), table.point()
        found = []
        for level, above in ((0, False), (1, True)):
            (r0, w0), (r, w) = at(levels, p, middle, level), at(levels, p, last, level)
            once = 1.0 / r0 if r0 else nan
            grown = Interval.around((r - r0) * once, hypot(w, w0) * once)
            what = (
                f"{self.experiment}: growth of {self.label}'s regret in state {level}, "
                f"K = {table.visits(self.since):,} to {table.visits():,}"
            )
            found.append(Measured(what, grown, self.share, above))
        return found


@dataclass(frozen=True)
class WithinLemma4:
    """The regret that arises in state 0 is at most the constant of Lemma 4."""

    experiment: str
    label: str

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """Regret in state 0 at the end."""
        table = tables[self.experiment]
        interval = Interval.around(*at(table.result.regret_by_level, table[self.label], -1, 0))
        what = f"{self.experiment}: {self.label}'s regret in state 0"
        return [Measured(what, interval, theory.lemma4(table.problem).regret, above=False)]


@dataclass(frozen=True)
class LinearPulls:
    """The best arm has more than a share p_min / 2 of all pulls, as Lemma 3 has it."""

    experiment: str
    label: str
    since: int

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """Its share of the pulls, at an early K and at the end."""
        table = tables[self.experiment]
        pulls, p, best = table.result.pulls, table[self.label], table.problem.best_arm
        found = []
        for mark in (self.since, None):
            point = table.point(mark)
            top = float(pulls.mean[p, point, :, best].sum())
            width = float(pulls.half_width[p, point, :, best].sum())
            share = ratio((top, width), at(table.result.steps, p, point))
            what = f"{self.experiment}: best arm's share of pulls, K = {table.visits(mark):,}"
            found.append(
                Measured(what, share, theory.lemma3(table.problem).p_min / 2.0, above=True)
            )
        return found


@dataclass(frozen=True)
class SlowStart:
    """Up to K = `early` the regret of `one` is greater than that of `other`, run by run."""

    experiment: str
    one: str
    other: str
    early: int

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """The difference at that checkpoint."""
        table = tables[self.experiment]
        difference = table.result.difference(table[self.one], table[self.other])
        mean, width = at(difference, table.point(self.early))
        k = table.visits(self.early)
        what = f"{self.experiment}: regret of {self.one} less {self.other} at K = {k:,}"
        return [Measured(what, Interval.around(mean, width), 0.0, above=True)]


@dataclass(frozen=True)
class GapFalls:
    """For the paper's leave curve, the gap never grows with the state (computed, not simulated)."""

    c6s: tuple[float, ...]
    mean: float
    theta: float
    experiments: tuple[str, ...] = ()

    def measure(self, tables: Tables) -> list[Measured]:
        """The largest rise of the mistake cost D; what rounding explains counts as none."""
        found = []
        for row in theory.conjecture(self.c6s, self.mean, self.theta):
            rise = 0.0 if row.holds else row.rise
            what = f"c6 = {row.c6:g}, θ = {self.theta:g}: largest rise of D(s)"
            found.append(Measured(what, Interval(rise, rise, rise), 0.0, above=False))
        return found


@dataclass(frozen=True)
class GapOrder:
    """Exact gaps of the two states: state 0 dearer (or cheaper, `opposite`) than state 1."""

    problem: str
    opposite: bool = False
    experiments: tuple[str, ...] = ()

    def measure(self, tables: Tables) -> list[Measured]:
        """D(0) / D(1)."""
        costs = theory.mistake_costs(SETTINGS[self.problem])
        share = costs[0] / costs[1]
        what = f"{self.problem}: gap in state 0 over gap in state 1"
        return [Measured(what, Interval(share, share, share), 1.0, not self.opposite)]


@dataclass(frozen=True)
class Agrees:
    """Regret summed from gaps and regret from raw rewards agree to a share of all rewards."""

    experiment: str
    label: str
    share: float

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one it is about."""
        return (self.experiment,)

    def measure(self, tables: Tables) -> list[Measured]:
        """Their difference at the end, over the reward of the optimal rule; at its widest."""
        table = tables[self.experiment]
        p = table[self.label]
        (raw, wide), (gaps, narrow) = at(table.result.raw_regret, p, -1), table.regret(self.label)
        total = table.visits() * table.problem.value()
        interval = Interval.around((raw - gaps) / total, (wide + narrow) / total)
        what = f"{self.experiment}: {self.label}, (from rewards less from gaps) / reward"
        return [
            Measured(what, interval, -self.share, above=True),
            Measured(what, interval, self.share, above=False),
        ]

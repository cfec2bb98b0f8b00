"""Which policy has less regret and by how much, and how wide the intervals are."""

from itertools import pairwise
from math import inf, nan, sqrt

import numpy as np

from ...problem import Problem
from ...stats.intervals import Z95, Interval, Pair, ratio
from ..results import Found, LabelledResult, Taken, at, of_problem, of_trials
from ..verdicts import Measured, Verdict

COMPARED = "regret: who has less, and how much"
WIDTHS = "half-widths of intervals"


@of_trials(COMPARED)
def less(trial: LabelledResult, one: str, other: str, visits: int | None = None) -> Found:
    """`one` has less regret than `other` after `visits` visits (all of them unless given)."""
    found = trial.difference(one, other, visits)
    base = trial.regret(other, visits)[0]
    when = "" if visits is None else f", K = {trial.visits(visits):,}"
    than = f"{other} ({found.value / base if base else nan:+.1%}){when}"
    so = f"{one} has {found} more regret than {than}"
    yield Measured(f"regret of {one} less {than}", found, 0.0, above=False, contrary=so)


def rising(trial: str, *labels: str) -> list[Taken]:
    """Along these labels the regret rises from each to the next."""
    return [less(trial, one, other) for one, other in pairwise(labels)]


@of_trials(COMPARED, 2)
def times(
    mine: LabelledResult, theirs: LabelledResult, one: str, other: str, factor: float, since: int
) -> Found:
    """The regret of `other` is more than `factor` times that of `one`, and the ratio grows with K.

    `since` is the earlier K of that comparison.
    """
    late = ratio(theirs.regret(other), mine.regret(one))
    early = ratio(theirs.regret(other, since), mine.regret(one, since))
    growth = Interval(
        late.value / early.value if early.value else nan,
        late.low / early.high if early.high else 0.0,
        late.high / early.low if early.low else inf,
    )
    name = f"regret of {other} over that of {one}"
    grew = f"{name}, at K = {mine.visits():,} over at K = {mine.visits(since):,}"
    so = f"the regret of {other} is {late.value:.3g} times {one}'s"
    yield Measured(name, late, factor, True, f"{so}, not {factor:g}")
    yield Measured(grew, growth, 1.0, True, f"{so}, and was {early.value:.3g} times it before")


@of_trials(COMPARED, 2)
def more_wrong_pulls(
    mine: LabelledResult, theirs: LabelledResult, one: str, other: str, visits: int
) -> Found:
    """After `visits` visits `one` has pulled arms other than the best more often than `other`.

    Half-widths are added, which makes the interval of the difference the widest there may be.
    """
    pulls, width = _wrong_pulls(mine, one, visits)
    others, wide = _wrong_pulls(theirs, other, visits)
    at_k = f"K = {mine.visits(visits):,}"
    what = f"wrong pulls of {one} less those of {other} ({others:,.4g}), {at_k}"
    found = Interval.around(pulls - others, width + wide)
    so = f"{one} pulls wrong arms {-found.value:,.3g} times less often"
    yield Measured(what, found, 0.0, above=True, contrary=so)


def _wrong_pulls(trial: LabelledResult, label: str, visits: int) -> Pair:
    pulls, best = trial.result.pulls, trial.problem.best_arm
    found = [
        at(pulls, trial[label], trial.point(visits), level, arm)
        for level in range(trial.problem.user.space.bins)
        for arm in range(trial.problem.arms)
        if arm != best
    ]
    return sum(mean for mean, _ in found), sum(width for _, width in found)


@of_trials(COMPARED)
def agrees(trial: LabelledResult, label: str, share: float) -> Found:
    """Regret summed from gaps and regret from raw rewards agree to a share of all rewards.

    Their difference at the end, over the reward of the optimal rule; at its widest.
    """
    raw, wide = at(trial.result.raw_regret, trial[label], -1)
    gaps, narrow = trial.regret(label)
    total = trial.visits() * trial.problem.value()
    interval = Interval.around((raw - gaps) / total, (wide + narrow) / total)
    what = f"{label}, (from rewards less from gaps) / reward"
    so = f"{label}'s regrets differ by {interval.value:.1%} of the reward"
    yield Measured(what, interval, -share, above=True, contrary=so)
    yield Measured(what, interval, share, above=False, contrary=so)


@of_trials(WIDTHS)
def raw_width(trial: LabelledResult, labels: tuple[str, ...], runs: float, at_most: float) -> Found:
    """With `runs` runs, regret from raw rewards has at most this 95 % half-width.

    From the spread of rewards; a spread from n runs is known to a share 1 / sqrt(2 n).
    """
    for label in labels:
        p = trial[label]
        n = trial.result.runs[p]
        width = at(trial.result.raw_regret, p, -1)[1] * sqrt(n / runs)
        what = f"half-width of {label}, {runs:,.0f} runs"
        interval = Interval.around(width, Z95 * width / sqrt(2.0 * n))
        so = f"{what}, would be {width:,.3g}, not {at_most:g}"
        yield Measured(what, interval, at_most, above=False, contrary=so)


@of_problem(WIDTHS)
def optimal_width(problem: Problem, visits: int, runs: float, at_most: float) -> Found:
    """The same for the optimal rule, exactly: from the variance of the reward of a visit."""
    width = Z95 * sqrt(visits * problem.reward.variance / runs)
    what = f"half-width for the optimal rule, {runs:,.0f} runs"
    so = f"{what}, is {width:,.4g}, not {at_most:g}"
    yield Measured(what, Interval.exact(width), at_most, above=False, contrary=so)


@of_trials(WIDTHS)
def own_width(trial: LabelledResult, at_most: float) -> Found:
    """Every regret here has at most this 95 % half-width.

    Runs that were not asked for a half-width decide nothing if theirs is greater.
    """
    result = trial.result
    width = float(np.max(result.regret.half_width))
    what = f"largest half-width here, from gaps, {min(result.runs):,} to {max(result.runs):,} runs"
    so = f"the largest half-width is {width:,.3g}, not {at_most:g}"
    verdict = Verdict.UNDECIDED if result.precision is None else Verdict.NOT_CONFIRMED
    yield Measured(what, Interval.exact(width), at_most, False, so, verdict)

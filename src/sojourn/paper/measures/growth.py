"""How regret grows with log K, against the paper's bounds, and what happens in which state."""

from math import copysign, hypot, nan

from ... import theory
from ...stats.intervals import Interval, Pair, ratio
from ..results import Found, LabelledResult, at, of_trials
from ..verdicts import Measured, Verdict

GROWTH = "growth of regret, against the bounds"
BY_STATE = "what happens in which state"
DOUBLED = 2.0
"""If from one decade of visits to the next the slope against log K is multiplied by so much, or for
lower bounds divided, regret does not grow like log K at all."""

Marks = tuple[int, int, int]
"""Three numbers of visits: slopes are taken between them."""


@of_trials(GROWTH)
def towards(trial: LabelledResult, label: str, since: int) -> Found:
    """Regret / log K is nearer to the policy's bound at the end than at an earlier K.

    A curve that has crossed its bound in between goes away from it: it was nearest there, and its
    whole distance has been added since.
    """
    bound = trial.bound(label)
    now, before = trial.per_log(label), trial.per_log(label, since)
    crossed = _side(now, bound) * _side(before, bound) < 0.0
    change = (
        Interval.around(abs(now[0] - bound), now[1]) if crossed else _nearer(now, before, bound)
    )
    what = (
        f"distance of {label}'s regret / log K from its bound {bound:,.4g} "
        f"({now[0] - bound:+,.4g} at K = {trial.visits():,}, {before[0] - bound:+,.4g} at "
        f"K = {trial.visits(since):,}), change" + (" since it crossed the bound" if crossed else "")
    )
    so = f"moves away from its bound {bound:,.3g}"
    if crossed:
        so = f"crosses its bound {bound:,.3g} and moves away from it"
    so = f"regret / log K of {label} {so}: {before[0]:,.3g}, then {now[0]:,.3g}"
    yield Measured(what, change, 0.0, above=False, contrary=so)


def _side(found: Pair, bound: float) -> float:
    """1 if it is significantly above the bound, -1 if below, otherwise 0."""
    away = found[0] - bound
    return copysign(1.0, away) if abs(away) > found[1] else 0.0


@of_trials(GROWTH)
def slope_nears(trial: LabelledResult, label: str, marks: Marks) -> Found:
    """The slope of regret against log K over the last span is nearer to the bound than before."""
    bound, (early, late) = trial.bound(label), _slopes(trial, label, marks)
    what = (
        f"distance of {label}'s slope from its bound {bound:,.4g}: "
        f"slope {late[0]:,.4g} up to K = {trial.visits(marks[2]):,}, {early[0]:,.4g} up to "
        f"{trial.visits(marks[1]):,}"
    )
    so = (
        f"the slope of {label} moves away from its bound's {bound:,.3g}: "
        f"{early[0]:,.3g}, then {late[0]:,.3g}"
    )
    yield Measured(what, _nearer(late, early, bound), 0.0, above=False, contrary=so)


@of_trials(GROWTH)
def slope_below(
    trial: LabelledResult,
    label: str,
    marks: Marks,
    bound: str | None = None,
    above: bool = False,
    level: int | None = None,
) -> Found:
    """The slope of regret against log K over the last span is at most the bound's.

    The bound is the policy's own unless `bound` names another; with `above` the slope is at least
    that. With a `level` only the regret that arose at that level of experience counts.

    Bounds are about K without end. A slope on the other side says "not yet", unless it shows that
    regret does not grow like log K: see `DOUBLED`.
    """
    least, (early, late) = trial.bound(bound or label), _slopes(trial, label, marks, level)
    change = ratio(late, early)
    unlike_log = change.high < 1.0 / DOUBLED if above else change.low > DOUBLED
    who = label if level is None else f"{label} in state {level}"
    what = f"slope of {who} from K = {trial.visits(marks[1]):,} on"
    so = (
        f"the slope of {who} is {late[0]:,.3g} "
        f"({early[0]:,.3g} a decade before), the bound's {least:,.3g}"
    )
    verdict = Verdict.NOT_CONFIRMED if unlike_log else Verdict.NOT_YET
    yield Measured(what, Interval.around(*late), least, above, so, verdict)


def _slopes(
    trial: LabelledResult, label: str, marks: Marks, level: int | None = None
) -> tuple[Pair, Pair]:
    first, middle, last = marks
    early, late = ((first, middle), (middle, last))
    return trial.slope(label, *early, level), trial.slope(label, *late, level)


def _nearer(now: Pair, before: Pair, bound: float) -> Interval:
    """How much farther from the bound it is than before."""
    change = abs(now[0] - bound) - abs(before[0] - bound)
    return Interval.around(change, hypot(now[1], before[1]))


@of_trials(BY_STATE)
def settles(trial: LabelledResult, label: str, since: int, share: float) -> Found:
    """The regret that arises in state 0 all but stops growing, while that in state 1 goes on.

    From `since` to the end it grows by less than a `share` in state 0, and by more in state 1.
    """
    for level, above in ((0, False), (1, True)):
        grown, width = trial.growth(label, since, None, level)
        before = trial.regret(label, since, level)[0] or nan
        found = Interval.around(grown / before, width / before)
        regret = f"{label}'s regret in state {level}"
        span = f"K = {trial.visits(since):,} to {trial.visits():,}"
        what = f"growth of {regret}, {span}" + ("" if grown else ", in no run")
        so = f"{regret} still grows by {found.value:.1%} in the last decade of visits"
        yield Measured(what, found, share, above, so)


@of_trials(BY_STATE)
def within_lemma_4(trial: LabelledResult, label: str) -> Found:
    """The regret that arises in state 0 is at most the constant of Lemma 4."""
    interval = Interval.around(*trial.regret(label, None, 0))
    what, most = f"{label}'s regret in state 0", theory.lemma4(trial.problem).regret
    so = f"{what} is {interval.value:,.4g}, the constant {most:,.4g}"
    yield Measured(what, interval, most, above=False, contrary=so)


@of_trials(BY_STATE)
def linear_pulls(trial: LabelledResult, label: str, since: int) -> Found:
    """The best arm has more than a share p_min / 2 of all pulls, as Lemma 3 has it."""
    pulls, p, best = trial.result.pulls, trial[label], trial.problem.best_arm
    least = theory.lemma3(trial.problem).p_min / 2.0
    for mark in (since, None):
        point = trial.point(mark)
        top = float(pulls.mean[p, point, :, best].sum())
        width = float(pulls.half_width[p, point, :, best].sum())
        share = ratio((top, width), at(trial.result.steps, p, point))
        what = f"best arm's share of pulls, K = {trial.visits(mark):,}"
        so = f"{what}, is {share.value:.1%}, not {least:.1%}"
        yield Measured(what, share, least, above=True, contrary=so)

"""The paper's assumptions, checked one by one."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import validation
from ..problem import Problem
from ..problem_files import problem_of
from ..users import Ema, TwoState
from . import gaps

POSITIVE = "q > 0 everywhere"
"""The one assumption that no theorem here requires: the proofs use it only to ensure that visits
end, which `Problem` has checked."""


@dataclass(frozen=True)
class Check:
    """One assumption: its name, whether it holds, and the numbers that decide it.

    >>> assumptions("A")[0]
    Check(name='q00 >= q01', holds=True, detail='q00 = 1, q01 = 0')
    """

    name: str
    holds: bool
    detail: str


class AssumptionWarning(UserWarning):
    """The problem is outside what the paper proves."""


def assumptions(problem: Problem | str | Path, n: int = 4) -> tuple[Check, ...]:
    """Check what the theorems assume: Assumption 1 (two states), 2 (moving averages), others.

    `n` is the number of bins of the DISC policies (Theorem 4). What concerns all states of
    [0, 1] is checked on 1001 even points and, near 0, on 20 points per decade from 1e-12.

    The paper's own leave curve has q(1) = 0 against "q > 0" in its Assumption 2. This is a check
    of its own (`POSITIVE`), and Theorem 4 is given without it: positivity serves the proofs only
    by making visits end.

    >>> all(check.holds for check in assumptions("A"))
    True
    >>> [check.detail for check in assumptions("ema-100") if not check.holds]
    ['q(s) > 0 except at s = 1; visits end all the same, which is all the proofs need']
    """
    problem = problem_of(problem)
    n = validation.whole("n", n, 2)
    if gaps.outside(problem):
        own = [
            Check(name, not fails, why if fails else so)
            for name, fails, why, so in (
                ("leaving is the same after every arm", problem.by_arm, gaps.BY_ARM, "it is"),
                ("rewards are 0 or 1", problem.graded, gaps.GRADED, "they are"),
                ("means are the same in every state", problem.by_state, gaps.BY_STATE, "they are"),
            )
        ]
    elif two := gaps.two_state(problem):
        after_1 = (("q01", two.q01), ("q11", two.q11))
        below_one = [Check(f"{q} < 1", p < 1.0, f"{q} = {p:g}") for q, p in after_1]
        own = [*_assumption_1(problem, two), *below_one]
    elif ema := gaps.moving_average(problem):
        gap = gaps.monotone_gap(problem)
        falls = Check("gap nonincreasing", gap.holds, gap.reason or "D(s) never rises with s")
        own = [*_assumption_2(ema, n), falls]
    else:
        kind = type(problem.user).__name__
        own = [Check("two states or a moving average", False, f"the paper has no {kind}")]
    return (*own, *_in_any_model(problem))


def warn_about(problem: Problem | str | Path) -> None:
    """Issue one `AssumptionWarning` that names what fails, or none if all assumptions hold.

    >>> from sojourn import TwoState
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_about(Problem([0.9, 0.8], TwoState(q00=0.5, q01=0.1, q10=0.6, q11=0.1)))
    >>> print(caught[0].message)
    outside the paper's assumptions: q00 >= q10 fails (q00 = 0.5, q10 = 0.6)
    """
    if failing := failures(assumptions(problem)):
        message = f"outside the paper's assumptions: {failing}"
        warnings.warn(message, AssumptionWarning, stacklevel=3)


def failures(checks: Iterable[Check]) -> str:
    """What fails, in words; empty if nothing does."""
    return "; ".join(f"{c.name} fails ({c.detail})" for c in checks if not c.holds)


def sufficient_condition(problem: Problem | str | Path) -> gaps.Condition:
    """Lemma 2: a condition on the leave probabilities alone that implies `gap_condition`.

    (q01 - q11) / (q00 - q10) <= min((1 - q01) / (1 - q11), (1 - q00) / (1 - q10)), given
    Assumption 1, a positive best mean, q11 < 1 and q10 != q00.

    >>> condition = sufficient_condition("B")
    >>> round(condition.left, 6), round(condition.right, 6), condition.holds
    (0.166667, 0.25, True)
    """
    problem = problem_of(problem)
    name = "(q01 - q11) / (q00 - q10) <= min((1 - q01) / (1 - q11), (1 - q00) / (1 - q10))"
    user = gaps.two_state(problem)
    if gaps.outside(problem) or user is None:
        why = gaps.outside(problem) or "it is about users with two states"
    elif failing := [c for c in _assumption_1(problem, user) if not c.holds]:
        why = f"Assumption 1 fails ({failing[0].name}: {failing[0].detail})"
    elif max(problem.means) == 0.0:
        why = "the best mean is 0"
    elif user.q11 == 1.0:
        why = "q11 = 1"
    elif user.q00 == user.q10:
        why = f"q10 = q00 = {user.q00:g}"
    else:
        left = (user.q01 - user.q11) / (user.q00 - user.q10)
        right = min((1.0 - user.q01) / (1.0 - user.q11), (1.0 - user.q00) / (1.0 - user.q10))
        return gaps.Condition(name, left, right, left <= right)
    return gaps.Condition(name, None, None, False, f"does not apply, because {why}")


def _assumption_1(problem: Problem, user: TwoState) -> list[Check]:
    """q(i, j) >= q(i', j') if i + j < i' + j', q(0, 0) > 0, and the best mean below 1."""
    pairs = (("q00", "q01"), ("q00", "q10"), ("q00", "q11"), ("q01", "q11"), ("q10", "q11"))
    found, best = [], max(problem.means)
    for worse, better in pairs:
        high, low = getattr(user, worse), getattr(user, better)
        detail = f"{worse} = {high:g}, {better} = {low:g}"
        found.append(Check(f"{worse} >= {better}", high >= low, detail))
    found.append(Check("q00 > 0", user.q00 > 0.0, f"q00 = {user.q00:g}"))
    return [*found, Check("best mean < 1", best < 1.0, f"best mean {best:g}")]


def _assumption_2(user: Ema, n: int) -> list[Check]:
    states = gaps.grid()
    q = [float(user.leave.probability(s)) for s in states]
    zeros = [s for s, p in zip(states, q, strict=True) if p <= 0.0]
    if not zeros:
        positive = f"smallest q(s) = {min(q):.3g}"
    elif zeros == [1.0]:
        positive = "q(s) > 0 except at s = 1; visits end all the same, which is all the proofs need"
    else:
        positive = f"q(s) = 0 from s = {zeros[0]:g} to s = {zeros[-1]:g}, but visits end"
    rise, at = max((q[i + 1] - q[i], i) for i in range(len(q) - 1))
    falls = rise <= 1e-12
    rises = f"q({states[at]:g}) = {q[at]:.6g} < q({states[at + 1]:g}) = {q[at + 1]:.6g}"
    bottom = (n - 1) / n
    top = [p for s, p in zip(states, q, strict=True) if s > bottom]
    worst = max([float(user.leave.probability(bottom)), *top])
    return [
        Check(POSITIVE, not zeros, positive),
        Check("q nonincreasing", falls, f"on {len(q)} points of [0, 1]" if falls else rises),
        Check(f"q < 1 on [{bottom:g}, 1]", worst < 1.0, f"largest q there {worst:.6g}"),
    ]


def _in_any_model(problem: Problem) -> list[Check]:
    means = sorted(problem.means, reverse=True)
    if gaps.outside(problem):
        optimal = problem.best_arm_is_optimal
        detail = "its gap is 0 there" if optimal else _costliest_state(problem)
    else:
        costs = gaps.all_costs(problem)
        optimal = min(costs) >= -gaps.tolerance(problem, costs)
        detail = f"smallest D(s) = {min(costs):.6g}"
    return [
        Check("every visit ends", True, f"after {problem.length.mean:.6g} steps on average"),
        Check("one best arm", means[0] > means[1], f"best means {means[0]:g} and {means[1]:g}"),
        Check("all means > 0", means[-1] > 0.0, f"smallest mean {means[-1]:g}"),
        Check("best arm optimal in every state", optimal, detail),
    ]


def _costliest_state(problem: Problem) -> str:
    """Where the arm of highest mean costs most, and which one is better there."""
    gap, state = max((problem.gap(s, problem.best_arm), s) for s in problem.values.states)
    where = f"state {state:g}" if state >= 0.0 else "a first step"
    return f"in {where} arm {problem.rule(state)} is better by {gap:.6g}"

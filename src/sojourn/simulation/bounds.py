"""Which of the paper's bounds belongs to which policy."""

from .. import theory
from ..changing import AnyProblem, Changing
from ..policies import Policy


def bound_for(policy: Policy, problem: AnyProblem) -> theory.Bound | None:
    """The paper's bound on the regret of this policy, if it has one for these coefficients.

    >>> import sojourn as sj
    >>> bound_for(sj.ULCB(), sj.paper.SETTINGS["A"]).theorem
    'Theorem 1'
    """
    wanted = policy.bound
    if wanted is None or isinstance(problem, Changing):
        return None
    applying = (b for b in theory.bounds(problem, n=wanted.n) if b.slope is not None)
    return next((bound for bound in applying if bound.name == wanted.name), None)


def lower_bounds(problem: AnyProblem) -> list[theory.Bound]:
    """The bounds that no policy can beat, those that apply; none if the problem changes."""
    if isinstance(problem, Changing):
        return []
    return [
        bound
        for bound in theory.bounds(problem)
        if bound.name.startswith("lower bound") and bound.slope is not None
    ]

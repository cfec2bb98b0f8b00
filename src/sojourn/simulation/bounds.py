"""Which of the paper's bounds belongs to which policy."""

from functools import singledispatch
from typing import Any

from .. import theory
from ..policies import Policy
from ..policies.index import Index
from ..problem import Problem


def bound_for(policy: Policy, problem: Problem) -> theory.Bound | None:
    """The paper's bound on the regret of this policy, if it has one for these coefficients.

    >>> import sojourn as sj
    >>> bound_for(sj.policies.ULCB(), sj.paper.SETTINGS["A"]).theorem
    'Theorem 1'
    """
    name = bound_name(policy)
    if name is None:
        return None
    n = int(getattr(policy, "n", 4))
    applying = (b for b in theory.bounds(problem, n=n) if b.slope is not None)
    return next((bound for bound in applying if bound.name == name), None)


@singledispatch
def bound_name(policy: Any) -> str | None:
    """The name in `theory.bounds` of the bound on the regret of a policy, if there is one."""
    return None


@bound_name.register
def _(policy: Index) -> str | None:
    title = policy.title or type(policy).__name__
    return None if policy._case is None else f"{title}{policy._case}"


def lower_bounds(problem: Problem) -> list[theory.Bound]:
    """The bounds that no policy can beat, those that apply."""
    return [
        bound
        for bound in theory.bounds(problem)
        if bound.name.startswith("lower bound") and bound.slope is not None
    ]

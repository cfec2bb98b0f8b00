"""Which of the paper's bounds belongs to which policy."""

from .. import theory
from ..policies import Policy
from ..problem import Problem


def plain_name(name: str) -> str:
    """A name without what people spell differently.

    >>> plain_name("KL-ULCB")
    'klulcb'
    """
    return name.replace("-", "").lower()


def bound_for(policy: Policy, problem: Problem) -> theory.Bound | None:
    """The paper's bound on the regret of this policy, if it has one for these coefficients.

    >>> import sojourn as sj
    >>> bound_for(sj.ULCB(), sj.paper.SETTINGS["A"]).theorem
    'Theorem 1'
    """
    parameters = policy.parameters
    signs = (parameters.get("c0", -1.0), parameters.get("c1", 1.0))
    suffix = {(-1.0, 1.0): "", (1.0, -1.0): ", opposite"}.get(signs, ", other")
    for bound in theory.bounds(problem, n=int(parameters.get("n", 4))):
        if plain_name(bound.name) == plain_name(policy.name) + suffix and bound.slope is not None:
            return bound
    return None


def lower_bounds(problem: Problem) -> list[theory.Bound]:
    """The bounds that no policy can beat, those that apply."""
    return [
        bound
        for bound in theory.bounds(problem)
        if bound.name.startswith("lower bound") and bound.slope is not None
    ]

"""Solve for V*, Q*, gaps, and the length and reward of a visit.

A step in state s with arm a brings reward r with chance p and goes on, unless the user leaves, to
where W is the value:

    Q(s, a) = sum over r of p (r + (1 - q_a(s, r)) W(s, r)),     V(s) = max over a of Q(s, a).

If leaving does not depend on the arm and rewards are 0 or 1, with mean mu, this is

    Q(s, a) = v0 + mu D(s),     D(s) = 1 + v1 - v0,     v_r = (1 - q(s, r)) W(s, r).

D is the *mistake cost*: what a pull loses per unit of mean. Whatever the number of arms, the best
choice in state s is then the arm of highest mean if D(s) >= 0 and of lowest mean otherwise. Under
the paper's assumptions D > 0 (Lemmas 1 and 6); here nothing is assumed: policy iteration goes over
the arms.

With finitely many states the equations are solved exactly. On [0, 1] the functions are piecewise
Chebyshev series that satisfy the equations at their nodes; panels are halved where the equations
fail between the nodes, which follows the steep leave curves of the paper wherever they are. Without
a mistake cost V has kinks where the best arm changes and wherever such a state can be reached from,
so that the bound on the error is from 1e-6 to 1e-4 there, not 1e-11. Rewards from a continuous
distribution are a sum over the nodes of a quadrature.
"""

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from ..chain import best_rule, second_moment, total
from ..rewards import Coin, Reward
from ..users import User
from .functions import Array, Panels, States
from .solution import CommonValues, Steps, Values, steps_of

MAX_PANELS = 48
ACCURACY = 1e-11
"""The relative error aimed at; what was reached is `Values.error`."""
ROUNDING = 1e-14


# With several threads the last bits of a solution depend on how busy the machine is.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def solve(user: User, rewards: Sequence[Reward]) -> Values:
    """V* and all that follows from it; raises `NeverEnds` if some rule keeps users for ever.

    >>> from sojourn import ByArm, TwoState
    >>> from sojourn.rewards import Bernoulli
    >>> user = ByArm.odds(TwoState(0.15, 0.08, 0.12, 0.06), [2, 0, 0])
    >>> values = solve(user, [Bernoulli(0.8), Bernoulli(0.6), Bernoulli(0.4)])
    >>> values.rule(1.0), round(values.value(1.0), 2)
    (1, 6.5)
    """
    arms = tuple(rewards)
    common = user.space.arms is None and all(isinstance(arm, Coin) for arm in arms)
    kind = CommonValues if common else Values
    played = kind.played(arms)
    if user.space.states is not None:
        every = States(user.space.states)
        solution = _optimum(steps_of(user, played, every, every.nodes), check=True)
        return kind(user, arms, every, tuple(solution))
    edges = np.array([0.0, 1.0])
    while True:
        panels = Panels(edges)
        steps = steps_of(user, played, panels, panels.nodes)
        solution = _optimum(steps, check=edges.size == 2)
        between = steps_of(user, played, panels, panels.between).moments(solution)
        here = panels.basis(panels.between)
        # Lengths jump where a rule with kinks does, and wherever that can lead from.
        judged = zip(solution, between, strict=True) if common else [(solution[0], between[0])]
        off = [np.abs(here @ f - right) / (f.max() or 1.0) for f, right in judged]
        residual = panels.worst(np.max(off, axis=0))
        longest = float(solution[1].max())
        # Refine only the worst panels: the residual elsewhere often disappears with them.
        rough = residual > max(ACCURACY / longest, ROUNDING, residual.max() / 10.0)
        if not rough.any() or edges.size + rough.sum() > MAX_PANELS:
            error = float(residual.max()) * longest
            return kind(user, arms, panels, tuple(solution), error=error)
        edges = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:])[rough] / 2.0]))


def _optimum(steps: Steps, check: bool) -> list[Array]:
    """Value, length and their second moments at the nodes, under the best rule.

    With `check`, visits must end under every rule, the one with the longest visits included.
    """
    if check:
        best_rule(steps.onward, np.ones_like(steps.earn))
    rule, value = best_rule(steps.onward, steps.earn)
    own, ones = steps.under(rule), np.ones(rule.size)
    length = total(own.onward, ones, None)
    value_square = second_moment(own.onward, own.earn_square, own.earning, value)
    return [value, length, value_square, second_moment(own.onward, ones, own.onward, length)]

"""The least Bayes regret that any policy can have, and the policy that has it.

Means are drawn from Beta priors, independently; the user is known. What a policy knows is then the
counts (n, k) of every arm and the state of the visit, and the best it can do is found by backward
induction. It ends after `pulls` pulls in all, with two ends that bracket the truth:

* *commit*: the arm that is best for the rest is chosen and shown for ever. That is a policy, so
  that the least regret is at most its regret;
* *be told*: the means are revealed, and only the best arm is shown from there. More knowledge can
  be ignored, so the least regret is at least that (docs/limit.md has the proof).
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import validation
from ..show.plain import plain
from ..show.tables import Part, Shown
from ..users import User
from ..validation import InputError
from ..values.finite import FiniteUser, Horizon, Visits
from ..values.prior import Prior, check_finite, priors_of
from .induction import ENDS, Masks, Plan, count_states, layout, step_back
from .quadrature import Ends

MOST_PULLS = 20_000


class TooLarge(InputError):
    """The computation needs more memory than there is."""


@dataclass(frozen=True, eq=False)
class BayesOptimum(Shown):
    """The least Bayes regret of a user, priors and a horizon: between `low` and `high`.

    `high` is attained: it is the Bayes regret of the best policy that commits after `pulls` pulls;
    `plan` is its table if that was requested.

    >>> from sojourn import TwoState
    >>> least = bayes_optimum(TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1), visits=2, pulls=20)
    >>> round(least.low, 3), round(least.high, 3)
    (1.237, 1.281)
    """

    user: User
    priors: tuple[Prior, ...]
    horizon: Horizon
    pulls: int
    told: float
    """The mean reward of all visits if the means are known."""
    low: float
    high: float
    plan: Plan | None = field(default=None, repr=False)

    @property
    def regret(self) -> float:
        """The least Bayes regret that is known to be attained: `high`."""
        return self.high

    @property
    def value(self) -> float:
        """The mean reward of all visits that goes with it."""
        return self.told - self.high

    @property
    def arms(self) -> int:
        return len(self.priors)

    def to_dict(self) -> dict[str, Any]:
        known = {
            name: value for name, value in vars(self).items() if name not in ("horizon", "plan")
        }
        own = {"user": repr(self.user), "value": self.value, "regret": self.regret}
        return dict(plain({**known, **self.horizon._asdict(), **own}))

    def _parts(self) -> Sequence[Part]:
        priors = ", ".join(f"Beta({a:g}, {b:g})" for a, b in self.priors)
        return [
            f"{self.user!r}",
            f"{self.arms} arms, {priors}; {self.horizon}",
            f"least Bayes regret: between {self.low:.6g} and {self.high:.6g}, which is attained "
            f"(all counts up to {self.pulls} pulls)",
            f"reward of all visits with the means known: {self.told:.6g}",
        ]


def bayes_optimum(
    user: User,
    *,
    arms: int = 2,
    prior: Prior | Sequence[Prior] = (1.0, 1.0),
    visits: float = 10.0,
    fixed: bool = False,
    pulls: int = 120,
    plan: bool = False,
    progress: Callable[[float], None] | None = None,
) -> BayesOptimum:
    """The least Bayes regret any policy can have, exactly up to a bracket.

    Arguments, by name after the first:
        user: Any user with finitely many states, who leaves alike after every arm.
        arms: Two or three.
        prior: Beta(a, b) of every mean, or a pair for each arm.
        visits: How many on average, their number being geometric: after each another one comes
            with the same chance.
        fixed: Exactly this many visits instead. The visits left are then a part of the state: the
            work is that many times more.
        pulls: Pulls up to which all counts are gone through. The bracket shrinks as it grows; time
            grows like its fourth power with two arms and its sixth with three, memory like its
            third and fifth (`bayes_memory`).
        plan: Keep the table of best arms, to play it (`sojourn.policies.Planned`).
        progress: Called with the share of the work done, at least once a layer; Ctrl-C ends the
            work within a layer's time.

    >>> import sojourn as sj
    >>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> best = bayes_optimum(user, visits=2, pulls=40)
    >>> round(best.low, 4), round(best.high, 4), round(best.value, 4)
    (1.274, 1.2799, 7.4864)
    """
    task = _Task.of(user, arms, prior, visits, fixed, pulls, validation.flag("plan", plan))
    needed, there = task.bytes, available_memory()
    if there is not None and needed > 0.9 * there:
        raise TooLarge(
            f"pulls = {pulls} is not allowed here: it takes {needed / 1e9:.3g} GB of memory, and "
            f"{there / 1e9:.3g} GB are available"
        )
    return task.solve(progress or (lambda share: None))


def bayes_memory(
    user: User,
    *,
    arms: int = 2,
    prior: Prior | Sequence[Prior] = (1.0, 1.0),
    visits: float = 10.0,
    fixed: bool = False,
    pulls: int = 120,
    plan: bool = False,
) -> int:
    """The bytes that `bayes_optimum` needs with the same arguments.

    >>> import sojourn as sj
    >>> bayes_memory(sj.TwoState(0.8, 0.2, 0.2, 0.1), pulls=1_000) // 10**6
    5361
    """
    return _Task.of(user, arms, prior, visits, fixed, pulls, validation.flag("plan", plan)).bytes


@dataclass(frozen=True, eq=False)
class _Task:
    """What is to be solved, checked."""

    user: User
    visits: Visits
    priors: tuple[Prior, ...]
    pulls: int
    keep: bool

    @classmethod
    def of(
        cls, user: User, arms: int, prior: Any, visits: float, fixed: bool, pulls: int, keep: bool
    ) -> "_Task":
        finite = FiniteUser.of(user)
        chain = Visits(finite, Horizon.of(visits, fixed))
        arms = validation.whole("arms", arms, 2, 3)
        priors = priors_of(prior, arms)
        check_finite(finite, priors)
        return cls(user, chain, priors, validation.whole("pulls", pulls, 1, MOST_PULLS), keep)

    @property
    def arms(self) -> int:
        return len(self.priors)

    @property
    def alike(self) -> bool:
        return len(set(self.priors)) == 1

    def count(self, t: int) -> int:
        return count_states(t, self.arms, self.alike)

    @property
    def bytes(self) -> int:
        counts = [self.count(t) for t in range(self.pulls + 1)]
        return self.visits.size * (sum(counts[-2:]) * ENDS * 8 + sum(counts) * self.keep)

    def solve(self, progress: Callable[[float], None]) -> BayesOptimum:
        ends, size = Ends(self.user, self.visits, self.priors, self.pulls), self.visits.size
        counts = [self.count(t) for t in range(self.pulls + 1)]
        rows = np.cumsum([0, *counts])
        masks = np.empty(rows[-1] * size if self.keep else 0, np.uint8)
        prior, moves = np.array(self.priors), self.visits.moves()

        def of_layer(t: int) -> Masks:
            return masks[rows[t] * size : rows[t + 1] * size]

        later = np.empty(counts[-1] * ENDS * size)
        with threadpool_limits(limits=1, user_api="blas"):  # the last bits depend on threads
            ends.fill(later, of_layer(self.pulls))
        now, done = np.empty(counts[-2] * ENDS * size), 0
        for t in range(self.pulls - 1, -1, -1):
            step_back(
                t, self.arms, self.alike, prior, moves, size, later,
                now[: counts[t] * ENDS * size], of_layer(t),
            )  # fmt: skip
            later, now = now, later
            done += counts[t]
            progress(done / max(int(rows[-2]), 1))
        commit, told_late = later[: ENDS * size].reshape(ENDS, size) @ self.visits.start
        told, off = ends.told_at_once()
        plan = None
        if self.keep:
            last = self.pulls + 1 if self.arms == 3 else 1
            where = np.full((self.pulls + 1, self.pulls + 1, last), -1)
            for t in range(self.pulls + 1):
                begins = layout(t, self.arms, self.alike)[1]
                begins[begins >= 0] += rows[t]
                where[t, : t + 1, : begins.shape[1]] = begins
            own = (self.arms, self.pulls, self.alike, ends.by_rule, self.visits)
            plan = Plan(*own, masks, where)
        # Rounding may put the two a little the wrong way round where they are one.
        high = told + off - float(commit)
        low = min(max(told - off - float(told_late) - ends.error, 0.0), high)
        return BayesOptimum(
            self.user, self.priors, self.visits.horizon, self.pulls, told, low, high, plan
        )


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None if the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None

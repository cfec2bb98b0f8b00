"""The policy of least Bayes regret, from a table that `sojourn.theory.bayes_optimum` has made."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable
from ..engine.streams import Stream, draw_uniform
from ..engine.unmanaged import merged
from ..validation import InputError
from ..values.finite import FiniteUser
from ..values.prior import find_counts
from .base import Array, Policy, count, label_of, no_counts
from .reasons import Explains, Seen


class Planning(NamedTuple):
    """What the policy remembers beside `Counts`: where it is, and the arm it settled on."""

    ended: Array  # visits
    fresh: Array  # 1 at the first step of a visit
    settled: Array  # the arm it has committed to, or the rule; or -1
    order: NDArray[np.int64]  # room for `find_counts`


def looks_of(user: FiniteUser) -> tuple[Array, Array]:
    """What is seen of each state, and 1 for states of a first step of its own.

    InputError if states look alike.
    """
    first = np.array([float(code < 0.0) for code in user.codes])
    if len(set(zip(user.seen.tolist(), first.tolist(), strict=True))) < user.size:
        raise InputError(
            "this cannot be played: it tells states of the user apart that look alike to a policy"
        )
    return user.seen, first


@jitable
def find_state(seen: Array, first: Array, fresh: float, state: float) -> int:
    """The state of the user that looks most like this; `fresh` is 1 at a first step of a visit."""
    own = 0.0
    if fresh > 0.0:
        for s in range(first.size):
            own = max(own, first[s])
    found, nearest = 0, inf
    for s in range(seen.size):
        if first[s] == own and abs(seen[s] - state) < nearest:
            found, nearest = s, abs(seen[s] - state)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Planned(Explains, Policy):
    """The best arm for the counts of all arms and the state, by a table; made by `Planned.of`.

    It knows the user, the prior and the number of visits, and has the least Bayes regret that is
    possible if it has to commit to an arm after `last` pulls. Ties are broken at random.

    >>> import sojourn as sj
    >>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> optimum = sj.theory.bayes_optimum(user, visits=2, pulls=20, plan=True)
    >>> policy = sj.policies.Planned.of(optimum.plan)
    >>> memory = policy.memory(2)
    >>> policy.update(memory, 1.0, 1, 1.0, False, 1.0)  # arm 1 was liked
    >>> policy, policy.choose(memory, 1.0, None)
    (Planned(last=20), 1)
    """

    title: ClassVar[str] = "Bayes optimum"

    masks: NDArray[np.uint8] = field(repr=False)
    where: NDArray[np.int64] = field(repr=False)
    seen: Array = field(repr=False)
    """What is seen of each state."""
    first: Array = field(repr=False)
    """1 for states of a first step of its own."""
    arms: int
    last: int
    alike: bool = field(repr=False)
    by_rule: bool = field(repr=False)
    """Whether it commits to a rule: the arm in state s of the user is then bit s."""
    visits: int
    """How many, if it is fixed; else 0."""

    # As arrays have no one truth value of their comparison, a plan is equal to itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def of(cls, plan: Any) -> Self:
        """The policy of a `sojourn.theory.Plan`; InputError if states of the user look alike."""
        if plan is None:
            raise InputError("plan = None is not allowed: ask bayes_optimum for it with plan=True")
        seen, first = looks_of(plan.visits.user)
        horizon = plan.visits.horizon
        visits = int(horizon.visits) if horizon.fixed else 0
        own = (plan.arms, plan.pulls, plan.alike, plan.by_rule, visits)
        return cls(plan.masks, plan.where, seen, first, *own)

    def __repr__(self) -> str:
        return f"Planned(last={self.last})"

    def memory(self, arms: int) -> Any:
        own = Planning(np.zeros(1), np.ones(1), np.full(1, -1.0), np.zeros(3, np.int64))
        return merged(no_counts(arms), own)

    def place_of(self, memory: Any, state: float) -> int:
        """The state of the chain of visits."""
        later = max(self.visits - memory.ended[0] - 1.0, 0.0)
        found = find_state(self.seen, self.first, memory.fresh[0], state)
        return int(later) * self.seen.size + found

    def arm_of(self, settled: int, place: int) -> int:
        """The arm in this state of the chain of visits, once it has settled on something."""
        return (settled >> (place % self.seen.size)) & 1 if self.by_rule else settled

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        """The arm that the table has for what was seen; after the `last` pull always the same."""
        place = self.place_of(memory, state)
        if memory.settled[0] >= 0.0:
            return self.arm_of(int(memory.settled[0]), place)
        arms, t = int(self.arms), int(memory.clock[0])
        row = find_counts(
            memory.pulls, memory.successes, arms, self.alike, self.where[t], memory.order
        )
        size = self.seen.size * max(int(self.visits), 1)
        mask = self.masks[row * size + place]
        if self.by_rule and t >= int(self.last):
            rule = 0
            for s in range(self.seen.size):
                rule |= memory.order[(mask >> s) & 1] << s
            memory.settled[0] = rule
            return self.arm_of(rule, place)
        tied = 0
        for j in range(arms):
            tied += (mask >> j) & 1
        skip = int(draw_uniform(rng) * tied) if tied > 1 else 0
        arm = 0
        for j in range(arms):
            if (mask >> j) & 1:
                if skip == 0:
                    arm = memory.order[j]
                skip -= 1
        if t >= int(self.last):
            memory.settled[0] = arm
        return int(arm)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Count the pull, and the visit if it was its end."""
        count(memory, arm, 1, reward)
        memory.fresh[0] = 1.0 if left else 0.0
        if left:
            memory.ended[0] += 1.0

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "best for what is known:", ""

    def check_arms(self, arms: int) -> None:
        if arms != self.arms:
            raise InputError(f"this plan is for {self.arms} arms, and there are {arms}")


@label_of.register
def _(policy: Planned, usual: Any) -> str:
    return policy.title

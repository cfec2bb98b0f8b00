"""Oracle policies: they know the user, who has finitely many states, and use prepared tables.

The exact visit index: for the counts of an arm and every state of the user there is a known mean at
which one is indifferent between pulling the arm and showing one of that mean for ever. The arm of
greatest such index is played. The tables are those of `sojourn.values.visit_index`; see
docs/exact-index.md.

The policy of least Bayes regret: the best arm for the counts of all arms and the state, by a table
of `sojourn.theory.bayes_optimum`.
"""

from dataclasses import dataclass, field
from math import asin, inf, log, pi, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.divergence import kl_upper
from ..engine.loops import jitable
from ..engine.streams import Stream, draw_uniform
from ..engine.structs import PYTHON_ONLY
from ..engine.unmanaged import merged
from ..problem import Problem
from ..users import User
from ..validation import InputError
from ..values.finite import FiniteUser
from ..values.prior import Prior, find_counts
from ..values.visit_index import GROWTH, IndexTable, visit_index
from .base import Array, Policy, count, equally, greatest, label_of, no_counts
from .reasons import Explains, Seen


def looks_of(user: FiniteUser) -> tuple[Array, Array]:
    """The look of each state, and 1 for states of a first step of its own.

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


class Rated(NamedTuple):
    """The memory beside `Counts`: the index of every arm, and where the visit is."""

    scores: Array  # by [state, arm]
    fresh: Array  # 1 at the first step of a visit, for users to whom it matters


@dataclass(frozen=True)
class ExactIndex(Explains, Policy):
    """The arm of greatest visit index, for a known user and a known number of visits.

    `visits` is the mean of a geometric number; of a fixed number it is that number. Every mean has
    the prior Beta(a, b), and counts up to `pulls` pulls of an arm are in the table; beyond, the
    index is a KL upper bound whose budget falls as pulls come near the steps ahead. Ties are broken
    at random. The tables are made with the policy, or beforehand: `ExactIndex.of`. It cannot run
    live, because it has to know in advance when people leave.

    >>> import sojourn as sj
    >>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> policy = ExactIndex(user, visits=1_000)
    >>> memory = policy.memory(arms=2)
    >>> policy.update(memory, 1.0, 1, 1.0, False, 1.0)  # arm 1 was liked
    >>> policy.choose(memory, 1.0, None), memory.scores.round(2).tolist()
    (1, [[0.68, 0.78], [0.99, 0.99]])
    """

    title: ClassVar[str] = "Exact index"

    user: User = field(metadata=PYTHON_ONLY)
    visits: float
    prior: Prior = (1.0, 1.0)
    pulls: int = 200
    table: IndexTable | None = field(
        default=None, repr=False, compare=False, metadata=PYTHON_ONLY, kw_only=True
    )

    known: Array = field(init=False, repr=False, compare=False)
    """The index by [n (n + 1) / 2 + k, state]."""
    nats: Array = field(init=False, repr=False, compare=False)
    """Budgets beyond, by [level, mean, state]."""
    seen: Array = field(init=False, repr=False, compare=False)
    first: Array = field(init=False, repr=False, compare=False)
    below: float = field(init=False, repr=False, compare=False)
    """By how much an index is below its posterior mean, at most."""

    def __post_init__(self) -> None:
        super().__post_init__()
        table = self.table or visit_index(
            self.user, visits=self.visits, prior=self.prior, pulls=self.pulls
        )
        seen, first = looks_of(table.finite)
        made = {
            "table": table, "user": table.user, "visits": table.visits, "prior": table.prior,
            "pulls": table.pulls, "known": table.index, "nats": table.nats, "below": table.below,
            "seen": seen, "first": first,
        }  # fmt: skip
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, table: IndexTable) -> Self:
        """The policy of tables that `sojourn.theory.visit_index` has made."""
        return cls(table.user, table.visits, table.prior, table.pulls, table=table)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """The policy for the user of the problem; `visits` has to be given."""
        if "visits" not in parameters:
            raise InputError("visits is missing: the exact index needs their number")
        return cls(**{"user": problem.user, **parameters})

    def memory(self, arms: int) -> Any:
        scores = np.empty((self.seen.size, arms))
        for s in range(self.seen.size):
            scores[s] = self.known[0, s]
        return merged(no_counts(arms), Rated(scores, np.ones(1)))

    def score_of(self, pulls: float, successes: float, s: int) -> float:
        """The index of an arm in the user's state number s."""
        last = int(self.pulls)
        if pulls < last:
            return float(self.known[int(pulls * (pulls + 1.0) / 2.0 + successes), s])
        a, b = self.prior
        known = a + b + pulls
        mean = (a + successes) / known
        levels, means = self.nats.shape[0], self.nats.shape[1]
        x = min(log(known / (a + b + last)) / log(1.0 + GROWTH), levels - 1.0)
        y = min(max(2.0 / pi * asin(sqrt(mean)) * means - 0.5, 0.0), means - 1.0)
        i, j = min(int(x), max(levels - 2, 0)), min(int(y), means - 2)
        budget = 0.0
        for up in range(min(2, levels)):
            for right in range(2):
                share = abs(1.0 - up - (x - i)) * abs(1.0 - right - (y - j))
                budget += share * self.nats[i + up, j + right, s]
        return kl_upper(mean, budget / known)

    def rate(self, memory: Any, arm: int) -> None:
        """Bring the index of an arm up to date."""
        for s in range(self.seen.size):
            memory.scores[s, arm] = self.score_of(memory.pulls[arm], memory.successes[arm], s)

    def has_first_step(self) -> bool:
        """Whether the first step of a visit is unlike others that look the same."""
        return self.first.max() > 0.0  # type: ignore[no-any-return]

    def top_beside(self, memory: Any, arm: int) -> float:
        """The greatest index of any other arm, in any state."""
        top = -inf
        for s in range(self.seen.size):
            for other in range(memory.pulls.size):
                if other != arm:
                    top = max(top, memory.scores[s, other])
        return top

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        s = find_state(self.seen, self.first, memory.fresh[0], state)
        return greatest(memory.scores[s], rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        return equally(memory.scores[find_state(self.seen, self.first, memory.fresh[0], state)])

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        count(memory, arm, 1, reward)
        self.rate(memory, arm)
        if self.has_first_step():
            memory.fresh[0] = 1.0 if left else 0.0

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "worth most for what is known:", ""


@label_of.register
def _(policy: ExactIndex, usual: Any) -> str:
    return f"{policy.title}, visits={policy.visits:g}"


class Planning(NamedTuple):
    """The memory beside `Counts`: where the visit is, and the arm it settled on."""

    ended: Array  # visits
    fresh: Array  # 1 at the first step of a visit
    settled: Array  # the arm it has committed to, or the rule; or -1
    order: NDArray[np.int64]  # room for `find_counts`


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
    """The number of visits, if it is fixed; else 0."""

    # As arrays have no one truth value of their comparison, a plan is equal to itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def of(cls, plan: Any) -> Self:
        """The policy of a `sojourn.theory.Plan`; InputError if states of the user look alike."""
        if plan is None:
            raise InputError("plan = None is not allowed: call bayes_optimum with plan=True")
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

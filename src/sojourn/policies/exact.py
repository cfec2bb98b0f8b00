"""The exact visit index: for users of finitely many states who are known.

For the counts of an arm and every state of the user there is a known mean at which one is
indifferent between pulling the arm and showing one of that mean for ever: the arm of greatest such
index is played. The tables are those of `sojourn.values.visit_index`; see docs/exact-index.md.
"""

from dataclasses import dataclass, field
from math import asin, inf, log, pi, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine.divergence import kl_upper
from ..engine.streams import Stream
from ..engine.structs import PYTHON_ONLY
from ..engine.unmanaged import merged
from ..problem import Problem
from ..users import User
from ..validation import InputError
from ..values.prior import Prior
from ..values.visit_index import GROWTH, IndexTable, visit_index
from .base import Array, Policy, count, equally, greatest, label_of, no_counts
from .planned import find_state, looks_of
from .reasons import Explains, Seen


class Rated(NamedTuple):
    """What the policy remembers beside `Counts`: the index of every arm, and where the visit is."""

    scores: Array  # by [state, arm]
    fresh: Array  # 1 at the first step of a visit, for users to whom it matters


@dataclass(frozen=True)
class ExactIndex(Explains, Policy):
    """The arm of greatest visit index, for a known user and a known number of visits.

    `visits` is the mean of a geometric number; of a fixed number it is that number. Every mean has
    the prior Beta(a, b), and counts up to `pulls` pulls of an arm are in the table; beyond, the
    index is a KL upper bound whose budget falls as pulls come near the steps ahead. Ties are broken
    at random. The tables are made with the policy, or beforehand: `ExactIndex.of`. Live it cannot
    run, because it has to know in advance when people leave.

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
        """For the user of the problem; `visits` has to be given."""
        if "visits" not in parameters:
            raise InputError("visits is missing: the exact index has to know how many there are")
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
        """The arm of greatest index."""
        s = find_state(self.seen, self.first, memory.fresh[0], state)
        return greatest(memory.scores[s], rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """1 for the arm of greatest index, or an equal share for each of several."""
        return equally(memory.scores[find_state(self.seen, self.first, memory.fresh[0], state)])

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Count the pull and rate the arm anew."""
        count(memory, arm, 1, reward)
        self.rate(memory, arm)
        if self.has_first_step():
            memory.fresh[0] = 1.0 if left else 0.0

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "worth most for what is known:", ""


@label_of.register
def _(policy: ExactIndex, usual: Any) -> str:
    return f"{policy.title}, visits={policy.visits:g}"

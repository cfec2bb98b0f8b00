"""Policies for logs that others can learn from: every choice has a known chance.

An index policy is deterministic, so that its log says nothing about other policies. Mixed with a
little of any arm, it does: a log with the chance of each choice (its *propensity*) says what
another policy would achieve, see `sojourn.logs.evaluate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import validation
from ..engine.steps import level_of
from ..engine.streams import Stream, draw_uniform
from ..validation import InputError
from .base import Array, Counting, Counts, Forgetting, Policy, arms_in
from .index import KLULCB
from .reasons import Explains, Seen, engaged, explainer
from .wrapper import Wrapper

__all__ = ["EpsilonMixture"]
"""The policies of this module, in the order in which they are listed."""


@dataclass(frozen=True)
class EpsilonMixture(Forgetting, Wrapper):
    """The choice of `policy` with chance 1 - `epsilon`, otherwise any arm.

    Its `probabilities` are exact: epsilon / arms, and 1 - epsilon times those of `policy`.

    >>> mixed = EpsilonMixture(KLULCB(), epsilon=0.2)
    >>> memory = mixed.memory(2)  # nothing known yet: KL-ULCB begins with arm 0
    >>> mixed.probabilities(memory, 1.0).tolist()
    [0.9, 0.1]
    """

    title: ClassVar[str] = "Epsilon mixture"

    policy: Any = field(default_factory=KLULCB)
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, 0, 1))

    def anything(self, memory: Any, rng: Stream) -> int:
        """Any arm, with chance epsilon, else -1."""
        if draw_uniform(rng) < self.epsilon:
            return int(draw_uniform(rng) * arms_in(memory))
        return -1

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        """Any arm with chance epsilon, else what `policy` chooses."""
        arm = self.anything(memory, rng)
        return arm if arm >= 0 else self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """epsilon / arms, and the rest as `policy`; empty if that one cannot say."""
        inner = self.policy.probabilities(memory, state)
        return self.epsilon / max(inner.size, 1) + (1.0 - self.epsilon) * inner  # type: ignore[no-any-return]

    def fade(self, memory: Any, factor: float) -> None:
        self.policy.fade(memory, factor)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.take_back(memory, state, arm, reward, left, next_state)

    def forget_arm(self, memory: Any, arm: int) -> None:
        self.policy.forget_arm(memory, arm)

    def departure_cells(self) -> int:
        return self.policy.departure_cells()  # type: ignore[no-any-return]

    def departure_cell(self, state: float, reward: float) -> int:
        return self.policy.departure_cell(state, reward)  # type: ignore[no-any-return]

    def forget_departures(self, memory: Any) -> None:
        self.policy.forget_departures(memory)

    def refit_soon(self, memory: Any, since: float) -> None:
        self.policy.refit_soon(memory, since)

    def explores_in(self, memory: Any, state: float) -> bool:
        return self.policy.explores_in(memory, state)  # type: ignore[no-any-return]

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; or by chance, {self.epsilon:.0%} of the time"


def base_policy(policy: Policy) -> Any:
    """The policy that learns: the one within an `EpsilonMixture`, else itself."""
    return base_policy(policy.policy) if isinstance(policy, EpsilonMixture) else policy


def check_forgets(policy: Policy) -> None:
    """InputError if a policy cannot forget: one that learns in another way has to say how."""
    inner = base_policy(policy)
    for cls in type(inner).__mro__ if isinstance(inner, Forgetting) else ():
        if "take_back" in vars(cls):
            return
        if "update" in vars(cls):
            break
    raise InputError(
        f"policy = {policy.label!r} is not allowed: what it remembers is no sum of what it saw, "
        "so that it cannot forget a part of that (one that keeps `Counts` inherits `Counting`)"
    )


@dataclass(frozen=True)
class Rule(Counting, Explains, Policy):
    """Fixed chances by state: one row per equal part of [0, 1], one column per arm.

    Two rows are for state 0 and state 1, one row for a rule that does not look at the state.

    >>> rule = Rule([[1, 0], [0.5, 0.5]])  # arm 0 in state 0, any arm in state 1
    >>> rule.probabilities(rule.memory(2), 1.0).tolist()
    [0.5, 0.5]
    """

    learns_from: ClassVar[str] = "nothing"

    chances: tuple[tuple[float, ...], ...]

    def __init__(self, chances: Sequence[Sequence[float]]) -> None:
        try:
            rows = tuple(tuple(float(p) for p in row) for row in chances)
            good = len({len(row) for row in rows}) == 1 and len(rows[0]) > 0
        except (TypeError, ValueError):
            good = False
        if not (good and all(min(row) >= 0.0 and abs(sum(row) - 1.0) <= 1e-9 for row in rows)):
            raise InputError(
                f"chances = {chances!r} is not allowed: it must be a table, a row per state and a "
                "column per arm, of probabilities that add up to 1 in each row"
            )
        object.__setattr__(self, "chances", rows)

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        """An arm by its chance; one of chance 1 draws nothing."""
        row = self.chances[level_of(state, len(self.chances))]
        last = 0
        for arm in range(len(row)):
            if row[arm] > 0.0:
                last = arm
        if row[last] == 1.0:
            return last
        u = draw_uniform(rng)
        for arm in range(last):
            u -= row[arm]
            if u < 0.0:
                return arm
        return last

    def probabilities(self, memory: Counts, state: float) -> Array:
        """The row of the state."""
        return np.array(self.chances[level_of(state, len(self.chances))])

    def greedy_values(self, memory: Counts, state: float) -> Array:
        """The chances: the likeliest arm of the rule is what it holds best."""
        return self.probabilities(memory, state)

    def _mood(self, choice: Seen) -> str:
        return engaged(choice.state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "by the rule:", ""

    def check_arms(self, arms: int) -> None:
        if len(self.chances[0]) != arms:
            raise InputError(
                f"chances is not allowed: it has {len(self.chances[0])} columns for {arms} arms"
            )

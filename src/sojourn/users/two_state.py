"""The paper's basic user: the state is the last reward."""

from dataclasses import dataclass
from typing import ClassVar

from .. import validation
from .base import Space, User


@dataclass(frozen=True, repr=False)
class LastReward(User):
    """The state is the last reward, 0 or 1: `TwoState` without leave probabilities, for live use.

    >>> LastReward(start=0).next_state(0.0, 1.0)
    1.0
    """

    space: ClassVar[Space] = Space(bins=2)
    model: ClassVar[str] = "last-reward"

    def next_state(self, state: float, reward: float) -> float:
        """S' = R."""
        return reward


@dataclass(frozen=True, repr=False)
class TwoState(LastReward):
    """The paper's basic user: the state is the last reward, 0 or 1.

    After reward r in state s the user leaves with probability q(s, r), given as `q00`, `q01`,
    `q10`, `q11` (state first). The first state is `start`: 1, 0, or a table such as
    ``{0: 0.5, 1: 0.5}``.

    >>> user = TwoState(q00=1, q01=0, q10=0, q11=0)
    >>> user.leave_probability(0.0, 0.0, 0), user.next_state(0.0, 1.0)
    (1.0, 1.0)
    """

    q00: float
    q01: float
    q10: float
    q11: float

    space: ClassVar[Space] = Space(states=2, bins=2)
    model: ClassVar[str] = "two-state"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("q00", "q01", "q10", "q11"):
            object.__setattr__(self, name, validation.number(name, getattr(self, name), 0, 1))

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """q(state, reward)."""
        if state == 0.0:
            return self.q01 if reward > 0.0 else self.q00
        return self.q11 if reward > 0.0 else self.q10

"""How the state of a live visit follows from its rewards.

Live, nobody has to say how likely users are to leave: that is observed. So these are user models
without leave probabilities. Any user model of the package serves as well.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from .. import checks
from ..users import Ema, Start, StaysFirst, TwoState, User


@dataclass(frozen=True, repr=False)
class LastReward(User):
    """The state is the last reward: that of `TwoState`.

    >>> LastReward(start=0).next_state(0.0, 1.0)
    1.0
    """

    levels: ClassVar[int] = 2

    def next_state(self, state: float, reward: float) -> float:
        """S' = R."""
        return reward


@dataclass(frozen=True, repr=False)
class MovingAverage(User):
    """The state is a moving average of the visit's rewards: that of `Ema`.

    >>> MovingAverage(theta=0.5).next_state(1.0, 0.0)
    0.5
    """

    theta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = checks.number("theta", self.theta, 0, 1, open_ends=True)
        object.__setattr__(self, "theta", theta)

    def next_state(self, state: float, reward: float) -> float:
        """S' = (1 - theta) S + theta R."""
        return (1.0 - self.theta) * state + self.theta * reward


def live(user: User | None) -> User:
    """A user model without its leave probabilities; `LastReward` if there is none."""
    if user is None:
        return LastReward()
    if isinstance(user, StaysFirst):
        return live(user.user)
    if isinstance(user, TwoState):
        return LastReward(start=user.start)
    if isinstance(user, Ema):
        return MovingAverage(user.theta, start=user.start)
    if not isinstance(user, User):
        raise ValueError(f"user = {user!r} is not allowed: it must be a user model")
    return user


def describe(user: User) -> dict[str, Any]:
    """A user model as plain data; of one's own class only its repr, which can be compared."""
    start = dict(zip(map(str, user.start.states), user.start.chances, strict=True))
    if isinstance(user, LastReward):
        return {"model": "last-reward", "start": start}
    if isinstance(user, MovingAverage):
        return {"model": "moving-average", "theta": user.theta, "start": start}
    return {"model": repr(user)}


def from_description(data: dict[str, Any]) -> User:
    """What `describe` has described.

    >>> from_description(describe(MovingAverage(0.25, start=0)))
    MovingAverage(theta=0.25, start=0)
    """
    model = data["model"]
    if model not in ("last-reward", "moving-average"):
        raise ValueError(f"user is missing: this experiment has a user of its own, {model}")
    start = Start.of({float(state): chance for state, chance in data["start"].items()})
    if model == "last-reward":
        return LastReward(start=start)
    return MovingAverage(data["theta"], start=start)

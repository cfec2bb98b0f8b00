"""User models of live visits: their state follows from the rewards, and nobody says who leaves."""

from collections.abc import Mapping
from typing import Any

from ..users import USERS, LastReward, User


def live(user: User | None) -> User:
    """A user model without its leave probabilities; `LastReward` if there is none."""
    if user is None:
        return LastReward()
    if not isinstance(user, User):
        raise ValueError(f"user = {user!r} is not allowed: it must be a user model")
    return user.live()


def describe(user: User) -> dict[str, Any]:
    """A user model as plain data; of one's own class only its repr, which can be compared."""
    if USERS.get(user.model) is not type(user):
        return {"model": repr(user)}
    start = dict(zip(map(str, user.start.states), user.start.chances, strict=True))
    return {"model": user.model, **user.settings(), "start": start}


def from_description(data: Mapping[str, Any]) -> User:
    """What `describe` has described.

    >>> from sojourn import MovingAverage
    >>> from_description(describe(MovingAverage(0.25, start=0)))
    MovingAverage(theta=0.25, start=0)
    """
    settings = dict(data)
    model, start = settings.pop("model"), settings.pop("start", None)
    if model not in USERS:
        raise ValueError(f"user is missing: this experiment has a user of its own, {model}")
    if start is not None:
        start = {float(state): chance for state, chance in start.items()}
    return USERS[model].from_settings(**settings, start=start)

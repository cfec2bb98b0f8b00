"""User models of live visits: their state follows from the rewards, and departures are observed."""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from .. import validation
from ..users import USERS, Chain, Ema, LastReward, Levels, MovingAverage, TwoState, User
from ..users.wrappers import Wrapper
from ..validation import InputError


def live(user: User | None, threshold: float | None = None) -> tuple[User, float | None]:
    """A user model without its leave probabilities, and the threshold of graded rewards.

    `LastReward` if there is none. A user who takes rewards by their level (`Levels`) becomes the
    one within, and the threshold is theirs.

    >>> from sojourn import TwoState
    >>> from sojourn.users import Levels
    >>> live(Levels(TwoState(0.5, 0.1, 0.3, 0.05), thresholds=[0.5]))
    (LastReward(), 0.5)
    """
    if threshold is not None:
        threshold = validation.number("reward_threshold", threshold, 0, 1)
    if user is None:
        return LastReward(), threshold
    if not isinstance(user, User):
        raise InputError(f"user = {user!r} is not allowed: it must be a user model")
    found = live_model(user)
    if isinstance(found, Levels):
        own, found = found.thresholds, found.user
        if threshold not in (None, own[0]):
            raise InputError(
                f"reward_threshold = {threshold:g} is not allowed: the user's own is {own[0]:g}"
            )
        threshold = own[0]
    levels = found.space.outcomes
    if levels != 2:
        raise InputError(
            f"user = {validation.shown(user)} cannot be served: it tells {levels} levels "
            "of the reward apart, and live rewards have two"
        )
    return found, threshold


@singledispatch
def live_model(user: User) -> User:
    """The model that gives live visits their state: it does without leave probabilities."""
    return user


@live_model.register
def _(user: TwoState) -> User:
    return LastReward(start=user.start)


@live_model.register
def _(user: Ema) -> User:
    return MovingAverage(user.theta, start=user.start)


@live_model.register
def _(user: Chain) -> User:
    if user.chances.size:
        raise InputError(
            f"user = {validation.shown(user)} cannot be served: a live state must follow "
            "from the rewards, so give next states, not chances"
        )
    return user


@live_model.register
def _(user: Wrapper) -> User:
    return live_model(user.user)


@live_model.register
def _(user: Levels) -> User:
    return Levels(live_model(user.user), user.thresholds)


@singledispatch
def states_in_words(user: User, bins: int) -> tuple[str, ...]:
    """The name of each of `bins` equal parts of the experience."""
    return ranges_in_words("state", bins)


@states_in_words.register
def _(user: LastReward, bins: int) -> tuple[str, ...]:
    between = ranges_in_words("after a reward of", bins)
    return ("after no reward", *between[1:-1], "after a reward") if bins > 1 else between


@states_in_words.register
def _(user: MovingAverage, bins: int) -> tuple[str, ...]:
    return ranges_in_words("average", bins)


@states_in_words.register
def _(user: Chain, bins: int) -> tuple[str, ...]:
    if bins != user.space.states:
        return ranges_in_words("state", bins)
    return tuple(f"state {s}" for s in range(bins))


@states_in_words.register
def _(user: Wrapper, bins: int) -> tuple[str, ...]:
    return states_in_words(user.user, bins)


def ranges_in_words(what: str, bins: int) -> tuple[str, ...]:
    """Equal parts of [0, 1].

    >>> ranges_in_words("average", 4)[2]
    'average 0.5 to 0.75'
    """
    if bins == 1:
        return ("in any state",)
    ends = [f"{b / bins:.2g}" for b in range(bins + 1)]
    return tuple(f"{what} {ends[b]} to {ends[b + 1]}" for b in range(bins))


def describe(user: User) -> dict[str, Any]:
    """A user model as plain data; for a class of one's own only its repr, which can be compared."""
    if USERS.get(user.model) is not type(user):
        return {"model": repr(user)}
    start = dict(zip(map(str, user.start.states), user.start.chances, strict=True))
    return {"model": user.model, **user.settings(), "start": start}


def from_description(data: Mapping[str, Any]) -> User:
    """The inverse of `describe`.

    >>> from sojourn.users import MovingAverage
    >>> from_description(describe(MovingAverage(0.25, start=0)))
    MovingAverage(theta=0.25, start=0)
    """
    settings = dict(data)
    model, start = settings.pop("model"), settings.pop("start", None)
    if model not in USERS:
        raise InputError(f"user is missing: this experiment has a user of its own, {model}")
    if start is not None:
        start = {float(state): chance for state, chance in start.items()}
    return USERS[model].from_settings(**settings, start=start)

"""States of a visit in words."""

from ...live.states import LastReward, MovingAverage
from ...users import User


def short(p: float, digits: int = 2) -> str:
    """A number from 0 to 1 without its leading zero.

    >>> short(0.8149), short(1.0), short(0.0), short(-0.5)
    ('.81', '1.00', '.00', '-.50')
    """
    text = f"{p:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def states_in_words(user: User, bins: int) -> tuple[str, ...]:
    """What to call each of `bins` equal parts of the state.

    >>> states_in_words(LastReward(), 2)
    ('after no reward', 'after a reward')
    >>> states_in_words(MovingAverage(theta=0.5), 4)[2]
    'average .5 to .75'
    """
    if bins == 1:
        return ("in any state",)
    if isinstance(user, LastReward):
        between = _ranges("after a reward of", bins)[1:-1]
        return ("after no reward", *between, "after a reward")
    return _ranges("average" if isinstance(user, MovingAverage) else "state", bins)


def _ranges(what: str, bins: int) -> tuple[str, ...]:
    ends = [f"{b / bins:.2g}".replace("0.", ".") for b in range(bins + 1)]
    return tuple(f"{what} {ends[b]} to {ends[b + 1]}" for b in range(bins))


def user_in_words(user: User) -> str:
    """How the state of a visit follows from its rewards.

    >>> user_in_words(LastReward()), user_in_words(MovingAverage(0.5))
    ('the state is the last reward', 'the state is a moving average of rewards, theta .50')
    """
    if isinstance(user, LastReward):
        return "the state is the last reward"
    if isinstance(user, MovingAverage):
        return f"the state is a moving average of rewards, theta {short(user.theta)}"
    return f"the state is that of {user}"

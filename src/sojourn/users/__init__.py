"""User models: who comes, and when they leave. `USERS` has those that can be named."""

from ..registry import Registry
from .base import Start, User
from .chain import Chain
from .ema import Ema, FunctionLeave, LeaveCurve, LogLeave, MovingAverage
from .stays_first import StaysFirst
from .two_state import LastReward, TwoState

__all__ = [
    "USERS",
    "Chain",
    "Ema",
    "FunctionLeave",
    "LastReward",
    "LeaveCurve",
    "LogLeave",
    "MovingAverage",
    "Start",
    "StaysFirst",
    "TwoState",
    "User",
]

USERS: Registry[type[User]] = Registry(
    "user model",
    "sojourn.users",
    {cls.model: cls for cls in (TwoState, Ema, Chain, LastReward, MovingAverage)},
)
"""By the name of the model in problem files, in stores and over HTTP."""

"""User models: who comes, and when they leave. `USERS` has those that can be named."""

from ..registry import Registry
from .base import Space, Start, User
from .by_arm import ByArm, ShiftedLeave
from .chain import Chain
from .ema import Ema, FunctionLeave, LeaveCurve, LogLeave, MovingAverage
from .two_state import LastReward, TwoState
from .wrappers import Levels, StaysFirst, can_leave, unwrapped

__all__ = [
    "USERS",
    "ByArm",
    "Chain",
    "Ema",
    "FunctionLeave",
    "LastReward",
    "LeaveCurve",
    "Levels",
    "LogLeave",
    "MovingAverage",
    "ShiftedLeave",
    "Space",
    "Start",
    "StaysFirst",
    "TwoState",
    "User",
    "can_leave",
    "unwrapped",
]

USERS: Registry[type[User]] = Registry(
    "user model",
    "sojourn.users",
    {cls.model: cls for cls in (TwoState, Ema, Chain, LastReward, MovingAverage)},
)
"""By the name of the model in problem files, in stores and over HTTP."""

"""User models: how visits start, move and end. `USERS` has those that have a name."""

from collections.abc import Mapping
from typing import Any

from ..registry import Registry
from .base import Space, Start, User
from .chain import Chain
from .published import Ema, FunctionLeave, LastReward, LeaveCurve, LogLeave, MovingAverage, TwoState
from .wrappers import ByArm, Levels, ShiftedLeave, StaysFirst, can_leave, unwrapped

__all__ = [
    "EXAMPLES", "USERS", "ByArm", "Chain", "Ema", "FunctionLeave", "LastReward", "LeaveCurve",
    "Levels", "LogLeave", "MovingAverage", "ShiftedLeave", "Space", "Start", "StaysFirst",
    "TwoState", "User", "can_leave", "unwrapped",
]  # fmt: skip

USERS: Registry[type[User]] = Registry(
    "user model",
    "sojourn.users",
    {cls.model: cls for cls in (TwoState, Ema, Chain, LastReward, MovingAverage)},
)
"""User models by their name in problem files, in stores and over HTTP."""

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "two-state": {"q00": 1.0, "q01": 0.0, "q10": 0.0, "q11": 0.0},
    "ema": {"theta": 0.5, "c6": 1000.0},
    "chain": {"next": [[0, 1], [0, 2], [1, 2]], "leave": [[0.6, 0.1], [0.3, 0.05], [0.1, 0.02]]},
}
"""Example settings of each user model; for the paper's, those of their first problem."""

"""Gymnasium environments of the user models, and adapters that play policies in them.

Importing this module registers `sojourn/Visit-v0` and an environment for each user model that can
be named, such as `sojourn/TwoState-v0`, `sojourn/Ema-v0` and `sojourn/Chain-v0`;
``gymnasium.make("sojourn.gym:sojourn/Ema-v0")`` imports it too.

>>> import gymnasium
>>> env = gymnasium.make("sojourn/TwoState-v0", means=[0.7, 0.4])
>>> env.reset(seed=1)
(np.int64(1), {})
>>> state, reward, left, cut, info = env.step(1)
>>> round(info["gap"], 6)  # what it cost not to show the better arm
1.0
"""

from ..extras import require

require("sojourn.gym", "gym", "gymnasium")

from .agents import (
    Agent,
    MabwiserAgent,
    Played,
    PolicyAgent,
    RiverAgent,
    agent_for,
    play,
    play_many,
)
from .environments import VisitEnv, VisitsEnv, make, make_vec, register

__all__ = [
    "Agent", "MabwiserAgent", "Played", "PolicyAgent", "RiverAgent", "VisitEnv", "VisitsEnv",
    "agent_for", "make", "make_vec", "play", "play_many",
]  # fmt: skip

register()

"""Bandits whose users may leave: model, theory, policies and simulator of the paper MAB-A.

Names are loaded when they are first used: a server never loads the simulator, and a client of the
HTTP API never loads the compiler. Policies, user models and rewards beyond these names are in
`sojourn.policies`, `sojourn.users` and `sojourn.rewards`.
"""

from typing import TYPE_CHECKING

from .lazy import exports
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import client, gym, live, logs, paper, policies, rewards, theory, users
    from .contracts import check
    from .live import Experiment
    from .logs import Fit, fit
    from .policies import Policy
    from .problem import Problem
    from .recommendation import recommend
    from .simulation import Result
    from .simulation.simulate import simulate
    from .users import ByArm, Chain, Ema, TwoState, User
    from .validation import InputError

__all__ = [
    "ByArm", "Chain", "Ema", "Experiment", "Fit", "InputError", "Policy", "Problem",
    "Result", "TwoState", "User", "check", "client", "fit", "gym", "live", "logs",
    "paper", "policies", "recommend", "rewards", "simulate", "theory", "users",
]  # fmt: skip

__getattr__, __dir__ = exports(__name__)

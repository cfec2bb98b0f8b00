"""Bandits whose users may leave: model, theory, policies and simulator of the paper MAB-A.

Names are loaded when they are first used: a server never loads the simulator, and a client of the
HTTP API never loads the compiler.
"""

from typing import TYPE_CHECKING

from .lazy import exports
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import (
        client as client,
        gym as gym,
        live as live,
        logs as logs,
        paper as paper,
        policies as policies,
        rewards as rewards,
        theory as theory,
        users as users,
    )
    from .checking import check_policy as check_policy, check_user as check_user
    from .engine.loops import jitable as jitable
    from .engine.streams import Stream as Stream, uniform as uniform
    from .live import Experiment as Experiment
    from .logs import Fit as Fit, fit as fit
    from .policies import *
    from .problem import Problem as Problem
    from .recommendation import Recommendation as Recommendation, recommend as recommend
    from .rewards import (
        Bernoulli as Bernoulli,
        Beta as Beta,
        Discrete as Discrete,
        Reward as Reward,
        Sample as Sample,
    )
    from .simulation import Result as Result, simulate as simulate
    from .users import *
    from .validation import InputError as InputError

__getattr__, __dir__ = exports(__name__)

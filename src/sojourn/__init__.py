"""Bandits whose users may leave: model, theory, policies and simulator of the paper MAB-A.

Names are loaded when they are first used: a server never loads the simulator, and a client of the
HTTP API never loads the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import client as client, gym as gym, live as live, logs as logs, theory as theory
    from .checking import check_policy as check_policy, check_user as check_user
    from .engine.loops import jitable as jitable
    from .engine.streams import Stream as Stream, uniform as uniform
    from .lab import paper as paper
    from .live import Experiment as Experiment
    from .logs import Fit as Fit, fit as fit
    from .policies import *
    from .problem import Problem as Problem
    from .recommendation import Recommendation as Recommendation, recommend as recommend
    from .simulation import Result as Result, simulate as simulate
    from .users import *

ROOMS = ("client", "gym", "live", "logs", "service", "theory")
HOMES = {
    "Experiment": "live",
    "Fit": "logs",
    "Problem": "problem",
    "Recommendation": "recommendation",
    "Result": "simulation",
    "Stream": "engine.streams",
    "check_policy": "checking",
    "check_user": "checking",
    "fit": "logs",
    "jitable": "engine.loops",
    "paper": "lab",
    "recommend": "recommendation",
    "simulate": "simulation",
    "uniform": "engine.streams",
}
"""Where a name is; policies and user models are looked up in their registries."""


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    if name == "paper":
        return import_module(".lab.paper", __name__)
    if name in HOMES:
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    if name[0].isupper():
        for room in ("policies", "users"):
            found = getattr(import_module(f".{room}", __name__), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from . import policies, users

    own = {name for room in (policies, users) for name in vars(room) if name[0].isupper()}
    return sorted({"__version__", *ROOMS, *HOMES, *own})

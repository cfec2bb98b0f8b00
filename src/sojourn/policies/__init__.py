"""Policies choose the next arm. `POLICIES` has all that are installed, `ALL` the package's own."""

from ..engine.loops import jitable as jitable
from ..engine.streams import Stream as Stream, draw_uniform as draw_uniform
from ..registry import Registry
from . import (
    empirical,
    engagement,
    gated,
    index,
    learned,
    plain,
    priced,
    published,
    qlearning,
    restarting,
    visit,
    wrapper,
)
from .base import Counts as Counts, Policy as Policy
from .empirical import *
from .engagement import *
from .gated import *
from .index import *
from .index import Index as Index
from .learned import *
from .oracles import ExactIndex as ExactIndex, Planned as Planned
from .plain import *
from .plain import Rule as Rule
from .priced import *
from .published import *
from .qlearning import *
from .restarting import *
from .visit import *
from .wrapper import *

_MODULES = (
    index, gated, empirical, learned, priced, visit, engagement, published, qlearning, plain,
    wrapper, restarting,
)  # fmt: skip

ALL: tuple[type[Policy], ...] = tuple(
    getattr(module, name) for module in _MODULES for name in module.__all__
)
"""All policies of the package; each module lists its own in `__all__`."""

DEFAULT = engagement.EngagementIndex
"""The policy that needs no choice: of live experiments, `recommend` and `decide`."""

POLICIES: Registry[type[Policy]] = Registry(
    "policy", "sojourn.policies", {cls.__name__: cls for cls in ALL}
)
"""Policies by name, for the command line, the service, benchmarks, docs and contract tests."""

ORACLES: Registry[type[Policy]] = Registry(
    "policy", "sojourn.policies.oracles", {"ExactIndex": ExactIndex}
)
"""Policies that have to know the user: for simulations, and not for live experiments."""

__all__ = [
    *(cls.__name__ for cls in ALL),
    "ALL", "DEFAULT", "ORACLES", "POLICIES", "Counts", "ExactIndex", "Index", "Planned", "Policy",
    "Rule", "Stream", "draw_uniform", "jitable",
]  # fmt: skip

"""What is simulated, as data: which policies on which problem, and how precisely."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..policies import Policy
from ..problem import Problem
from ..simulation import PrecisionWarning, Result, StoreWarning, simulate
from ..theory import AssumptionWarning

QUICK = "quick"
"""The precision that every study has: few runs, for a first look."""

VISITS = 20_000
"""The paper's number of episodes."""

CHECKPOINTS = "log:36"

Maker = Callable[[Problem], Policy]
Roster = Mapping[str, Policy | Maker]
"""Policies by the label they have in tables and figures; some are made for the problem."""


def by_label(*policies: Policy) -> Roster:
    """A roster of policies that have the labels they give themselves."""
    return {policy.label: policy for policy in policies}


class Environment(NamedTuple):
    """A problem, and what simulates policies on it: called as `simulate`, without the problem."""

    problem: Problem
    simulate: Callable[..., Result]

    @classmethod
    def of(cls, problem: Problem) -> "Environment":
        return cls(problem, partial(simulate, problem))


@dataclass(frozen=True)
class Trial:
    """A roster of policies on one problem.

    `quick` is the number of runs for a first look. At full precision there are `runs`, or for each
    policy as many as the 95 % half-width `precision` takes. With 0 runs the trial is left out.
    """

    name: str
    """Unique in the study."""
    problem: str
    """The name of the problem."""
    make: Callable[[], Environment]
    policies: Roster
    quick: int
    runs: int = 0
    precision: float | str | None = None
    visits: int = VISITS
    checkpoints: str | tuple[int, ...] = CHECKPOINTS
    group: str = ""
    roster: str = ""
    """The group of problems and the name of the roster, in studies that have several."""
    nanoseconds: float = 15.0
    seconds: float = 0.0
    """Expected CPU time of a step, and of the whole trial at full precision where that was
    measured; only used to estimate the time left."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.policies)

    def amount(self, quick: bool) -> dict[str, Any]:
        """How many runs, or how precise, in the words of `simulate`."""
        if quick or self.precision is None:
            return {"runs": self.quick if quick else self.runs}
        return {"precision": self.precision}

    def left_out(self, quick: bool) -> bool:
        return self.amount(quick) == {"runs": 0}

    def effort(self, quick: bool) -> float:
        """Expected CPU seconds."""
        if self.seconds and not quick:
            return self.seconds
        runs = self.quick if quick else self.runs
        steps = runs * self.visits * self.make().problem.length.mean * len(self.policies)
        return 1e-9 * self.nanoseconds * steps

    def build(self, problem: Problem) -> list[Policy]:
        return [p if isinstance(p, Policy) else p(problem) for p in self.policies.values()]

    def run(self, *, quick: bool, **how: Any) -> Result:
        """Simulate it; `how` are arguments of `simulate`: seed, store, workers, progress."""
        environment = self.make()
        with warnings.catch_warnings():
            # Reports say in words what these warnings say; and old chunks are simply not used.
            for category in (AssumptionWarning, PrecisionWarning, StoreWarning):
                warnings.simplefilter("ignore", category)
            how |= {"visits": self.visits, "checkpoints": self.checkpoints, **self.amount(quick)}
            return environment.simulate(self.build(environment.problem), **how)

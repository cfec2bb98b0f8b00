"""A policy on a log, and the four ways to estimate what it achieves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...policies import Policy
from ...validation import InputError
from .model import fit_model
from .overlap import check_model, check_reach
from .reach import LEAST, Reach, reach
from .solution import PolicyInModel, Solution
from .trajectories import Floats, Trajectories
from .weights import Weights, weigh


@dataclass(frozen=True, eq=False)
class Task:
    """A policy on a log; weights and solutions are computed when a method asks for them.

    A method returns the mean over visits, and each visit's influence on it.
    """

    log: Trajectories
    policy: Policy
    memory: Any
    learns: bool
    horizon: int | None

    @cached_property
    def weights(self) -> Weights:
        return weigh(self.log, self.policy, self.memory, self.learns)

    @cached_property
    def reach(self) -> Reach:
        found = reach(self.weights, self.horizon)
        check_reach(self.log, found.steps, LEAST)
        return found

    @cached_property
    def solutions(self) -> dict[bool, Solution]:
        """The fitted problem, solved for the length (False) and for the reward (True)."""
        if self.learns:
            raise InputError(
                f"policy = {self.policy!r} learns as it goes, and a fitted problem has a "
                "value for fixed rules only: give it a memory (see `learn`)"
            )
        model = fit_model(self.log)
        played = PolicyInModel(model, self.policy, self.memory, self.horizon)
        length = played.solve(of_reward=False)
        check_model(model, length.stages)
        return {False: length, True: played.solve(of_reward=True)}

    def until(self, horizon: int) -> "Task":
        """The same about the first `horizon` steps of a visit."""
        return replace(self, log=self.log.until(horizon), horizon=horizon)

    def model(self, of_reward: bool) -> tuple[float, Floats]:
        solution = self.solutions[of_reward]
        return solution.value, solution.influence()

    def robust(self, of_reward: bool) -> tuple[float, Floats]:
        """The fitted value of each visit plus its weighted residuals."""
        solution = self.solutions[of_reward]
        rows = self.weights.after * solution.residuals()
        total = solution.opening + self.log.by_visit(rows)
        mean = float(total.mean())
        return mean, (total - mean) / total.size


OF_WEIGHTS: dict[str, Callable[[Weights, bool], tuple[float, Floats]]] = {
    "weighted": Weights.weighted,
    "normalised": Weights.normalised,
}
"""Methods that need no model: they apply to policies that learn, and their errors are skewed."""
METHODS = (*OF_WEIGHTS, "model", "robust")

"""Replay: what a policy would have achieved on a log that another policy wrote.

Four estimates of the total reward of a visit and of its length, each with an interval:

weighted    per-decision importance sampling: unbiased if the propensities are right
normalised  the same with weights that sum to one: less variance, a bias of order 1 / visits
model       the value in the problem fitted to the log: no weights, but the model must be right
robust      doubly robust: the model's value plus the weighted residuals of the steps; right if the
            propensities are, and sharper the better the model is

docs/replay.md says what each of them assumes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from ... import checks
from ...policies import Policy
from ...show.plain import plain
from ...stats.intervals import z
from .model import fit_model
from .overlap import check_model
from .solution import PolicyInModel, Solution
from .trajectories import Floats, Trajectories, trajectories
from .weights import Weights, weigh


@dataclass(frozen=True)
class ReplayEstimate:
    """A mean over visits, its standard error and its interval, which need not be symmetric."""

    mean: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Replay:
    """The estimates by method, and what they rest on. `print` shows a table."""

    policy: Policy
    visits: int
    users: int
    steps: int
    cut: int
    """Visits whose end the log does not have (before the horizon, if there is one)."""
    horizon: int | None
    effective: float | None
    """Effective sample size: how many visits of the policy the weighted log is worth."""
    confidence: float
    reward: dict[str, ReplayEstimate]
    length: dict[str, ReplayEstimate]

    def to_dict(self) -> dict[str, Any]:
        return plain({**vars(self), "policy": repr(self.policy)})  # type: ignore[no-any-return]

    def __str__(self) -> str:
        from ..reporting.replay import text

        return text(self)


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
    def solutions(self) -> dict[bool, Solution]:
        """The fitted problem, solved for the length (False) and for the reward (True)."""
        if self.learns:
            raise ValueError(
                f"policy = {self.policy!r} learns as it goes, and a fitted problem has a "
                "value for fixed rules only: give it a memory (see `learn`)"
            )
        model = fit_model(self.log)
        played = PolicyInModel(model, self.policy, self.memory, self.horizon)
        length = played.solve(of_reward=False)
        check_model(model, length.stages)
        return {False: length, True: played.solve(of_reward=True)}

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


METHODS: dict[str, Callable[[Task, bool], tuple[float, Floats]]] = {
    "weighted": lambda task, of_reward: task.weights.weighted(of_reward),
    "normalised": lambda task, of_reward: task.weights.normalised(of_reward),
    "model": Task.model,
    "robust": Task.robust,
}
OF_WEIGHTS = ("weighted", "normalised")
"""Methods that need no model: they apply to policies that learn, and their errors are skewed."""


def replay(
    log: Any,
    policy: Policy,
    *,
    memory: Any = None,
    theta: float = 1.0,
    start: float = 1.0,
    horizon: int | None = None,
    arms: Sequence[Any] | None = None,
    names: Mapping[str, str] | None = None,
    methods: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> Replay:
    """Estimate the reward and the length of a visit under `policy` from a log of another one.

    `log` has a row per step, with columns visit, arm, reward and, where there are, user, step,
    left, censored, propensity, state (`names` translates, `arms` lists the arms in the policy's
    order; see `trajectories`). Visits of the same user count as one observation for the intervals.
    States follow from the rewards by `theta` and `start`; theta = 1 is the last reward.

    A policy that learns is taken with the `memory` it is given (`learn` makes one, from another
    part of the log), which stays as it is. Without one it learns from the log as it goes, visit by
    visit: what is estimated then is the mean value of the policies it was on the way.

    With `horizon`, all is about the first `horizon` steps of a visit, which keeps weights small.
    `methods` are some of weighted, normalised, model and robust; all that apply unless said.

    >>> import sojourn as sj
    >>> from sojourn.logs.synthetic import synthetic_log
    >>> log = synthetic_log(sj.paper.SETTINGS["C"], sj.Uniform(), visits=2_000, seed=1)
    >>> found = replay(log, sj.FixedArm(0))
    >>> found.reward["weighted"].low < sj.paper.SETTINGS["C"].value() < found.reward["model"].high
    True
    """
    read = trajectories(log, theta=theta, start=start, arms=arms, names=names)
    confidence = checks.number("confidence", confidence, 0, 1, open_ends=True)
    if horizon is not None:
        horizon = checks.whole("horizon", horizon, 1)
        read = read.until(horizon)
    known = _checked_memory(policy, memory, len(read.arms))
    learns = memory is None and policy.learns
    task = Task(read, policy, known, learns, horizon)
    if methods is None:
        methods = OF_WEIGHTS if learns else list(METHODS)
    chosen = {checks.one_of("methods", name, METHODS): METHODS[name] for name in methods}
    found = {
        of_reward: {
            name: _estimate(read, z(confidence), name in OF_WEIGHTS, *method(task, of_reward))
            for name, method in chosen.items()
        }
        for of_reward in (True, False)
    }
    return Replay(
        policy=policy,
        visits=read.visits,
        users=int(read.user.max()) + 1,
        steps=read.arm.size,
        cut=int(read.censored.sum()),
        horizon=horizon,
        effective=task.weights.effective if "weights" in vars(task) else None,
        confidence=confidence,
        reward=found[True],
        length=found[False],
    )


def learn(
    log: Any,
    policy: Policy,
    *,
    theta: float = 1.0,
    start: float = 1.0,
    arms: Sequence[Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Any:
    """The memory of a policy that was told all steps of a log, in order.

    A visit that the log cuts short looks to the policy like one that goes on.

    >>> import sojourn as sj
    >>> log = {"visit": [0, 0, 1], "arm": [0, 1, 1], "reward": [0, 1, 1]}
    >>> learn(log, sj.UCB()).successes.tolist()
    [0.0, 2.0]
    """
    read = trajectories(log, theta=theta, start=start, arms=arms, names=names)
    memory = _checked_memory(policy, None, len(read.arms))
    columns = (read.state, read.arm, read.reward, read.left, read.next_state)
    for step in zip(*(column.tolist() for column in columns), strict=True):
        policy.update(memory, *step)
    return memory


def _checked_memory(policy: Policy, memory: Any, arms: int) -> Any:
    if not isinstance(policy, Policy):
        raise ValueError(f"policy = {policy!r} is not allowed: it must be a policy")
    policy.check_arms(arms)
    fresh = policy.memory(arms)
    if memory is None:
        memory = fresh
    elif [np.shape(part) for part in memory] != [np.shape(part) for part in fresh]:
        raise ValueError(
            f"memory is not allowed: it must be one of {policy.name} for the {arms} arms of the log"
        )
    if policy.probabilities(memory, 1.0).size == 0:
        raise ValueError(
            f"policy = {policy!r} is not allowed: replay needs its probabilities, and it has none"
        )
    return memory


def _estimate(
    log: Trajectories, z: float, skewed: bool, mean: float, influence: Floats
) -> ReplayEstimate:
    """With the influence of the visits of one user added up, so that errors are clustered."""
    by_user = np.bincount(log.user, influence)
    few = by_user.size / max(by_user.size - 1, 1)
    variance = float((by_user**2).sum())
    error = sqrt(few * variance)
    skewness = float((by_user**3).sum()) / variance**1.5 if skewed and variance > 0.0 else 0.0
    below, above = (_unskewed(y, skewness) for y in (z, -z))
    return ReplayEstimate(mean, error, max(mean - below * error, 0.0), mean - above * error)


def _unskewed(y: float, skewness: float) -> float:
    """The quantile, in standard errors, of a mean of this skewness where a normal one has y.

    Hall's cubic transformation (On the removal of skewness by transformation, J. R. Statist. Soc. B
    54, 1992): the weights of long visits are skewed, and the plain interval ends too low.
    """
    if abs(skewness) < 1e-6:
        return y
    return 3.0 / skewness * (float(np.cbrt(1.0 + skewness * (y - skewness / 6.0))) - 1.0)

"""Replay: what a policy would have achieved on a log that another policy wrote.

Four estimates of the total reward of a visit and of its length, each with an interval:

weighted    per-decision importance sampling: unbiased if the propensities are right
normalised  the same with weights that sum to one: less variance, a bias of order 1 / visits
model       the value in the problem fitted to the log: no weights, but the model must be right
robust      doubly robust: the model's value plus the weighted residuals of the steps; right if the
            propensities are, and sharper the better the model is

docs/replay.md says what each of them assumes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from ... import validation
from ...policies import Policy
from ...show.plain import plain
from ...show.sheets import Shown
from ...stats.intervals import z
from ...validation import InputError
from ..reading.spec import Reading
from . import source
from .doubts import check_propensities, doubts
from .estimate import ReplayEstimate, estimate
from .reach import Reach
from .task import METHODS, OF_WEIGHTS, Task


@dataclass(frozen=True)
class Replay(Shown):
    """The estimates by method, and what they rest on. `print` shows a table."""

    _rendered_by: ClassVar[str] = "sojourn.logs.reporting"

    policy: Policy
    visits: int
    users: int
    steps: int
    cut: int
    """Visits whose end the log does not have (before the horizon, if there is one)."""
    horizon: int | None
    effective: float | None
    """Effective sample size: how many visits of the policy the weighted log is worth."""
    reach: Reach | None
    """How many steps the log can follow the policy; None without weights."""
    confidence: float
    reward: dict[str, ReplayEstimate]
    length: dict[str, ReplayEstimate]
    doubts: tuple[str, ...] = ()
    """What speaks against these estimates, a sentence each."""
    arms: tuple[Any, ...] = field(default=(), compare=False)
    """By the numbers that policies call them."""
    reading: Reading | None = field(default=None, compare=False)
    """How the log was read, if its columns were not taken as they are."""

    def to_dict(self) -> dict[str, Any]:
        return plain({**vars(self), "policy": repr(self.policy)})  # type: ignore[no-any-return]


def replay(
    log: Any,
    policy: Policy,
    *,
    memory: Any = None,
    theta: float = 1.0,
    start: float = 1.0,
    horizon: int | None = None,
    arms: Sequence[Any] | Mapping[Any, str] | None = None,
    names: Mapping[str, str] | None = None,
    methods: Sequence[str] | None = None,
    confidence: float = 0.95,
    log_end: str | float | None = None,
    **reading: Any,
) -> Replay:
    """Estimate the reward and the length of a visit under `policy` from a log of another one.

    `log` has a row per step, with columns visit, arm, reward and, where there are, user, step,
    left, censored, propensity, state (`names` translates, `arms` lists the arms in the policy's
    order; see `trajectories`). Visits of the same user count as one observation for the intervals.
    States follow from the rewards by `theta` and `start`; theta = 1 is the last reward.

    Any other log is read as by `fit`, whose options there are in `reading`: columns and what is
    guessed of them, gap, threshold, ties, bad, table, sql and so on; `log_end` is what `fit` calls
    the horizon, and `arms` may map items to arms. Rewards are 0 or 1 then by the threshold.

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
    read, how = source.read(
        log, theta=theta, start=start, arms=arms, names=names, log_end=log_end, **reading
    )
    confidence = validation.number("confidence", confidence, 0, 1, open_ends=True)
    if horizon is not None:
        horizon = validation.whole("horizon", horizon, 1)
        read = read.until(horizon)
    known = _checked_memory(policy, memory, len(read.arms))
    learns = memory is None and policy.learns_from != "nothing"
    task = Task(read, policy, known, learns, horizon)
    if methods is None:
        methods = tuple(OF_WEIGHTS) if learns else METHODS
    chosen = [validation.one_of("methods", name, METHODS) for name in methods]
    weighted = set(chosen) != {"model"}
    wrong = check_propensities(task.weights) if weighted else None
    found = {
        of_reward: {name: _estimate(task, name, of_reward, z(confidence)) for name in chosen}
        for of_reward in (True, False)
    }
    return Replay(
        policy=policy,
        visits=read.visits,
        users=int(read.user.max()) + 1,
        steps=read.arm.size,
        cut=int((read.censored & (read.step + 1 < (horizon or inf))).sum()),
        horizon=horizon,
        effective=task.weights.effective if weighted else None,
        reach=task.reach if weighted else None,
        confidence=confidence,
        reward=found[True],
        length=found[False],
        arms=read.arms,
        reading=how,
        doubts=(*([wrong] if wrong else []), *doubts(task, chosen)),
    )


def _estimate(task: Task, method: str, of_reward: bool, z: float) -> ReplayEstimate:
    """With an interval that allows for what lies beyond the reach of the log, as far as it can."""
    user = task.log.user
    if method == "model":
        return estimate(user, *task.model(of_reward), z)
    reach = task.reach
    if method == "robust":
        found = estimate(user, *task.robust(of_reward), z)
        low = max(found.low - reach.unseen, 0.0)  # beyond the reach the model may err either way
        return replace(found, low=low, high=found.high + reach.unseen)
    of = OF_WEIGHTS[method]
    found = estimate(user, *of(task.weights, of_reward), z, skewed=True)
    if not reach.enough:
        within = of(task.weights.until(reach.steps), of_reward)
        found = replace(found, low=estimate(user, *within, z, skewed=True).low)
    return replace(found, high=found.high + reach.unseen)


def learn(
    log: Any,
    policy: Policy,
    *,
    theta: float = 1.0,
    start: float = 1.0,
    arms: Sequence[Any] | Mapping[Any, str] | None = None,
    names: Mapping[str, str] | None = None,
    **reading: Any,
) -> Any:
    """The memory of a policy that was told all steps of a log, in order.

    A visit that the log cuts short looks to the policy like one that goes on. Logs are read as by
    `replay`.

    >>> import sojourn as sj
    >>> log = {"visit": [0, 0, 1], "arm": [0, 1, 1], "reward": [0, 1, 1]}
    >>> learn(log, sj.UCB()).successes.tolist()
    [0.0, 2.0]
    """
    read, _ = source.read(log, theta=theta, start=start, arms=arms, names=names, **reading)
    memory = _checked_memory(policy, None, len(read.arms))
    columns = (read.state, read.arm, read.reward, read.left, read.next_state)
    for step in zip(*(column.tolist() for column in columns), strict=True):
        policy.update(memory, *step)
    return memory


def _checked_memory(policy: Policy, memory: Any, arms: int) -> Any:
    if not isinstance(policy, Policy):
        raise InputError(f"policy = {policy!r} is not allowed: it must be a policy")
    policy.check_arms(arms)
    fresh = policy.memory(arms)
    if memory is None:
        memory = fresh
    elif [np.shape(part) for part in memory] != [np.shape(part) for part in fresh]:
        raise InputError(
            f"memory is not allowed: it must be one of {type(policy).__name__} for the "
            f"{arms} arms of the log"
        )
    if policy.probabilities(memory, 1.0).size == 0:
        raise InputError(
            f"policy = {policy!r} is not allowed: replay needs its probabilities, and it has none"
        )
    return memory

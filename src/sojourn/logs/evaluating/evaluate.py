"""`evaluate`: what a policy would have achieved on a log that another policy wrote.

Four estimates of the total reward of a visit and of its length, each with an interval:

PDIS     per-decision importance sampling: unbiased if the propensities are right
SN-PDIS  self-normalised PDIS, whose weights sum to one: less variance, a bias of order 1 / visits
DM       direct method: the value in the problem fitted to the log; needs no propensities, but the
         model must be right
DR       doubly robust: DM plus the weighted residuals of the steps; right if the propensities are,
         and sharper the better the model is

docs/evaluate.md says what each of them assumes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from ... import validation
from ...policies import Policy
from ...show.plain import plain
from ...show.tables import Shown
from ...stats.intervals import z
from ...validation import InputError
from ..reading.spec import LogSpec, Reading
from .diagnostics import check_propensities, diagnostics
from .model import fit_model
from .solution import PolicyInModel, Solution, check_model
from .trajectories import Estimate, Floats, Trajectories, estimate, trajectories
from .weights import Reach, Weights, mean_and_shares, reach, weigh

OF_WEIGHTS: dict[str, Callable[[Weights, bool], tuple[float, Floats]]] = {
    "PDIS": Weights.pdis,
    "SN-PDIS": Weights.sn_pdis,
}
"""Methods that need no model: they apply to policies that learn, and their errors are skewed."""
METHODS = (*OF_WEIGHTS, "DM", "DR")


@dataclass(frozen=True)
class Evaluation(Shown):
    """The estimates by method, and the data behind them. `print` shows a table."""

    _rendered_by: ClassVar[str] = "sojourn.logs.report"

    policy: Policy
    visits: int
    users: int
    steps: int
    cut: int
    """Visits whose end is not in the log (before `max_steps`, if that is given)."""
    max_steps: int | None
    effective: float | None
    """Effective sample size: how many visits of the policy the weighted log is worth."""
    reach: Reach | None
    """Number of steps for which the log can follow the policy; None without weights."""
    confidence: float
    reward: dict[str, Estimate]
    length: dict[str, Estimate]
    diagnostics: tuple[str, ...] = ()
    """Warnings about these estimates, one sentence each."""
    arms: tuple[Any, ...] = field(default=(), compare=False)
    """The arms, by the numbers that policies use."""
    reading: Reading = field(default_factory=Reading, compare=False)
    """How the log was read."""

    def to_dict(self) -> dict[str, Any]:
        reading = {**vars(self.reading), "spec": self.reading.spec.given()}
        found = {**vars(self), "policy": repr(self.policy), "reading": reading}
        return plain(found)  # type: ignore[no-any-return]


def evaluate(
    source: Any,
    policy: Policy,
    spec: LogSpec | None = None,
    /,
    *,
    memory: Any = None,
    theta: float = 1.0,
    start: float = 1.0,
    max_steps: int | None = None,
    methods: Sequence[str] | None = None,
    confidence: float = 0.95,
    **fields: Any,
) -> Evaluation:
    """Estimate the reward and length of a visit under `policy` from the log of another policy.

    The log is read as by `fit`, with the same `spec` and fields, or it is the `Trajectories` that
    `trajectories` has read. Weights need a column `propensity`. Visits of the same user count as
    one observation for the intervals. States follow from the rewards by `theta`, the weight of a
    new reward, and `start`; with theta = 1 the state is the last reward.

    With a `memory` (see `learn`) the policy stays as it is. Without one, a policy that learns does
    so from the log as it goes, so that each visit is weighted with what the policy would have done
    by then: the estimates are averages over that, and a model, which needs a fixed rule, has none.
    With `max_steps`, all estimates are about the first `max_steps` steps of a visit, which keeps
    weights small.

    Refuses a log with wrong propensities, or with almost no steps like the policy's. Weights follow
    the policy until a step is worth fewer than `weights.LEAST` visits of it; an interval allows for
    what may come after, or has no upper end. `diagnostics` has further warnings.

    >>> import sojourn as sj
    >>> from sojourn.logs.synthetic import synthetic_log
    >>> log = synthetic_log(sj.paper.SETTINGS["C"], sj.policies.Uniform(), visits=2_000, seed=1)
    >>> found = evaluate(log, sj.policies.FixedArm(0))
    >>> found.reward["PDIS"].low < sj.paper.SETTINGS["C"].value() < found.reward["DM"].high
    True
    """
    log = _read(source, spec, fields).with_states(theta, start)
    confidence = validation.number("confidence", confidence, 0, 1, open_ends=True)
    if max_steps is not None:
        max_steps = validation.whole("max_steps", max_steps, 1)
        log = log.until(max_steps)
    known = _checked_memory(policy, memory, len(log.arms))
    learns = memory is None and policy.learns_from != "nothing"
    task = Task(log, policy, known, learns, max_steps)
    if methods is None:
        methods = tuple(OF_WEIGHTS) if learns else METHODS
    chosen = [validation.one_of("methods", name, METHODS) for name in methods]
    weighted = set(chosen) != {"DM"}
    wrong = list(check_propensities(task.weights)) if weighted else []
    found = {
        of_reward: {name: _estimate(task, name, of_reward, z(confidence)) for name in chosen}
        for of_reward in (True, False)
    }
    return Evaluation(
        policy=policy,
        visits=log.visits,
        users=int(log.user.max()) + 1,
        steps=log.arm.size,
        cut=int((log.censored & (log.step + 1 < (max_steps or inf))).sum()),
        max_steps=max_steps,
        effective=task.weights.effective if weighted else None,
        reach=task.reach if weighted else None,
        confidence=confidence,
        reward=found[True],
        length=found[False],
        diagnostics=(*wrong, *diagnostics(task, chosen)),
        arms=log.arms,
        reading=log.reading,
    )


def _read(source: Any, spec: LogSpec | None, fields: dict[str, Any]) -> Trajectories:
    if not isinstance(source, Trajectories):
        return trajectories(source, spec, **fields)
    if spec is not None or fields:
        raise InputError("spec is not allowed with trajectories: they have been read already")
    return source


@dataclass(frozen=True, eq=False)
class Task:
    """A policy on a log; weights and solutions are computed when a method asks for them.

    A method returns the mean over visits, and each visit's influence on it.
    """

    log: Trajectories
    policy: Policy
    memory: Any
    learns: bool
    max_steps: int | None

    @cached_property
    def weights(self) -> Weights:
        return weigh(self.log, self.policy, self.memory, self.learns)

    @cached_property
    def reach(self) -> Reach:
        return reach(self.weights, self.max_steps)

    @cached_property
    def solutions(self) -> dict[bool, Solution]:
        """The fitted problem, solved for the length (False) and for the reward (True)."""
        if self.learns:
            raise InputError(
                f"policy = {self.policy!r} learns as it goes, and a fitted problem has a "
                "value for fixed rules only: give it a memory (see `learn`)"
            )
        model = fit_model(self.log)
        played = PolicyInModel(model, self.policy, self.memory, self.max_steps)
        length = played.solve(of_reward=False)
        check_model(model, length.stages)
        return {False: length, True: played.solve(of_reward=True)}

    def until(self, step: int) -> "Task":
        """The same task for the first steps of a visit."""
        return replace(self, log=self.log.until(step), max_steps=step)

    def dm(self, of_reward: bool) -> tuple[float, Floats]:
        """The fitted value."""
        solution = self.solutions[of_reward]
        return solution.value, solution.influence()

    def dr(self, of_reward: bool) -> tuple[float, Floats]:
        """The fitted value of each visit plus its weighted residuals."""
        solution = self.solutions[of_reward]
        rows = self.weights.after * solution.residuals()
        return mean_and_shares(solution.opening + self.log.by_visit(rows))


def _estimate(task: Task, method: str, of_reward: bool, z: float) -> Estimate:
    """With an interval that allows for what lies beyond the reach of the log, as far as it can."""
    user = task.log.user
    if method == "DM":
        return estimate(user, *task.dm(of_reward), z)
    reach = task.reach
    if method == "DR":
        found = estimate(user, *task.dr(of_reward), z)
        low = max(found.low - reach.unseen, 0.0)  # beyond the reach the model may err either way
        return replace(found, low=low, high=found.high + reach.unseen)
    of = OF_WEIGHTS[method]
    found = estimate(user, *of(task.weights, of_reward), z, skewed=True)
    if not reach.enough:
        within = of(task.weights.until(reach.steps), of_reward)
        found = replace(found, low=estimate(user, *within, z, skewed=True).low)
    return replace(found, high=found.high + reach.unseen)


def learn(
    source: Any,
    policy: Policy,
    spec: LogSpec | None = None,
    /,
    *,
    theta: float = 1.0,
    start: float = 1.0,
    **fields: Any,
) -> Any:
    """The memory of a policy after all steps of a log, in order.

    A visit that the log cuts short looks to the policy like one that goes on. Logs are read as by
    `evaluate`.

    >>> import sojourn as sj
    >>> log = {"visit": [0, 0, 1], "arm": [0, 1, 1], "reward": [0, 1, 1]}
    >>> learn(log, sj.policies.UCB()).successes.tolist()
    [0.0, 2.0]
    """
    log = _read(source, spec, fields).with_states(theta, start)
    memory = _checked_memory(policy, None, len(log.arms))
    columns = (log.state, log.arm, log.reward, log.left, log.next_state)
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
            f"policy = {policy!r} is not allowed: evaluate needs its probabilities, and it has none"
        )
    return memory

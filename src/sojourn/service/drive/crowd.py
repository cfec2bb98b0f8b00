"""Simulated users of a problem who come to a live experiment, in the process or behind HTTP."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...engine.steps import begin, make_tally, make_world, step
from ...live import Decision
from ...problem import Problem


class LiveVisit(Protocol):
    """What a user needs of a visit; `online.Visit` has it, and `AsyncVisit`."""

    async def adecide(self, reward: float | None = None) -> Decision:
        """The next arm."""

    async def aend(self, reward: float | None = None) -> bool:
        """Leave."""


class Host(Protocol):
    """Where users go; `Experiment` and `AsyncExperiment`."""

    async def avisit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> Any:
        """Open a visit."""


class Stay(NamedTuple):
    """What became of a visit."""

    steps: int
    reward: float


async def at_once() -> None:
    """No pause between two steps."""


class Crowd:
    """Users who like, stay and leave by the simulator's own rules and draws.

    The n-th pull of an arm has the draw that it has in run number `run` of a simulation with this
    `seed`. If one user comes after the other, and the policy flips no coins, the visits are those
    of the simulator, step by step.

    `tally` has what was seen so far: `tally.lost.sum()` is the regret by gaps.

    >>> import asyncio
    >>> from sojourn import Experiment, TwoState, ULCB
    >>> problem = Problem([0.9, 0.8], TwoState(q00=1, q01=0, q10=0, q11=0))
    >>> policy = ULCB(random_ties=False)
    >>> with Experiment("news", ["a", "b"], policy, compiled=False) as experiment:
    ...     crowd = Crowd(problem, ["a", "b"], seed=1)
    ...     asyncio.run(crowd.visit(experiment))
    Stay(steps=16, reward=13.0)
    """

    def __init__(self, problem: Problem, arms: Sequence[str], seed: int = 0, run: int = 0) -> None:
        self.problem = problem
        self.numbers = {name: number for number, name in enumerate(arms)}
        self.begun = 0
        means, value = np.array(problem.means), problem.values.value_function
        best = problem.best_arm_is_optimal
        self._world = make_world(problem.user, means, best, value, seed, run)
        self.tally = make_tally(problem.user.levels, problem.arms)

    @property
    def regret(self) -> float:
        """The sum of gaps over all decisions so far."""
        return float(self.tally.lost.sum())

    async def visit(self, host: Host, pause: Callable[[], Awaitable[None]] = at_once) -> Stay:
        """One visit, from its opening to its end, with a pause before every step."""
        user: Any = self.problem.user
        self.begun += 1
        state = begin(user, self._world, self.begun)
        visit: LiveVisit = await host.avisit(state=user.experience(state))
        steps, total, reward, left = 0, 0.0, None, False
        while not left:
            await pause()
            arm = self._number((await visit.adecide(reward)).arm)
            state, reward, left = step(user, self._world, self.tally, arm, state)
            steps, total = steps + 1, total + reward
        await visit.aend(reward)
        return Stay(steps, total)

    def _number(self, arm: str) -> int:
        if arm not in self.numbers:
            known = ", ".join(self.numbers)
            raise ValueError(f"arm {arm!r} is not of the problem, whose arms are {known}")
        return self.numbers[arm]

"""Simulated users of a problem who visit a live experiment, in the process or over HTTP."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ...engine.steps import begin, make_tally, make_world, step
from ...live.answers import Decision, Own
from ...problem import Problem
from ...validation import InputError
from .own import OwnRecommender


class HostVisit(Protocol):
    """What a simulated user needs of a visit: `live.Visit` or `client.AsyncVisit`."""

    async def adecide(self, reward: float | None = None, *, own: Own | None = None) -> Decision: ...

    async def aend(self, reward: float | None = None) -> bool: ...


class Host(Protocol):
    """What a simulated user visits: `live.Experiment` or `client.AsyncExperiment`."""

    async def avisit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> Any: ...


class Stay(NamedTuple):
    """A completed visit."""

    steps: int
    reward: float


async def at_once() -> None:
    """No pause between two steps."""


class Crowd:
    """Users whose rewards and departures follow the simulator's rules and draws.

    The n-th pull of an arm has the draw that it has in run number `run` of a simulation with this
    `seed`. With one visit at a time and a policy that is not randomised, the visits are those of
    the simulator, step by step.

    With an `own` recommender every decision comes with what that one shows, and every visit with a
    user, who is new, but the same in every run with this seed.

    >>> import asyncio
    >>> from sojourn import Experiment, TwoState, ULCB
    >>> problem = Problem([0.9, 0.8], TwoState(q00=1, q01=0, q10=0, q11=0))
    >>> policy = ULCB(random_ties=False)
    >>> with Experiment("news", ["a", "b"], policy, compiled=False) as experiment:
    ...     crowd = Crowd(problem, ["a", "b"], seed=1)
    ...     asyncio.run(crowd.visit(experiment))
    Stay(steps=16, reward=13.0)
    """

    def __init__(
        self,
        problem: Problem,
        arms: Sequence[str],
        seed: int = 0,
        run: int = 0,
        own: OwnRecommender | None = None,
    ) -> None:
        self.problem, self.own, self._ids = problem, own, f"{seed}.{run}"
        self.numbers = {name: number for number, name in enumerate(arms)}
        self.begun = 0
        self._world = make_world(problem.coins, problem.values.prices, seed, run)
        self.tally = make_tally(problem.user.levels, problem.coins)

    @property
    def regret(self) -> float:
        """The sum of gaps over all decisions so far."""
        return float(self.tally.lost.sum())

    async def visit(self, host: Host, pause: Callable[[], Awaitable[None]] = at_once) -> Stay:
        """One complete visit, with a pause before every step."""
        user: Any = self.problem.user
        self.begun += 1
        state = begin(user, self._world, self.begun)
        who = None if self.own is None else f"{self._ids}.{self.begun}"
        visit: HostVisit = await host.avisit(who, state=user.experience(state))
        steps, total, reward, left = 0, 0.0, None, False
        while not left:
            await pause()
            seen = user.experience(state)
            told = {} if self.own is None else {"own": self.own.show(seen)}
            arm = self._number((await visit.adecide(reward, **told)).arm)
            state, reward, left = step(user, self._world, self.tally, arm, state)
            if self.own is not None:
                self.own.learn(seen, arm, reward, left, user.experience(state))
            steps, total = steps + 1, total + reward
        await visit.aend(reward)
        return Stay(steps, total)

    def _number(self, arm: str) -> int:
        if arm not in self.numbers:
            known = ", ".join(self.numbers)
            raise InputError(f"arm {arm!r} is not of the problem, whose arms are {known}")
        return self.numbers[arm]

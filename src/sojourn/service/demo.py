"""A demonstration: one experiment, and simulated users of a problem who visit it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from ..engine.steps import begin, make_tally, make_world, step
from ..live import LiveError, Settings
from ..live.answers import Ask
from ..problem import Problem
from ..users import TwoState
from ..validation import InputError
from .catalog import Catalog

NAME = "demo: shorts"
SHORTS = {
    "street food": 0.72, "cat videos": 0.64, "football": 0.58,
    "travel": 0.52, "cooking": 0.45, "news": 0.38,
}  # fmt: skip
"""The arms, and their means."""

VIEWER = TwoState(q00=0.45, q01=0.08, q10=0.12, q11=0.03)
"""Nearly half of the viewers leave after two disappointments in a row."""

USERS, PACE = 12, 30.0  # concurrent viewers, and steps a second of all of them together
PAUSE_AFTER_ERROR = 2.0  # seconds to wait after a failure
log = logging.getLogger("sojourn.service")


def problem() -> Problem:
    """The demonstration as a problem."""
    return Problem(list(SHORTS.values()), VIEWER)


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
    """

    def __init__(self, problem: Problem, arms: Sequence[str], seed: int = 0, run: int = 0) -> None:
        self.problem = problem
        self.numbers = {name: number for number, name in enumerate(arms)}
        self.begun = 0
        self._world = make_world(problem.coins, problem.values.prices, seed, run)
        self.tally = make_tally(problem.user.space.bins, problem.coins)

    async def visit(self, host: Any, pause: Callable[[], Awaitable[None]] = at_once) -> Stay:
        """A visit to a `live.Experiment` or to that of a client, with a pause before every step."""
        user: Any = self.problem.user
        self.begun += 1
        state = begin(user, self._world, self.begun)
        visit = await host.avisit(self.user_id(), state=user.experience(state))
        steps, total, reward, left = 0, 0.0, None, False
        while not left:
            await pause()
            seen = user.experience(state)
            made = await visit.adecide(self.ask(seen, reward))
            arm = self._number(made.arm)
            state, reward, left = step(user, self._world, self.tally, arm, state)
            self.learn(seen, arm, reward, left, user.experience(state))
            steps, total = steps + 1, total + reward
        await visit.aend(reward)
        return Stay(steps, total)

    def user_id(self) -> str | None:
        """The user of the visit that has just begun; a subclass may name one."""
        return None

    def ask(self, state: float, reward: float | None) -> Ask:
        return Ask(reward=reward)

    def learn(self, state: float, arm: int, reward: float, left: bool, after: float) -> None:
        """The result of a step, for subclasses."""

    def _number(self, arm: str) -> int:
        if arm not in self.numbers:
            known = ", ".join(self.numbers)
            raise InputError(f"arm {arm!r} is not in the problem, whose arms are {known}")
        return self.numbers[arm]


async def start(catalog: Catalog) -> asyncio.Task[None]:
    """Begin; cancel the task to end it."""
    settings = Settings(user=VIEWER, idle_timeout=60.0)
    await catalog.make(NAME, list(SHORTS), settings)
    return asyncio.create_task(play(catalog), name="sojourn-demo")


async def play(catalog: Catalog) -> None:
    """Simulated users of the demonstration, until cancelled."""
    crowd = Crowd(problem(), list(SHORTS), seed=random.getrandbits(62))

    async def watch() -> None:
        await asyncio.sleep(random.uniform(0.5, 1.5) * USERS / PACE)

    async def visits() -> None:
        while True:
            try:
                await crowd.visit(await catalog.experiment(NAME), watch)
            except (LiveError, InputError) as error:
                log.warning("demonstration: %s", error)
                await asyncio.sleep(PAUSE_AFTER_ERROR)

    await asyncio.gather(*(visits() for _ in range(USERS)))

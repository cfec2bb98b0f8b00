"""A demonstration: one experiment and simulated users, so that there is something to look at."""

import asyncio
import logging
import random

from ..live import LiveError, Settings
from ..policies import LearnedIMED
from ..problem import Problem
from ..users import TwoState
from ..validation import InputError
from .catalog import Catalog
from .drive.crowd import Crowd

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
    """The demonstration as a problem.

    >>> shorts = problem()
    >>> shorts.best_arm, round(shorts.mistake_cost(0) / shorts.mistake_cost(1), 2)
    (0, 1.78)
    """
    return Problem(list(SHORTS.values()), VIEWER)


async def start(catalog: Catalog, pace: float = PACE) -> asyncio.Task[None]:
    """Begin, with a policy not compiled: that takes a while at first. Cancel the task to end it."""
    settings = Settings(policy=LearnedIMED(), user=VIEWER, idle_timeout=60.0)
    await catalog.make(NAME, list(SHORTS), settings, compiled=False)
    return asyncio.get_running_loop().create_task(play(catalog, pace), name="sojourn-demo")


async def play(catalog: Catalog, pace: float) -> None:
    """Simulated users of the demonstration, until cancelled."""
    crowd = Crowd(problem(), list(SHORTS), seed=random.getrandbits(62))
    await asyncio.gather(*(_user(catalog, crowd, USERS / pace) for _ in range(USERS)))


async def _user(catalog: Catalog, crowd: Crowd, seconds: float) -> None:
    """One visit after the other, with this mean pause between steps."""

    async def watch() -> None:
        await asyncio.sleep(random.uniform(0.5, 1.5) * seconds)

    while True:
        try:
            await crowd.visit(await catalog.experiment(NAME), watch)
        except (LiveError, InputError) as error:
            log.warning("demonstration: %s", error)
            await asyncio.sleep(PAUSE_AFTER_ERROR)

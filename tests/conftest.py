"""One run of one policy, compiled and interpreted; the command line in this process; a browser."""

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import browser
import numpy as np
import pytest
from commands import Outcome, Run
from endings import end_quietly
from hypothesis import settings
from numpy.typing import NDArray

from sojourn import Problem
from sojourn.cli.main import main
from sojourn.engine.coasting import coaster_for
from sojourn.engine.kernel import columns, play
from sojourn.engine.leases import leaser_for
from sojourn.policies import Policy
from sojourn.simulation.chunks import NEVER, chunk

# The same examples in every run, and no clock: the machine may be busy.
settings.register_profile("sojourn", deadline=None, derandomize=True)
settings.load_profile("sojourn")

gc.set_threshold(50_000, 20, 20)  # compiling makes many objects that live: a tenth of its time


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a process of xdist; after it the verdict is printed
        end_quietly()


Totals = Callable[[Problem, Policy, int, int, Sequence[int]], NDArray[np.float64]]


@pytest.fixture(scope="session", autouse=True)
def hear_ctrl_c() -> None:
    """A test run that was started in the background ignores Ctrl-C; some tests send it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def compiled() -> Totals:
    """compiled(problem, policy, seed, run, checkpoints): the rows of totals of the kernel."""

    def totals(
        problem: Problem, policy: Policy, seed: int, run: int, checkpoints: Sequence[int]
    ) -> NDArray[np.float64]:
        return chunk(problem, policy, seed, run, 1, np.array(checkpoints, np.int64))[0]

    return totals


@pytest.fixture(scope="session")
def interpreted() -> Totals:
    """interpreted(problem, policy, seed, run, checkpoints): the same text run by Python."""

    def totals(
        problem: Problem, policy: Policy, seed: int, run: int, checkpoints: Sequence[int]
    ) -> NDArray[np.float64]:
        user: Any = problem.user
        grid = np.array(checkpoints, np.int64)
        out = np.zeros((grid.size, columns(user.space.bins, problem.arms)))
        play(
            policy, user, leaser_for(policy), coaster_for(user), problem.coins,
            problem.values.prices, user.space.bins, seed, run, grid, True, NEVER,
            np.zeros(2, np.int64), out,
        )  # fmt: skip
        return out

    return totals


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """run(*arguments): `sojourn` with these arguments, in this process."""

    def call(*arguments: str) -> Outcome:
        code = main(arguments)
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser. Not for the session: while it runs, no test can start an event loop."""
    with browser.launched() as program:
        yield program

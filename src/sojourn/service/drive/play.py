"""Simulated users against a running service: traffic for a first look, and the load test."""

import asyncio
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...client.aclient import AsyncClient, AsyncExperiment
from ...client.calls import Answer, Call, Lost, Refused
from ...live import LiveError, NotFound, Unavailable
from ...live.states import live
from ...policies import Policy
from ...problem import Problem
from .crowd import Crowd
from .report import Report
from .wire import Wire

HOPELESS = 3
"""Failed visits in a row, for each user, after which there is no service to drive."""

PULSE = 0.5
"""Seconds between two reports of progress."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """Who comes where: `users` at a time, until `visits` have been, or for `seconds`.

    Calls take turns on `spread` connections; if it is 0, each user stays on one.
    `run` tells processes apart: each has its own draws. With `policy` None, an experiment that is
    missing gets the policy that the service prefers.
    """

    url: str
    problem: Problem
    experiment: str = "drive"
    policy: Policy | None = None
    key: str | None = None
    users: int = 16
    visits: float = 1000.0
    seconds: float = float("inf")
    spread: int = 0
    seed: int = 0
    run: int = 0


def arm_names(problem: Problem) -> list[str]:
    """Names that tell the truth about the arms.

    >>> from sojourn import TwoState
    >>> arm_names(Problem([0.9, 0.8], TwoState(q00=1, q01=0, q10=0, q11=0)))
    ['arm 1 (mean 0.9)', 'arm 2 (mean 0.8)']
    """
    return [f"arm {i} (mean {mean:g})" for i, mean in enumerate(problem.means, 1)]


def drive(plan: Plan, progress: Progress | None = None) -> Report:
    """Play the plan in this process; Ctrl-C ends it with what was measured so far."""
    with runner() as loop:
        return loop.run(adrive(plan, progress))


async def adrive(plan: Plan, progress: Progress | None = None) -> Report:
    """`drive` for asyncio; when cancelled, it returns what was measured so far."""
    carrier = Metered(Wire(plan.url, plan.key, spread=plan.spread))
    async with AsyncClient(plan.url, carrier=carrier) as client:
        host = await entered(client, plan)
        carrier.reset()
        stand = Stand(plan, host)
        users = [asyncio.ensure_future(stand.user()) for _ in range(plan.users)]
        teller = asyncio.ensure_future(stand.tell(progress))
        try:
            await asyncio.gather(*users)
        except asyncio.CancelledError:
            stand.report.interrupted = True
        finally:
            for task in (teller, *users):
                task.cancel()
            await asyncio.gather(teller, *users, return_exceptions=True)
    return stand.measured(carrier)


async def entered(client: AsyncClient, plan: Plan) -> AsyncExperiment:
    """The experiment to drive, made if it is missing; ValueError if it is about something else."""
    arms, user = arm_names(plan.problem), plan.problem.user
    try:
        host = await client.experiment(plan.experiment)
    except NotFound:
        pass
    else:
        _check_same("arms", plan, set(host.arms) == set(arms))
        _check_same("states", plan, host.settings.user == live(user))
        if plan.policy is None:
            return host
    # New arms are introduced as the policy says, as they are in a simulation.
    anywhere = getattr(plan.policy, "introduce_in_any_state", False)
    return await client.experiment(
        plan.experiment, arms, plan.policy, user, introduce_in_any_state=anywhere
    )


def _check_same(what: str, plan: Plan, same: bool) -> None:
    if not same:
        raise ValueError(
            f"experiment {plan.experiment!r} has other {what} than this problem: "
            "choose another name with --experiment"
        )


class Metered:
    """A carrier that measures another one."""

    def __init__(self, carrier: Wire) -> None:
        self._carrier = carrier
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        self.latencies = array("d")
        self.answers: Counter[str] = Counter()

    async def send(self, call: Call) -> Answer:
        """The answer to a call, which is measured from here to there and back."""
        began = time.perf_counter()
        try:
            answer = await self._carrier.send(call)
        except Lost:
            self.answers["no answer"] += 1
            raise
        self.latencies.append(time.perf_counter() - began)
        self.answers[str(answer.status)] += 1
        return answer

    async def close(self) -> None:
        """Let go of the connections."""
        await self._carrier.close()


class Stand:
    """The users of one process, and what is seen of them."""

    def __init__(self, plan: Plan, host: AsyncExperiment) -> None:
        self.plan, self.host = plan, host
        self.crowd = Crowd(plan.problem, arm_names(plan.problem), plan.seed, plan.run)
        self.report = Report()
        self.began = time.monotonic()
        self._in_a_row = 0

    async def user(self) -> None:
        """One visit after the other."""
        plan, report = self.plan, self.report
        while self.crowd.begun < plan.visits and time.monotonic() - self.began < plan.seconds:
            try:
                stay = await self.crowd.visit(self.host)
            except Refused:
                raise
            except LiveError as error:
                report.failed[type(error).__name__] += 1
                self._in_a_row += 1
                if self._in_a_row > HOPELESS * plan.users:
                    raise Unavailable(f"{self._in_a_row} visits in a row failed: {error}") from None
            else:
                self._in_a_row = 0
                report.visits += 1
                report.reward += stay.reward
                report.reward2 += stay.reward**2

    async def tell(self, progress: Progress | None) -> None:
        """Say how far it is, every now and then."""
        while progress is not None:
            progress(self.report.visits, int(self.crowd.tally.pulled.sum()))
            await asyncio.sleep(PULSE)

    def measured(self, carrier: Metered) -> Report:
        """All of it."""
        tally, report = self.crowd.tally, self.report
        report.steps, report.regret = int(tally.pulled.sum()), self.crowd.regret
        report.pulls, report.seconds = tally.pulls, time.monotonic() - self.began
        report.latencies, report.answers = np.array(carrier.latencies), carrier.answers
        return report


def runner() -> asyncio.Runner:
    """An event loop, that of uvloop if it is there: a call costs a third less."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)

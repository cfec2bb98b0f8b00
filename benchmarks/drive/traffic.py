"""Simulated users against a running service: first traffic, and the load test."""

import asyncio
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sojourn.client import AccessDenied, AsyncClient, AsyncExperiment
from sojourn.client.caller import NoResponse, Request, Response, described_user
from sojourn.live import LiveError, NotFound, Unavailable
from sojourn.live.answers import OtherSettings
from sojourn.policies import Policy
from sojourn.policies.departures import GOOD
from sojourn.problem import Problem
from sojourn.service.demo import Crowd
from sojourn.validation import InputError

from .own import OwnCrowd
from .report import LoadReport
from .wire import Wire

GIVE_UP = 3  # failed visits in a row, per user, after which driving is given up
PULSE = 0.5  # seconds between two reports of progress
OnProgress = Callable[[int, int], None]  # is called with the visits and steps so far


@dataclass(frozen=True)
class Traffic:
    """Simulated users for one experiment: `users` at a time, for `visits` visits or `seconds`.

    Requests are spread over `spread` connections in turn; with 0, each user keeps one. `run`
    selects the draws, so that processes differ. With `policy` None, an experiment that does not
    exist gets the service's default policy. Arms have the names `arms`, or those that tell means.

    With an `own` policy, it decides wherever the service leaves that to the caller: in an external
    experiment, which is what is made if there is none, and in the external variants of another one.
    """

    url: str
    problem: Problem
    experiment: str = "drive"
    policy: Policy | None = None
    own: Policy | None = None
    arms: tuple[str, ...] = ()
    key: str | None = None
    users: int = 16
    visits: float = 1000.0
    seconds: float = float("inf")
    spread: int = 0
    seed: int = 0
    run: int = 0

    def __post_init__(self) -> None:
        if self.arms and len(set(self.arms)) != self.problem.arms:
            raise InputError(
                f"arms = {','.join(self.arms)} is not allowed: the problem has "
                f"{self.problem.arms} arms, each with a name of its own"
            )

    @property
    def names(self) -> list[str]:
        """Those of the arms."""
        return list(self.arms) or arm_names(self.problem)

    def crowd(self) -> Crowd:
        """The users, and the recommender of their own if there is one."""
        if self.own is not None:
            return OwnCrowd(self.own, self.problem, self.names, self.seed, self.run)
        return Crowd(self.problem, self.names, self.seed, self.run)


def arm_names(problem: Problem) -> list[str]:
    """Names that tell the means of the arms.

    >>> from sojourn import TwoState
    >>> arm_names(Problem([0.9, 0.8], TwoState(q00=1, q01=0, q10=0, q11=0)))
    ['arm 1 (mean 0.9)', 'arm 2 (mean 0.8)']
    """
    return [f"arm {i} (mean {mean:g})" for i, mean in enumerate(problem.means, 1)]


def drive(traffic: Traffic, progress: OnProgress | None = None) -> LoadReport:
    """Run the traffic in this process; Ctrl-C ends it with what was measured so far."""
    with runner() as loop:
        return loop.run(adrive(traffic, progress))


async def adrive(traffic: Traffic, progress: OnProgress | None = None) -> LoadReport:
    """`drive` for asyncio; when cancelled, it returns what was measured so far."""
    transport = Metered(Wire(traffic.url, traffic.key, spread=traffic.spread))
    async with AsyncClient(traffic.url, transport=transport) as client:
        host = await _host(client, traffic)
        transport.reset()
        driver = Driver(traffic, host)
        users = [asyncio.ensure_future(driver.user()) for _ in range(traffic.users)]
        reporter = asyncio.ensure_future(driver.report_progress(progress))
        try:
            await asyncio.gather(*users)
        except asyncio.CancelledError:
            driver.report.interrupted = True
        finally:
            for task in (reporter, *users):
                task.cancel()
            await asyncio.gather(reporter, *users, return_exceptions=True)
    return driver.measured(transport)


async def _host(client: AsyncClient, traffic: Traffic) -> AsyncExperiment:
    """The experiment, created if there is none; InputError if it is about another problem."""
    arms, user = traffic.names, traffic.problem.user
    try:
        host = await client.experiment(traffic.experiment)
    except NotFound:
        pass
    else:
        _check_same("arms", traffic, set(host.arms) == set(arms))
        known = host.settings.get("user")  # which is not told of an experiment with variants
        _check_same("states", traffic, known is None or known == described_user(user))
        if traffic.policy is None:
            return host
    # New arms are introduced as the policy says, as they are in a simulation.
    more: OtherSettings = {
        "introduce_in_any_state": getattr(traffic.policy, "introduce_in_any_state", False)
    }
    if traffic.own is not None:
        more["external"] = True
    if traffic.problem.graded:
        more["reward_threshold"] = user.space.cuts[0] if user.space.cuts else GOOD
    return await client.experiment(traffic.experiment, arms, traffic.policy, user, **more)


def _check_same(what: str, traffic: Traffic, same: bool) -> None:
    if not same:
        raise InputError(
            f"experiment {traffic.experiment!r} has other {what} than this problem: "
            "choose another name with --experiment"
        )


class Metered:
    """A transport that measures another one: latencies, and responses by status."""

    def __init__(self, transport: Wire) -> None:
        self._transport = transport
        self.reset()

    def reset(self) -> None:
        self.latencies = array("d")
        self.answers: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            response = await self._transport.send(request)
        except NoResponse:
            self.answers["no answer"] += 1
            raise
        self.latencies.append(time.perf_counter() - began)
        self.answers[str(response.status)] += 1
        return response

    async def close(self) -> None:
        await self._transport.close()


class Driver:
    """The users of one process, and what is measured of them."""

    def __init__(self, traffic: Traffic, host: AsyncExperiment) -> None:
        self.traffic, self.host = traffic, host
        self.crowd = traffic.crowd()
        self.report = LoadReport()
        self.began = time.monotonic()
        self._failed_in_a_row = 0

    async def user(self) -> None:
        report = self.report
        while self._wanted():
            try:
                stay = await self.crowd.visit(self.host)
            except AccessDenied:
                raise
            except LiveError as error:
                report.failed[type(error).__name__] += 1
                self._failed_in_a_row += 1
                if self._failed_in_a_row > GIVE_UP * self.traffic.users:
                    raise Unavailable(
                        f"{self._failed_in_a_row} visits in a row failed: {error}"
                    ) from None
            else:
                self._failed_in_a_row = 0
                report.visits += 1
                report.reward += stay.reward
                report.reward2 += stay.reward**2

    def _wanted(self) -> bool:
        enough = self.crowd.begun >= self.traffic.visits
        return not enough and time.monotonic() - self.began < self.traffic.seconds

    async def report_progress(self, progress: OnProgress | None) -> None:
        """Tell visits and steps so far, every `PULSE` seconds."""
        while progress is not None:
            progress(self.report.visits, int(self.crowd.tally.pulled.sum()))
            await asyncio.sleep(PULSE)

    def measured(self, transport: Metered) -> LoadReport:
        """The report, with what crowd and transport have counted."""
        tally, report = self.crowd.tally, self.report
        report.steps, report.regret = int(tally.pulled.sum()), float(tally.lost.sum())
        report.pulls, report.seconds = tally.pulls, time.monotonic() - self.began
        report.latencies, report.answers = np.array(transport.latencies), transport.answers
        return report


def runner() -> asyncio.Runner:
    """An event loop: that of uvloop if it is installed, which makes calls a third cheaper."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)

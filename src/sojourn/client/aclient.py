"""`AsyncClient`: the service from asyncio. See `client`."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from ..live import Decision
from ..policies import Policy
from ..users import User
from .asking import ExperimentCalls, Further, VisitCalls, given, opening_of
from .calls import RETRIES, TIMEOUT, Lost, Steps
from .carriers import Carrier


class AsyncClient:
    """`Client` for asyncio: `avisit`, `adecide`, `areward` and `aend`, as those of an experiment.

    >>> async def first(url: str) -> str:
    ...     async with AsyncClient(url) as client:
    ...         shorts = await client.experiment("shorts")
    ...         visit = await shorts.avisit(user="u42")
    ...         return (await visit.adecide()).arm

    `carrier` is how calls travel, by httpx unless said otherwise.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        carrier: Carrier | None = None,
    ) -> None:
        self._retries = retries
        self._carrier = carrier or _over_httpx(url, key, timeout)

    async def experiment(
        self,
        name: str,
        arms: Sequence[str] = (),
        policy: Policy | None = None,
        user: User | None = None,
        **settings: Unpack[Further],
    ) -> "AsyncExperiment":
        """See `Client.experiment`."""
        found = AsyncExperiment(name, self._retries)
        found._client = self
        await self._run(found._entering(arms, given(policy, user, settings)))
        return found

    async def _run(self, steps: Steps) -> Any:
        try:
            wanted = next(steps)
            while True:
                if isinstance(wanted, float):
                    await asyncio.sleep(wanted)
                    wanted = next(steps)
                    continue
                try:
                    answer = await self._carrier.send(wanted)
                except Lost as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(answer)
        except StopIteration as done:
            return done.value

    async def close(self) -> None:
        """Let go of the connections."""
        await self._carrier.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class AsyncExperiment(ExperimentCalls):
    """`Experiment` for asyncio."""

    _client: AsyncClient

    async def avisit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> "AsyncVisit":
        """See `Experiment.visit`."""
        return AsyncVisit(self, id, opening_of(user, state))

    def get(self, id: str) -> "AsyncVisit":
        """See `Experiment.get`."""
        return AsyncVisit(self, id)

    async def add_arm(self, name: str) -> None:
        """See `Experiment.add_arm`."""
        await self._client._run(self._adding(name))

    async def retire_arm(self, name: str) -> None:
        """See `Experiment.retire_arm`."""
        await self._client._run(self._retiring(name))

    async def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """See `Experiment.warm_start`."""
        await self._client._run(self._warming(prior))


class AsyncVisit(VisitCalls):
    """`Visit` for asyncio."""

    _experiment: AsyncExperiment

    async def adecide(
        self, reward: float | None = None, *, request: str | None = None, step: int | None = None
    ) -> Decision:
        """See `Visit.decide`."""
        steps = self._deciding(reward, request, step)
        decision: Decision = await self._experiment._client._run(steps)
        return decision

    async def areward(self, value: float, *, step: int | None = None) -> str:
        """See `Visit.reward`."""
        outcome: str = await self._experiment._client._run(self._rewarding(value, step))
        return outcome

    async def aend(self, reward: float | None = None) -> bool:
        """See `Visit.end`."""
        ended: bool = await self._experiment._client._run(self._ending(reward))
        return ended


def _over_httpx(url: str, key: str | None, timeout: float) -> Carrier:
    from .over_httpx import AsyncHttpx  # other carriers do not need it

    return AsyncHttpx(url, key, timeout)

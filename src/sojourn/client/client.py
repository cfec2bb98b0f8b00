"""`Client`: the service from threads. Each call runs its twin of `async_client` to the end."""

import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..live.answers import Ask, Logged, OtherSettings
from ..live.names import Id
from .async_client import AsyncExperiment, AsyncVisit
from .caller import RETRIES, TIMEOUT, Caller, blocking, finish

if TYPE_CHECKING:
    from ..policies import Policy
    from ..users import User


class Client:
    """A service at `url`; `key` is an API key, if the service asks for one.

    A request without a response within `timeout` seconds, or answered with "try later", is retried
    up to `retries` times with growing pauses. No retry counts anything twice.

    With `fallback`, in seconds, the calls of a visit take about that long at most and do not fail
    because the service is away: the best arm of the last ranking known is shown, and the decision
    says so (`Decision.fallback`). It is not learned from.

    >>> def first_two(url: str) -> list[str]:
    ...     with Client(url) as client:
    ...         shorts = client.experiment("shorts", arms=["dance", "cooking", "news"])
    ...         visit = shorts.visit(user="u42")
    ...         return [visit.choose(), visit.choose(1)]

    Errors are `Busy`, `Unavailable`, `Conflict`, `Ended`, `NotFound` and `AccessDenied`, all of
    them a `LiveError`, and InputError for arguments that are not allowed.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        fallback: float | None = None,
    ) -> None:
        from .httpx_transport import Httpx  # the rest of the package works without httpx

        transport = Httpx(url, key, timeout, blocking=True)
        self._caller = Caller(transport, retries, _sleep, fallback, _in_a_thread)

    def experiment(
        self,
        name: str,
        arms: Sequence[Id] = (),
        policy: "Policy | Mapping[str, Any] | str | None" = None,
        user: "User | Mapping[str, Any] | str | None" = None,
        *,
        ranking: Sequence[str] = (),
        **settings: Unpack[OtherSettings],
    ) -> "Experiment":
        """The experiment of this name, created or updated if arms or settings are given.

        They are those of `sojourn.Experiment`; policy and user may also be names or plain data as
        in the HTTP API. With the name alone: `NotFound` if there is no such experiment. With its
        name and a `ranking` of arms, best first, a client with a fallback can begin while the
        service is away.
        """
        found = AsyncExperiment(name, self._caller)
        finish(found._enter(arms, policy, user, settings, ranking))
        return Experiment(found)

    def close(self) -> None:
        finish(self._caller.transport.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Experiment:
    """An experiment of the service: the same concept and calls as `sojourn.Experiment`."""

    def __init__(self, twin: AsyncExperiment) -> None:
        self._twin = twin

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"

    @property
    def name(self) -> str:
        return self._twin.name

    @property
    def arms(self) -> tuple[str, ...]:
        """The active arms, as of the last answer that had them."""
        return self._twin.arms

    @property
    def ranking(self) -> tuple[str, ...]:
        """The active arms, best first, as of the last answer that had them."""
        return self._twin.ranking

    @property
    def settings(self) -> dict[str, Any]:
        """Policy, user and other settings as plain data, as of the last answer that had them."""
        return self._twin.settings

    def visit(
        self, user: Id | None = None, id: str | None = None, state: float | None = None
    ) -> "Visit":
        """A visit, opened with its first decision; a known `id` continues that visit."""
        return Visit(finish(self._twin.avisit(user, id, state)))

    def get(self, id: str) -> "Visit":
        """A visit that was opened before; if it was not, a call on it raises `NotFound`."""
        return Visit(self._twin.get(id))

    add_arms = blocking("Experiment.add_arms", AsyncExperiment.add_arms)
    retire_arms = blocking("Experiment.retire_arms", AsyncExperiment.retire_arms)
    warm_start = blocking("Experiment.warm_start", AsyncExperiment.warm_start)


class Visit:
    """One visit, with the calls of `sojourn.live.Visit`, which return when they are durable."""

    def __init__(self, twin: AsyncVisit) -> None:
        self._twin = twin

    def __repr__(self) -> str:
        return repr(self._twin).removeprefix("Async")

    @property
    def id(self) -> str:
        return self._twin.id

    def choose(self, reward: float | None = None, *, logged: Logged | Id | None = None) -> str:
        """The arm to show next, after the reward of the pending step, in one round trip."""
        return self.decide(Ask(reward=reward, logged=Logged.of(logged))).arm

    decide = blocking("Visit.decide", AsyncVisit.adecide)
    reward = blocking("Visit.reward", AsyncVisit.areward)
    end = blocking("Visit.end", AsyncVisit.aend)


async def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _in_a_thread(background: Coroutine[Any, Any, None]) -> None:
    threading.Thread(target=finish, args=(background,), daemon=True).start()

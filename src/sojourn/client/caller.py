"""How a call is made: requests, responses and their errors, retries, and answers without a service.

Everything is written once, as coroutines. The blocking client runs them on a transport that blocks
instead of awaiting, so that they finish in one go (`finish`).
"""

import json
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from math import inf
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

from .. import validation
from ..live.answers import is_policy, policy_data
from ..live.errors import Busy, Conflict, Ended, LiveError, NotFound, Unavailable
from ..validation import InputError

T = TypeVar("T")
P = ParamSpec("P")

RETRIES, TIMEOUT = 6, 10.0
FIRST_PAUSE, LONGEST_PAUSE, SHORTEST_TIMEOUT = 0.05, 10.0, 0.01
RETRY_STATUSES = {429, 502, 503, 504}  # the service, or a proxy before it, asks to try again later
AWAY_PAUSE = 5.0  # seconds without calls after one that failed
REFRESH = 60.0  # seconds after which a ranking is asked for again


class AccessDenied(LiveError):
    """The API key is missing, unknown, or not valid for this experiment."""


class NoResponse(Exception):
    """No response arrived: whether the request was processed is unknown. Raised by transports."""


ERRORS: dict[int, type[Exception]] = {
    401: AccessDenied, 403: AccessDenied, 404: NotFound, 409: Conflict, 410: Ended,
    413: InputError, 422: InputError, 429: Busy,
}  # fmt: skip


class Request(NamedTuple):
    """One HTTP request; the body is JSON. `limit` is in seconds, as are all timeouts."""

    method: str
    path: str
    body: bytes = b""
    limit: float = inf

    @classmethod
    def of(cls, method: str, *path: str, **body: Any) -> "Request":
        """A request below /v1; values of the body that are None are left out."""
        given = {name: value for name, value in body.items() if value is not None}
        text = b"" if method == "GET" else json.dumps(given, separators=(",", ":")).encode()
        return cls(method, "/v1/" + "/".join(quote(part, safe="") for part in path), text)

    def timeout(self, usual: float) -> float:
        return min(self.limit, usual)


class Response(NamedTuple):
    """Status and body; `retry_after` is in seconds."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def result(self) -> Any:
        """The decoded body; raises the error that the status stands for."""
        if self.status >= 300:
            raise self.error
        try:
            return json.loads(self.body)
        except ValueError:
            raise Unavailable("the answer is not JSON: is this the address of a service?") from None

    @property
    def error(self) -> Exception:
        """The error that the status stands for, in the words of the service."""
        try:
            body = json.loads(self.body)
        except ValueError:
            body = {}
        body = body if isinstance(body, Mapping) else {}
        kind = Busy if body.get("error") == "busy" else ERRORS.get(self.status, Unavailable)
        return kind(str(body.get("detail") or f"the service answered with status {self.status}"))


def bad_url(url: str) -> InputError:
    """The error for an address that is not HTTP."""
    return InputError(f"url = {url!r} is not allowed: it must begin with http:// or https://")


def headers(key: str | None) -> dict[str, str]:
    """The headers of every request."""
    json_only = {"content-type": "application/json", "accept": "application/json"}
    return json_only if key is None else {**json_only, "authorization": f"Bearer {key}"}


def retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header; dates are ignored."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


def described_policy(policy: Any) -> dict[str, Any]:
    """A policy as the service takes it: from a policy of the package, its name, or plain data."""
    if isinstance(policy, str | Mapping):
        return {"name": policy} if isinstance(policy, str) else dict(policy)
    if not is_policy(policy):
        raise InputError(f"policy = {policy!r} is not allowed: give a policy, its name, or a dict")
    return policy_data(policy)


def described_user(user: Any) -> dict[str, Any]:
    """A user model as the service takes it: from a model of the package, a name, or plain data."""
    if isinstance(user, str | Mapping):
        return {"model": user} if isinstance(user, str) else dict(user)
    from ..live.states import describe, live  # loaded already by making the user model

    return describe(live(user)[0])


class Transport(Protocol):
    """Sends requests to one service; raises `NoResponse` if no response arrives."""

    async def send(self, request: Request) -> Response: ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Caller:
    """Calls a service, with up to `retries` retries and growing pauses between them.

    Every call may be repeated: a decision has a request id and a step number, and all other calls
    are idempotent by nature. `fallback` is how long a visit's call may take, None if there is no
    fallback; `spawn` runs a coroutine in the background.
    """

    transport: Transport
    retries: int
    sleep: Callable[[float], Awaitable[None]]
    fallback: float | None = None
    spawn: Callable[[Coroutine[Any, Any, None]], None] = lambda background: background.close()

    def __post_init__(self) -> None:
        if self.fallback is not None:
            validation.number("fallback", self.fallback, 0, inf, open_ends=True)

    async def call(self, request: Request, patience: float = inf) -> Any:
        """The decoded answer; no attempt begins when `patience` seconds are over."""
        deadline = time.monotonic() + patience
        for attempt in range(self.retries + 1):
            wait = 0.0
            error: Exception
            try:
                left = max(deadline - time.monotonic(), SHORTEST_TIMEOUT)
                response = await self.transport.send(request._replace(limit=left))
            except NoResponse as lost:
                tries = f"tried {attempt + 1} times"
                error = Unavailable(f"no answer from the service ({lost}), {tries}")
                error.__cause__ = lost
            else:
                if response.status not in RETRY_STATUSES:
                    return response.result
                error, wait = response.error, response.retry_after or 0.0
            wait = pause(attempt, wait)
            if attempt == self.retries or time.monotonic() + wait >= deadline:
                break
            await self.sleep(wait)
        raise error


def pause(attempt: int, wait: float = 0.0) -> float:
    """Seconds before the next attempt: exponential backoff with jitter after the wait asked for."""
    backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt)
    return min(wait, LONGEST_PAUSE) + backoff * random.uniform(0.5, 1.0)


class Away(Unavailable):
    """The service is away, and there is a ranking to answer from."""


class Standby:
    """The ranking of one experiment, best arm first, and whether its service was away just now."""

    def __init__(self) -> None:
        self.ranking: tuple[str, ...] = ()
        self._asked, self._away_until = time.monotonic(), 0.0

    def tell(self, ranking: Iterable[str]) -> None:
        self.ranking, self._asked = tuple(ranking), time.monotonic()

    def stale(self) -> bool:
        """Whether to ask for the ranking again; once True, not before the next `REFRESH`."""
        now = time.monotonic()
        if now - self._asked < REFRESH:
            return False
        self._asked = now
        return True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A circuit breaker around a call: `Away` if it fails, and at once if one has just failed.

        After the pause one call tries; the others continue without waiting for its result.
        """
        now = time.monotonic()
        if now < self._away_until:
            raise Away("the service did not answer a moment ago")
        if self._away_until:
            self._away_until = now + AWAY_PAUSE
        try:
            yield
        except (Unavailable, Busy) as error:
            self._away_until = time.monotonic() + AWAY_PAUSE * random.uniform(0.5, 1.0)
            raise Away(str(error)) from error
        except Exception:
            self._away_until = 0.0  # it has answered
            raise
        self._away_until = 0.0


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends, because its transport blocks."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("a call of the blocking client has awaited something")


def blocking(
    name: str, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]
) -> Callable[Concatenate[Any, P], T]:
    """A method of the asyncio client under its name in the blocking one, which has the `_twin`."""

    @wraps(method)
    def call(own: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return finish(method(own._twin, *args, **kwargs))

    call.__qualname__, call.__name__ = name, name.rpartition(".")[2]  # for help()
    return call

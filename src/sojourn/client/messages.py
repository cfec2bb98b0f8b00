"""Requests to the service and their plain data, its responses, and the errors they stand for."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple
from urllib.parse import quote

from ..live.answers import is_policy, policy_data
from ..live.errors import Busy, Conflict, Ended, LiveError, NotFound, Unavailable
from ..validation import InputError

COMPILE_TIMEOUT = 180.0
"""Seconds to wait for a response if the service may have to compile a policy first."""


class AccessDenied(LiveError):
    """The API key is missing, unknown, or not valid for this experiment."""


class NoResponse(Exception):
    """No response came: whether the request was processed is unknown. Raised by transports."""


ERRORS: dict[int, type[Exception]] = {
    401: AccessDenied, 403: AccessDenied, 404: NotFound, 409: Conflict, 410: Ended,
    413: InputError, 422: InputError, 429: Busy,
}  # fmt: skip


class Request(NamedTuple):
    """One HTTP request; the body is JSON. `limit` is in seconds, as are all timeouts."""

    method: str
    path: str
    body: bytes = b""
    compiles: bool = False
    limit: float = inf

    @classmethod
    def of(cls, method: str, *path: str, **body: Any) -> "Request":
        """A request below /v1; values of the body that are None are left out.

        >>> Request.of("PUT", "experiments", "a/b", user="u42", state=None)[:3]
        ('PUT', '/v1/experiments/a%2Fb', b'{"user":"u42"}')
        """
        given = {name: value for name, value in body.items() if value is not None}
        text = b"" if method == "GET" else json.dumps(given, separators=(",", ":")).encode()
        return cls(method, "/v1/" + "/".join(quote(part, safe="") for part in path), text)

    def timeout(self, usual: float) -> float:
        return min(self.limit, max(usual, COMPILE_TIMEOUT) if self.compiles else usual)


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
        """The error that the status stands for, in the words of the service.

        >>> Response(410, b'{"error": "ended", "detail": "visit v1 is over"}').error
        Ended('visit v1 is over')
        """
        try:
            body = json.loads(self.body)
        except ValueError:
            body = {}
        body = body if isinstance(body, Mapping) else {}
        kind = Busy if body.get("error") == "busy" else ERRORS.get(self.status, Unavailable)
        return kind(str(body.get("detail") or f"the service answered with status {self.status}"))


def bad_url(url: str) -> InputError:
    """What to raise for an address that is not of HTTP."""
    return InputError(f"url = {url!r} is not allowed: it must begin with http:// or https://")


def headers(key: str | None) -> dict[str, str]:
    """The headers of every request."""
    json_only = {"content-type": "application/json", "accept": "application/json"}
    return json_only if key is None else {**json_only, "authorization": f"Bearer {key}"}


def retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header; dates are ignored.

    >>> retry_after("2"), retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), retry_after(None)
    (2.0, None, None)
    """
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


def described_policy(policy: Any) -> dict[str, Any]:
    """What the service takes for a policy: a value with name and parameters, a name, or plain data.

    >>> described_policy("KLULCB"), described_policy({"name": "UCB", "parameters": {"c": 4}})
    ({'name': 'KLULCB'}, {'name': 'UCB', 'parameters': {'c': 4}})
    """
    if isinstance(policy, str):
        return {"name": policy}
    if isinstance(policy, Mapping):
        return dict(policy)
    if not is_policy(policy):
        raise InputError(f"policy = {policy!r} is not allowed: give a policy, its name, or a dict")
    return policy_data(policy)


def described_user(user: Any) -> dict[str, Any]:
    """What the service takes for a user model: a model of the package, a name, or plain data.

    >>> described_user("last-reward"), described_user({"model": "moving-average", "theta": 0.5})
    ({'model': 'last-reward'}, {'model': 'moving-average', 'theta': 0.5})
    """
    if isinstance(user, str):
        return {"model": user}
    if isinstance(user, Mapping):
        return dict(user)
    from ..live.states import describe, live  # loaded already by making the user model

    return describe(live(user)[0])

"""What a client asks of the service and how it insists, whatever carries the calls.

Operations are generators: they yield a `Call` and are sent its `Answer`, or yield the seconds to
wait. A carrier raises `Lost` where no answer came. All calls may be repeated: a decision has a
request id and a step of its own, made before the first try, and the rest say what is to be.
"""

import json
import random
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from ..live import Busy, Conflict, Ended, LiveError, NotFound, Unavailable

RETRIES, TIMEOUT, COMPILING = 6, 10.0, 180.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 10.0
AGAIN = {429, 502, 503, 504}
"""Not now: the service, or what stands before it, asks to try later."""


class Refused(LiveError):
    """The key is missing, unknown, or not for this experiment."""


class Lost(Exception):
    """No answer came: whether the call was heard is not known."""


ERRORS: dict[int, type[Exception]] = {
    401: Refused,
    403: Refused,
    404: NotFound,
    409: Conflict,
    410: Ended,
    413: ValueError,
    422: ValueError,
    429: Busy,
}


class Call(NamedTuple):
    """One request; the body is JSON. A slow one may have a policy compiled."""

    method: str
    path: str
    body: bytes = b""
    slow: bool = False

    def within(self, timeout: float) -> float:
        """Seconds to wait for the answer, if `timeout` is enough for most."""
        return max(timeout, COMPILING) if self.slow else timeout


class Answer(NamedTuple):
    """What came back; `wait` is its Retry-After in seconds."""

    status: int
    body: bytes
    wait: float | None = None


Steps = Generator[Call | float, Any, Any]


def call(method: str, *path: str, **body: Any) -> Call:
    """A call below /v1; values of the body that are None are left out.

    >>> call("PUT", "experiments", "a/b", "visits", "v1", user="u42", state=None)
    Call(method='PUT', path='/v1/experiments/a%2Fb/visits/v1', body=b'{"user":"u42"}', slow=False)
    """
    given = {name: value for name, value in body.items() if value is not None}
    text = b"" if method == "GET" else json.dumps(given, separators=(",", ":")).encode()
    return Call(method, "/v1/" + "/".join(quote(part, safe="") for part in path), text)


def insisting(wanted: Call, retries: int = RETRIES) -> Steps:
    """The decoded answer to a call, which is tried again while that may help.

    >>> steps = insisting(call("GET", "experiments"))
    >>> _ = next(steps)
    >>> pause = steps.send(Answer(503, b"", wait=1.0))
    >>> _ = next(steps)
    >>> try:
    ...     steps.send(Answer(200, b'{"experiments": []}'))
    ... except StopIteration as done:
    ...     pause >= 1.0, done.value
    (True, {'experiments': []})
    """
    for tried in range(retries + 1):
        wait = 0.0
        error: Exception
        try:
            answer: Answer = yield wanted
        except Lost as lost:
            error = Unavailable(f"no answer from the service ({lost}), tried {tried + 1} times")
            error.__cause__ = lost
        else:
            if answer.status not in AGAIN:
                return decoded(answer)
            error, wait = error_of(answer), answer.wait or 0.0
        if tried == retries:
            raise error
        yield pause(tried, wait)


def pause(tried: int, wait: float = 0.0) -> float:
    """Seconds before the next try: twice as long each time, never all at once, as asked for."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**tried)
    return min(wait, LONGEST_PAUSE) + longest * random.uniform(0.5, 1.0)


def decoded(answer: Answer) -> Any:
    """The body of an answer, or its error raised."""
    if answer.status >= 300:
        raise error_of(answer)
    try:
        return json.loads(answer.body)
    except ValueError:
        raise Unavailable("the answer is not JSON: is this the address of a service?") from None


def error_of(answer: Answer) -> Exception:
    """The error that an answer stands for, with the service's own sentence.

    >>> error_of(Answer(410, b'{"error": "ended", "detail": "visit v1 is over"}'))
    Ended('visit v1 is over')
    """
    try:
        said = json.loads(answer.body)
    except ValueError:
        said = {}
    said = said if isinstance(said, Mapping) else {}
    kind = ERRORS.get(answer.status, Unavailable)
    if said.get("error") == "busy":
        kind = Busy
    return kind(str(said.get("detail") or f"the service answered with status {answer.status}"))

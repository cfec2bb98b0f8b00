"""A request: its method, path, headers and body, and how many a caller may send.

The path is parsed once, here, from the bytes that were sent. The words between its slashes decide
who may call, which call it is, and what FastAPI routes, so that no two of these can differ.
"""

import re
import time
from collections.abc import Callable
from math import ceil
from typing import Any
from urllib.parse import quote, unquote

from ..live.names import DOTS
from ..validation import InputError
from . import fast_routes
from .auth.keys import Key
from .errors import Refusal

GIVEN_ID = re.compile(rb"[\w.:-]{1,100}")
JSON = (b"content-type", b"application/json")
MOST_CALLERS = 10_000
ORIGIN = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)  # before the path, in requests to proxies


class RequestInfo:
    """A request, its key once that is known, and the status of its answer.

    In its scope, HEAD is GET; what is sent then ends after the headers.
    """

    __slots__ = (
        "caller", "fast", "headers", "id", "key", "method", "path", "route", "scope", "status",
        "words", "wrong",
    )  # fmt: skip

    def __init__(self, scope: Any, made_id: str) -> None:
        self.method = scope["method"]
        self.scope = {**scope, "method": "GET"} if self.method == "HEAD" else scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id")
        good = given is not None and GIVEN_ID.fullmatch(given)
        self.id = given.decode("latin-1") if good and given else made_id
        self.wrong = ""  # what is wrong with the path, if something is
        try:
            self.words = split_path(scope.get("raw_path") or quote(scope["path"]).encode())
        except InputError as error:
            self.wrong, self.words = str(error), ["", ""]
        self.path = self.scope["path"] = fast_routes.join(self.words)
        self.key: Key | None = None
        self.caller = ""
        self.status = 0
        self.fast = fast_routes.find(self.method, self.words)
        self.route = None if self.fast is None else self.fast.path

    @property
    def id_header(self) -> tuple[bytes, bytes]:
        return b"x-request-id", self.id.encode("latin-1")

    @property
    def label(self) -> str:
        """The template of the path, for metrics and the log."""
        return self.route or "other"

    @property
    def is_json(self) -> bool:
        """Whether the content type is JSON, for which browsers send a preflight request first."""
        kind = self.headers.get(b"content-type", b"")
        return kind == JSON[1] or kind.partition(b";")[0].strip().lower() == JSON[1]

    @property
    def experiment(self) -> str | None:
        words = self.words
        if len(words) > 3 and words[1] == "v1" and words[2] == "experiments":
            return words[3]
        if len(words) > 2 and words[1] in ("events", "experiments"):
            return words[2]
        return None


def split_path(raw: bytes) -> list[str]:
    """The words between the slashes of a path as it was sent; a slash within one is %2F."""
    if not raw.startswith(b"/"):
        raw = ORIGIN.sub(b"", raw, count=1) or b"/"
    text = raw.decode("latin-1")
    words = text.split("/")
    if "%" in text:
        try:
            words = [unquote(word, errors="strict") for word in words]
        except UnicodeDecodeError:
            raise _not_allowed(text, "it must be UTF-8") from None
    if words[0] or not text.isascii() or not "".join(words).isprintable():
        allowed = "it must begin with a slash, and names are 1 to 200 printable characters"
        raise _not_allowed(text, allowed)
    if not DOTS.isdisjoint(words):
        raise _not_allowed(text, ". and .. are not names")
    return words


def _not_allowed(text: str, why: str) -> InputError:
    shown = text[:60].encode("unicode_escape").decode("ascii")
    return InputError(f"the path {shown} is not allowed: {why}")


class Buckets:
    """A token bucket for each caller: refilled at `rate` a second, up to `burst`."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> float:
        """Take a token; 0, or the seconds until there is one."""
        now = self.clock()
        level, then = self._levels.get(caller, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        if level < 1.0:
            return (1.0 - level) / self.rate
        if len(self._levels) >= MOST_CALLERS and caller not in self._levels:
            self._forget(now)
        self._levels[caller] = level - 1.0, now
        return 0.0

    def charge(self, caller: str, tokens: float) -> None:
        """Take more tokens for a call that was admitted; the level may become negative."""
        level, then = self._levels.get(caller, (self.burst, self.clock()))
        self._levels[caller] = level - tokens, then

    def check(self, caller: str) -> None:
        wait = self.take(caller)
        if wait > 0.0:
            detail = f"more than {self.rate:g} calls per second: try again in a moment"
            raise Refusal(429, detail, retry_after=ceil(wait))

    def _forget(self, now: float) -> None:
        """Drop callers whose bucket is full again; if none is, drop all."""
        full = self.burst / self.rate
        self._levels = {c: (n, t) for c, (n, t) in self._levels.items() if now - t < full}
        if len(self._levels) >= MOST_CALLERS:
            self._levels.clear()


def too_large(most: int) -> Refusal:
    """The refusal of a long body; the connection is closed rather than read to the end."""
    return Refusal(413, f"the body is longer than {most} bytes", connection="close")


async def read_body(receive: Callable[[], Any], most: int) -> bytes:
    """The whole body, if it is not too long."""
    parts: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the caller has disconnected")
        part: bytes = message.get("body", b"")
        length += len(part)
        if length > most:
            raise too_large(most)
        if not message.get("more_body"):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)

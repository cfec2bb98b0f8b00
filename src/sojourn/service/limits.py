"""Limits for callers: requests a second, and bytes of a body."""

import time
from collections.abc import Callable
from math import ceil
from typing import Any

from .errors import Refusal

MOST_CALLERS = 10_000


class Buckets:
    """A token bucket for each caller: refilled at `rate` a second, up to `burst`.

    >>> clock = iter([0.0, 0.0, 0.0, 0.5]).__next__
    >>> buckets = Buckets(rate=2, burst=2, clock=clock)
    >>> [buckets.take("ann") for _ in range(4)]  # the third is refused, half a second helps
    [0.0, 0.0, 0.5, 0.0]
    """

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
        """Take a token, or refuse the call."""
        wait = self.take(caller)
        if wait > 0.0:
            detail = f"more than {self.rate:g} calls a second: try again in a moment"
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

"""Time that neither jumps nor runs backwards while a process lives."""

import time

AHEAD = 3600.0
"""Seconds that what is stored may be ahead of the wall clock and still be believed."""


class Steady:
    """Seconds since 1970 by the wall clock at the start, then by a clock that cannot be set.

    It begins no earlier than `latest`, the last time that was stored, so that a wall clock that was
    set back between two starts does not make time run backwards. If that is more than an hour ahead
    of the wall clock, the clock was wrong then, and is believed now: `jumped`.

    >>> import time
    >>> later = time.time() + 60
    >>> Steady(later)() >= later, Steady(later + 86_400)() >= later
    (True, False)
    """

    def __init__(self, latest: float = 0.0) -> None:
        now = time.time()
        self.jumped = latest > now + AHEAD
        self._offset = (now if self.jumped else max(now, latest)) - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()

"""Time that neither jumps nor runs backwards while a process lives."""

import time


class Steady:
    """Seconds since 1970 by the wall clock at the start, then by a clock that cannot be set.

    It begins no earlier than `after`, so that a wall clock that was set back between two starts
    does not make time run backwards. A jump ahead between two starts cannot be told from a pause.

    >>> Steady(after=4e9)() >= 4e9
    True
    """

    def __init__(self, after: float = 0.0) -> None:
        self._offset = max(time.time(), after) - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()

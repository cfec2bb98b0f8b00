"""What stands in for a service that is away: the last ranking of the arms that it told."""

import random
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..live.errors import Busy, Unavailable

PAUSE = 5.0  # seconds without calls after one that failed
REFRESH = 60.0  # seconds after which a ranking is asked for again


class Away(Unavailable):
    """The service is away, and there is a ranking to answer from."""


class Standby:
    """The ranking of one experiment, best arm first, and whether its service was away just now."""

    def __init__(self) -> None:
        self.ranking: tuple[str, ...] = ()
        self._asked, self._away_until = time.monotonic(), 0.0

    def tell(self, ranking: Iterable[str]) -> None:
        """What the service says now."""
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

        After the pause one call tries; the others go on without waiting for what becomes of it.
        """
        now = time.monotonic()
        if now < self._away_until:
            raise Away("the service did not answer a moment ago")
        if self._away_until:
            self._away_until = now + PAUSE
        try:
            yield
        except (Unavailable, Busy) as error:
            self._away_until = time.monotonic() + PAUSE * random.uniform(0.5, 1.0)
            raise Away(str(error)) from error
        except Exception:
            self._away_until = 0.0  # it has answered
            raise
        self._away_until = 0.0

"""What stands in for a service that is away: the last ranking of the arms that it told."""

import random
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import Any

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

    def tell(self, arms: Iterable[Mapping[str, Any]]) -> None:
        """The arms as the service describes them."""
        self.ranking, self._asked = ranked(arms), time.monotonic()

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


def ranked(arms: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The active arms by a lower bound of their means, 1 / sqrt(pulls) below; untried ones last.

    Everybody gets the first arm while the service is away, so one lucky pull must not make it.

    >>> ranked([{"name": "a", "pulls": 1, "mean": 1.0, "retired": False},
    ...         {"name": "b", "pulls": 900, "mean": 0.5, "retired": False}])
    ('b', 'a')
    """
    active = [arm for arm in arms if not arm["retired"]]
    return tuple(arm["name"] for arm in sorted(active, key=_lower_bound, reverse=True))


def _lower_bound(arm: Mapping[str, Any]) -> float:
    return float(arm["mean"] - arm["pulls"] ** -0.5) if arm["pulls"] else -inf

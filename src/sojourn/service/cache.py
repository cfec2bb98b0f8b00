"""What many ask for at the same time is read from the store once for all of them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ..live import Journal
from ..live.lanes import late

T = TypeVar("T")


class Cache(Generic[T]):
    """What was read, by key.

    An answer is at most `fresh` seconds older than the question. With 0 it is never older: those
    who ask while one reads share the next read.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, T]] = {}
        self._locks: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(
        self, journal: Journal, key: Hashable, read: Callable[[], T], fresh: float = 0.0
    ) -> T:
        """What `read` returns, or has just returned to others; within the deadline."""
        asked = time.monotonic()
        try:
            async with asyncio.timeout(journal.deadline), self._locks[key]:
                kept = self._kept.get(key)
                if kept is None or kept[0] < asked - fresh:
                    began = time.monotonic()
                    kept = self._kept[key] = began, await journal.show(read)
                return kept[1]
        except TimeoutError:
            raise late() from None

"""What all routes share: lookups and cached reads."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from ...live import Conflict, Experiment
from ...live.executors import late
from .. import bodies
from ..catalog import Catalog
from ..fast_routes import EXPERIMENT as EXPERIMENT, SLASH, Call as Call

T = TypeVar("T")


def catalog_of(request: Request) -> Catalog:
    """The experiments that this process serves."""
    catalog: Catalog = request.app.state.catalog
    return catalog


Named = Annotated[bodies.Name, Path(), BeforeValidator(lambda text: text.replace(SLASH, "/"))]
"""A name in the path."""


async def _any(request: Request, experiment: Named) -> Experiment:
    return await catalog_of(request).experiment(experiment)


async def _one(request: Request, experiment: Named) -> Experiment:
    found = await _any(request, experiment)
    if found.allocation is not None:
        each = ", ".join(branch.name for branch in found.variants.values())
        raise Conflict(f"experiment {experiment!r} has variants: use one of {each}")
    return found


async def _divided(request: Request, experiment: Named) -> Experiment:
    found = await _any(request, experiment)
    if found.allocation is None:
        raise Conflict(f"experiment {experiment!r} has no variants")
    return found


Served = Annotated[Experiment, Depends(_one)]
Divided = Annotated[Experiment, Depends(_divided)]
Visited = Annotated[Experiment, Depends(_any)]
"""The experiment of the path: without variants, with variants, either."""


LONG_FRESH = 30.0  # seconds for which a report is reused that reads 100,000 events


class Cache:
    """Cached reads of experiments.

    An answer is at most `fresh` seconds older than the request. With 0 it is never older: requests
    that come during a read share the next one.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, Any]] = {}
        self._locks: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(
        self, experiment: Experiment, what: Hashable, read: Callable[[], T], fresh: float = 0.0
    ) -> T:
        """The result of `read`, perhaps shared with other callers; within the deadline."""
        asked, key, journal = time.monotonic(), (what, experiment.name), experiment.journal
        try:
            async with asyncio.timeout(journal.deadline), self._locks[key]:
                kept = self._kept.get(key)
                if kept is None or kept[0] < asked - fresh:
                    kept = time.monotonic(), await journal.show(read)
                    self._kept[key] = kept
                found: T = kept[1]
                return found
        except TimeoutError:
            raise late() from None


async def cached(
    request: Request, experiment: Experiment, read: Callable[[], T], fresh: float = 0.0
) -> T:
    """The result of `read`, or its last one for this route and experiment, if it is `fresh`."""
    cache: Cache = request.app.state.cache
    return await cache.get(experiment, request.scope["endpoint"], read, fresh)

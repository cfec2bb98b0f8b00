"""What all routes share: how they are declared, what they find, and what they keep."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from fastapi import Depends, FastAPI, Path, Request
from pydantic import BeforeValidator

from ...live import Experiment, Journal
from ...live.executors import late
from .. import bodies
from ..auth.keys import OPERATING, Roles
from ..catalog import Catalog
from ..errors import documented
from ..fast_routes import EXPERIMENT as EXPERIMENT, SLASH

T = TypeVar("T")


class Call(NamedTuple):
    """A route: its method and path, what it does, and what it answers.

    `roles` are the roles of keys that may take it, `statuses` the further ones that it may answer.
    """

    method: str
    path: str
    endpoint: Callable[..., Any]
    answer: Any
    roles: Roles = OPERATING
    statuses: tuple[int, ...] = ()


def add_calls(app: FastAPI, tag: str, calls: Iterable[Call]) -> None:
    """Add routes to the application; they are named after their functions."""
    for call in calls:
        app.add_api_route(
            call.path,
            call.endpoint,
            methods=[call.method],
            response_model=call.answer,
            responses=documented(call.answer, call.statuses),
            operation_id=call.endpoint.__name__,
            tags=[tag],
        )


def catalog_of(request: Request) -> Catalog:
    """The experiments that this process serves."""
    catalog: Catalog = request.app.state.catalog
    return catalog


Named = Annotated[bodies.Name, Path(), BeforeValidator(lambda text: text.replace(SLASH, "/"))]
"""A name in the path."""


async def _one(request: Request, experiment: Named) -> Experiment:
    return await catalog_of(request).one(experiment)


async def _divided(request: Request, experiment: Named) -> Experiment:
    return await catalog_of(request).divided(experiment)


async def _any(request: Request, experiment: Named) -> Experiment:
    return await catalog_of(request).experiment(experiment)


Served = Annotated[Experiment, Depends(_one)]
Divided = Annotated[Experiment, Depends(_divided)]
Visited = Annotated[Experiment, Depends(_any)]
"""The experiment of the path: without variants, with variants, either."""


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


async def cached(
    request: Request, experiment: Experiment, read: Callable[[], T], fresh: float = 0.0
) -> T:
    """What `read` returns, or has returned for this route and experiment `fresh` seconds ago."""
    cache: Cache[T] = request.app.state.cache
    key = request.scope["endpoint"], experiment.name
    return await cache.get(experiment.journal, key, read, fresh)

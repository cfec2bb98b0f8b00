"""What all routes share: how they are declared, what they find, and what they keep."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, FastAPI, Path, Request
from pydantic import BeforeValidator

from ...live import Experiment
from .. import bodies
from ..auth.keys import OPERATING, Roles
from ..cache import Cache
from ..catalog import Catalog
from ..errors import documented
from ..fast_routes import EXPERIMENT, SLASH

__all__ = ["EXPERIMENT", "Call", "Divided", "Named", "Served", "Visited", "add_calls", "cached"]

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


async def cached(
    request: Request, experiment: Experiment, read: Callable[[], T], fresh: float = 0.0
) -> T:
    """What `read` returns, or has returned for this route and experiment `fresh` seconds ago."""
    cache: Cache[T] = request.app.state.cache
    key = request.scope["endpoint"], experiment.name
    return await cache.get(experiment.journal, key, read, fresh)

"""The routes of the API but for the calls of visits, which are in `fast_routes`."""

from fastapi import FastAPI

from ..auth.keys import Roles
from ..fast_routes import FAST_ROUTES, add_calls
from . import experiments, operations
from .base import Cache

CALLS = {
    "experiments": experiments.CALLS,
    "variants": experiments.VARIANT_CALLS,
    "operators": operations.CALLS,
}
"""All routes, by their tag in the schema."""

ROLES: dict[tuple[str, str], Roles] = {
    **{(call.method, call.path): call.roles for calls in CALLS.values() for call in calls},
    **{(call.method, call.path): call.roles for call in FAST_ROUTES},
}
"""The roles of keys that may take each route."""


def add_routes(app: FastAPI) -> None:
    """Add all routes to the application, and what they keep."""
    app.state.cache = Cache()
    for tag, calls in CALLS.items():
        add_calls(app, tag, calls)

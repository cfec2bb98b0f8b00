"""The routes about what an experiment's counters say: insight, changes, shadow, comparison."""

from functools import partial
from typing import Any

from fastapi import Request

from ...live import Comparison, Drift, History, Shadow, drift, shadow
from ...live.monitor import insight_of
from ...show.plain import plain
from ..auth.keys import READING
from .base import EXPERIMENT, Call, Served, ServedSplit, cached

FRESH = 1.0  # seconds for which a comparison is reused
LONG_FRESH = 30.0  # and a report on changes or a shadow, which reads a hundred thousand events
WINDOW, WIDTH = 3600.0, 60.0  # seconds that insight looks back, and of one bucket


async def show_insight(request: Request, experiment: Served) -> Any:
    """The numbers of the dashboard."""

    def read() -> Any:
        since = experiment.now() // WIDTH * WIDTH - WINDOW
        return plain(insight_of(experiment, experiment.timeline(since, WIDTH), WIDTH))

    return await cached(request, experiment, read)


async def show_drift(request: Request, experiment: Served) -> Drift:
    """What has changed: the mean reward of an arm, or how often users leave."""
    read = partial(drift, experiment.journal.store, experiment.name)
    return await cached(request, experiment, read, LONG_FRESH)


async def show_shadow(request: Request, experiment: Served) -> Shadow:
    """What the policy would have shown where the caller chooses, and what that would have earned.

    The answer is at most 30 seconds old.
    """
    read = partial(shadow, experiment.journal.store, experiment.name)
    return await cached(request, experiment, read, LONG_FRESH)


async def show_comparison(request: Request, experiment: ServedSplit) -> Comparison:
    """The variants compared with the holdout; as often as wanted."""
    return await cached(request, experiment, experiment.compare, FRESH)


async def show_history(request: Request, experiment: ServedSplit) -> History:
    """How the comparison with the holdout came about, over time."""
    return await cached(request, experiment, experiment.history, FRESH)


COMPARISON = f"{EXPERIMENT}/comparison"
CALLS = (
    Call("GET", f"{EXPERIMENT}/insight", show_insight, dict[str, Any], READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/drift", show_drift, Drift, READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/shadow", show_shadow, Shadow, READING, (404, 409)),
    Call("GET", COMPARISON, show_comparison, Comparison, READING, (404, 409)),
    Call("GET", f"{COMPARISON}/history", show_history, History, READING, (404, 409)),
)

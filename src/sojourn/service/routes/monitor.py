"""The routes about what an experiment's counters say: insight, changes, shadow, comparison."""

from typing import Any

from fastapi import Request

from ...live import drift, shadow
from ...live.monitor import insight_of
from .. import answers
from ..auth.keys import READING
from .base import EXPERIMENT, Call, Divided, Served, cached

FRESH = 1.0  # seconds for which a comparison is reused
LONG_FRESH = 30.0  # and a report on changes or a shadow, which reads a hundred thousand events
WINDOW, WIDTH = 3600.0, 60.0  # seconds that insight looks back, and of one bucket


async def show_insight(request: Request, experiment: Served) -> Any:
    """The numbers of the dashboard."""

    def read() -> Any:
        since = experiment.now() // WIDTH * WIDTH - WINDOW
        return insight_of(experiment, experiment.branch.timeline(since, WIDTH), WIDTH).to_dict()

    return await cached(request, experiment, read)


async def show_drift(request: Request, experiment: Served) -> Any:
    """What has changed: the mean reward of an arm, or how often users leave."""
    store = experiment.journal.store
    return await cached(
        request, experiment, lambda: drift(store, experiment.name).to_dict(), LONG_FRESH
    )


async def show_shadow(request: Request, experiment: Served) -> Any:
    """What the policy would have shown where the caller chooses, and what that would have earned.

    The answer is at most 30 seconds old.
    """
    store = experiment.journal.store
    return await cached(
        request, experiment, lambda: shadow(store, experiment.name).to_dict(), LONG_FRESH
    )


async def show_comparison(request: Request, experiment: Divided) -> Any:
    """The variants compared with the holdout; as often as wanted."""
    return await cached(request, experiment, lambda: experiment.compare().to_dict(), FRESH)


async def show_history(request: Request, experiment: Divided) -> Any:
    """How the comparison with the holdout came about, over time."""
    return await cached(request, experiment, lambda: experiment.history().to_dict(), FRESH)


COMPARISON = f"{EXPERIMENT}/comparison"
CALLS = (
    Call("GET", f"{EXPERIMENT}/insight", show_insight, dict[str, Any], READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/drift", show_drift, answers.DriftOut, READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/shadow", show_shadow, answers.ShadowOut, READING, (404, 409)),
    Call("GET", COMPARISON, show_comparison, answers.ComparisonOut, READING, (404, 409)),
    Call("GET", f"{COMPARISON}/history", show_history, answers.HistoryOut, READING, (404, 409)),
)

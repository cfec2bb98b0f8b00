"""The routes about what happens over time: what has changed, and how a comparison came about."""

from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

from ..live import drift
from .experiments import Served, adder
from .hot import EXPERIMENT
from .reads import Reads
from .variant_models import SharesOut
from .variants import Served as Divided

FRESH, CHANGES_FRESH = 1.0, 30.0  # seconds for which looks and changes are reused


class ChangedOut(BaseModel):
    """A change: from the time `at` on the mean is `after` instead of `before`; in words, `text`."""

    at: float
    before: float
    after: float
    statistic: float
    threshold: float
    text: str


class SeriesOut(BaseModel):
    """A mean over time: of an arm's rewards, or of leaving; by bucket, and all of its changes.

    It is `watched` if there are enough steps to know how much it varies.
    """

    kind: str
    name: str
    mean: float
    watched: bool
    changes: list[ChangedOut]
    starts: list[float]
    trials: list[float]
    sums: list[float]


class DriftOut(BaseModel):
    """What has changed in the last four weeks, in buckets of `width` seconds, before `until`.

    While nothing changes, anything is said with a probability of at most `delta`, at all looks
    together. `dispersion` is how many times more the sums vary than coins would.
    """

    experiment: str
    at: float
    until: float
    width: float
    delta: float
    dispersion: dict[str, float | None]
    series: list[SeriesOut]


class LookOut(BaseModel):
    """The difference of a variant to the holdout at a time, with `visits` of both."""

    at: float
    variant: str
    metric: str
    rank: int
    visits: int
    difference: float
    low: float
    high: float


class HistoryOut(BaseModel):
    """What comparisons have said, shares over time, and when the guardrail has acted, if it has."""

    experiment: str
    holdout: str
    alpha: float
    looks: list[LookOut]
    epochs: list[SharesOut]
    alarm: float | None


async def show_drift(request: Request, experiment: Served) -> dict[str, Any]:
    """What has changed: the mean reward of an arm, or how often users leave."""
    reads: Reads[dict[str, Any]] = request.app.state.drifts
    store = experiment.journal.store
    read = partial(_drift, store, experiment.name)
    return await reads.get(experiment.journal, experiment.name, read, CHANGES_FRESH)


def _drift(store: Any, name: str) -> dict[str, Any]:
    return drift(store, name).to_dict()


async def show_history(request: Request, experiment: Divided) -> dict[str, Any]:
    """How the comparison with the holdout came about, over time."""
    reads: Reads[dict[str, Any]] = request.app.state.histories
    return await reads.get(
        experiment.journal, experiment.name, lambda: experiment.history().to_dict(), FRESH
    )


def add_routes(app: FastAPI) -> None:
    """Add the routes above."""
    app.state.drifts, app.state.histories = Reads(), Reads()
    add = adder(app, "over time")
    add("GET", f"{EXPERIMENT}/drift", show_drift, DriftOut, 404, 409)
    add("GET", f"{EXPERIMENT}/comparison/history", show_history, HistoryOut, 404, 409)

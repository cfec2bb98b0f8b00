"""The route of shadow mode: what the policy of an external experiment would have shown."""

from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

from ..live import Shadow, shadow
from .experiments import Served, adder
from .hot import EXPERIMENT
from .reads import Reads
from .variant_models import IntervalOut

FRESH = 30.0  # seconds for which a report is reused: it reads a hundred thousand events


class PairOut(BaseModel):
    """At how many steps the caller showed one arm where the policy would show another."""

    shown: str
    shadow_arm: str
    steps: int


class WeighedOut(BaseModel):
    """One measure: of what was logged, of the policy by weights, and the difference."""

    logged: IntervalOut
    shadow: IntervalOut
    difference: IntervalOut


class ShadowOut(BaseModel):
    """What a policy would have shown, beside what was: see `sojourn.live.Shadow`."""

    experiment: str
    policy: str
    at: float
    alpha: float
    margin: float
    steps: int
    users: int
    matched: int
    match: IntervalOut
    weighed: int
    effective: float
    weight: IntervalOut
    measures: dict[str, WeighedOut]
    pairs: list[PairOut]
    tried: list[str]
    verdict: str
    reason: str


async def show_shadow(request: Request, experiment: Served) -> dict[str, Any]:
    """What the policy would have shown where the caller chooses, and what that would have earned.

    The answer is at most 30 seconds old.
    """
    reads: Reads[Shadow] = request.app.state.shadows
    read = partial(shadow, experiment.journal.store, experiment.name)
    return (await reads.get(experiment.journal, experiment.name, read, FRESH)).to_dict()


def add_routes(app: FastAPI) -> None:
    """Add the route above."""
    app.state.shadows = Reads()
    add = adder(app, "variants")
    add("GET", f"{EXPERIMENT}/shadow", show_shadow, ShadowOut, 404, 409)

"""The routes of experiments with variants: shares, comparison, and what the guardrail has done."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response

from ..live import Experiment, Guardrail, Variant
from ..live.variants import Given
from . import variant_models
from .experiments import Named, adder, settings_from
from .hot import EXPERIMENT
from .reads import Reads

FRESH = 1.0  # seconds for which a comparison is reused


async def _divided(request: Request, experiment: Named) -> Experiment:
    found: Experiment = await request.app.state.catalog.divided(experiment)
    return found


Served = Annotated[Experiment, Depends(_divided)]


async def make_variants(
    request: Request, experiment: Named, body: variant_models.VariantsIn, response: Response
) -> dict[str, Any]:
    """Make an experiment with variants, or change it: arms are added, settings replaced."""
    made, new = await request.app.state.catalog.make_divided(experiment, given_by(body))
    response.status_code = 201 if new else 200
    return described(made)


async def show_variants(experiment: Served) -> dict[str, Any]:
    """The variants with their shares over time, and the guardrail."""
    return described(experiment)


async def put_shares(experiment: Served, body: variant_models.SharesIn) -> dict[str, Any]:
    """Change the shares of some variants; the holdout has the rest. Open visits stay."""
    return await _changed(experiment, partial(experiment.ramp, body.shares))


async def roll_back(experiment: Served) -> dict[str, Any]:
    """Send all new visits to the holdout."""
    return await _changed(experiment, experiment.roll_back)


async def put_exploring(experiment: Served, body: variant_models.ExploringIn) -> dict[str, Any]:
    """Let variants play only what they know to be best, or explore again."""
    return await _changed(experiment, partial(experiment.explore, body.exploring))


async def undo_alarm(experiment: Served) -> dict[str, Any]:
    """Take back what the guardrail has done: shares and exploring as before it."""
    return await _changed(experiment, experiment.undo)


async def show_comparison(request: Request, experiment: Served) -> dict[str, Any]:
    """The variants compared with the holdout; as often as wanted."""
    reads: Reads[dict[str, Any]] = request.app.state.comparisons
    read: Callable[[], dict[str, Any]] = lambda: experiment.compare().to_dict()  # noqa: E731
    return await reads.get(experiment.journal, experiment.name, read, FRESH)


async def _changed(experiment: Experiment, change: Callable[[], None]) -> dict[str, Any]:
    await asyncio.to_thread(change)
    return described(experiment)


def given_by(body: variant_models.VariantsIn) -> Given:
    """What a body describes; InputError says what is wrong with it."""
    plain = body.model_dump(exclude={"arms", "variants", "holdout", "guardrail"})
    settings = {
        name: settings_from({**plain, "policy": variant.policy.model_dump()})
        for name, variant in body.variants.items()
    }
    variants = [
        Variant(name, variant.share, settings[name].policy, variant.external, variant.learns_from)
        for name, variant in body.variants.items()
    ]
    first = settings[variants[0].name]
    common = {name: getattr(first, name) for name in plain}
    rule = None if body.guardrail is None else Guardrail(**body.guardrail.model_dump())
    return Given(body.arms, variants, body.holdout, rule, common)


def described(experiment: Experiment) -> dict[str, Any]:
    """An experiment with variants as a JSON object."""
    allocation = experiment.allocation
    assert allocation is not None
    return {
        "name": experiment.name,
        "holdout": allocation.holdout,
        "shares": allocation.shares,
        "exploring": {name: name not in allocation.settled for name in allocation.variants},
        "experiments": {name: child.name for name, child in experiment.variants.items()},
        "epochs": [asdict(epoch) for epoch in allocation.epochs],
        "guardrail": None if allocation.guardrail is None else asdict(allocation.guardrail),
        "alarm": None if allocation.alarm is None else asdict(allocation.alarm),
    }


def add_routes(app: FastAPI) -> None:
    """Add the routes above."""
    app.state.comparisons = Reads()
    add = adder(app, "variants")
    shown = variant_models.VariantsOut
    add("PUT", f"{EXPERIMENT}/variants", make_variants, shown, 201, 409)
    add("GET", f"{EXPERIMENT}/variants", show_variants, shown, 404, 409)
    add("PUT", f"{EXPERIMENT}/shares", put_shares, shown, 404, 409)
    add("DELETE", f"{EXPERIMENT}/shares", roll_back, shown, 404, 409)
    add("PUT", f"{EXPERIMENT}/exploring", put_exploring, shown, 404, 409)
    add("DELETE", f"{EXPERIMENT}/alarm", undo_alarm, shown, 404, 409)
    add("GET", f"{EXPERIMENT}/comparison", show_comparison, variant_models.ComparisonOut, 404, 409)

"""The routes of experiments with variants: their shares, and what the guardrail has done."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import Request, Response

from ...live import Experiment, Guardrail, Variant
from ...live.variants import Given
from .. import answers, bodies
from ..auth.keys import CHANGING, READING
from .base import EXPERIMENT, Call, Divided, Named, catalog_of
from .experiments import settings_from


async def make_variants(
    request: Request, experiment: Named, body: bodies.VariantsIn, response: Response
) -> dict[str, Any]:
    """Make an experiment with variants, or change it: arms are added, settings replaced."""
    made, new = await catalog_of(request).make_divided(experiment, given_by(body))
    response.status_code = 201 if new else 200
    return described(made)


async def show_variants(experiment: Divided) -> dict[str, Any]:
    """The variants with their shares over time, and the guardrail."""
    return described(experiment)


async def put_shares(experiment: Divided, body: bodies.SharesIn) -> dict[str, Any]:
    """Change the shares of some variants; the holdout has the rest. Open visits stay."""
    return await _changed(experiment, partial(experiment.ramp, body.shares))


async def roll_back(experiment: Divided) -> dict[str, Any]:
    """Send all new visits to the holdout."""
    return await _changed(experiment, experiment.roll_back)


async def put_exploring(experiment: Divided, body: bodies.ExploringIn) -> dict[str, Any]:
    """Let variants play only what they know to be best, or explore again."""
    return await _changed(experiment, partial(experiment.explore, body.exploring))


async def undo_alarm(experiment: Divided) -> dict[str, Any]:
    """Take back what the guardrail has done: shares and exploring as before it."""
    return await _changed(experiment, experiment.undo)


async def _changed(experiment: Experiment, change: Callable[[], None]) -> dict[str, Any]:
    await asyncio.to_thread(change)
    return described(experiment)


def given_by(body: bodies.VariantsIn) -> Given:
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


VARIANTS, SHARES = f"{EXPERIMENT}/variants", f"{EXPERIMENT}/shares"
CALLS = (
    Call("PUT", VARIANTS, make_variants, answers.VariantsOut, CHANGING, (201, 409)),
    Call("GET", VARIANTS, show_variants, answers.VariantsOut, READING, (404, 409)),
    Call("PUT", SHARES, put_shares, answers.VariantsOut, CHANGING, (404, 409)),
    Call("DELETE", SHARES, roll_back, answers.VariantsOut, CHANGING, (404, 409)),
    Call(
        "PUT", f"{EXPERIMENT}/exploring", put_exploring, answers.VariantsOut, CHANGING, (404, 409)
    ),
    Call("DELETE", f"{EXPERIMENT}/alarm", undo_alarm, answers.VariantsOut, CHANGING, (404, 409)),
)

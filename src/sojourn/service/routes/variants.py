"""The routes of experiments with variants: their shares, comparison and guardrail."""

import asyncio
from collections.abc import Callable
from functools import partial

from fastapi import Request, Response

from ...live import Comparison, Experiment, Guardrail, History, Variant
from ...live.enrolment import Given
from .. import bodies
from ..answers import Variants
from ..auth.keys import CHANGING, READING
from .base import EXPERIMENT, Call, Divided, Named, cached, catalog_of
from .experiments import settings_from

FRESH = 1.0  # seconds for which a comparison is reused


async def make_variants(
    request: Request, experiment: Named, body: bodies.VariantsIn, response: Response
) -> Variants:
    """Make an experiment with variants, or change it: arms are added, settings replaced."""
    made, new = await catalog_of(request).make_divided(experiment, given_by(body))
    response.status_code = 201 if new else 200
    return described(made)


async def show_variants(experiment: Divided) -> Variants:
    """The variants with their shares over time, and the guardrail."""
    return described(experiment)


async def put_shares(experiment: Divided, body: bodies.SharesIn) -> Variants:
    """Change the shares of some variants; the holdout has the rest. Open visits stay."""
    return await _changed(experiment, partial(experiment.ramp, body.shares))


async def roll_back(experiment: Divided) -> Variants:
    """Send all new visits to the holdout."""
    return await _changed(experiment, experiment.roll_back)


async def put_exploring(experiment: Divided, body: bodies.ExploringIn) -> Variants:
    """Let variants play only what they know to be best, or explore again."""
    return await _changed(experiment, partial(experiment.explore, body.exploring))


async def undo_alarm(experiment: Divided) -> Variants:
    """Take back what the guardrail has done: shares and exploring as before it."""
    return await _changed(experiment, experiment.undo)


async def _changed(experiment: Experiment, change: Callable[[], None]) -> Variants:
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


def described(experiment: Experiment) -> Variants:
    """An experiment with its variants, as it is answered."""
    allocation = experiment.allocation
    assert allocation is not None
    return Variants(
        name=experiment.name,
        holdout=allocation.holdout,
        shares=allocation.shares,
        exploring={name: name not in allocation.settled for name in allocation.variants},
        experiments={name: child.name for name, child in experiment.variants.items()},
        epochs=allocation.epochs,
        guardrail=allocation.guardrail,
        alarm=allocation.alarm,
    )


async def show_comparison(request: Request, experiment: Divided) -> Comparison:
    """The variants compared with the holdout; as often as wanted."""
    return await cached(request, experiment, experiment.compare, FRESH)


async def show_history(request: Request, experiment: Divided) -> History:
    """How the comparison with the holdout came about, over time."""
    return await cached(request, experiment, experiment.history, FRESH)


COMPARISON = f"{EXPERIMENT}/comparison"
VARIANTS, SHARES = f"{EXPERIMENT}/variants", f"{EXPERIMENT}/shares"
CALLS = (
    Call("PUT", VARIANTS, make_variants, Variants, CHANGING, (201, 409)),
    Call("GET", VARIANTS, show_variants, Variants, READING, (404, 409)),
    Call("PUT", SHARES, put_shares, Variants, CHANGING, (404, 409)),
    Call("DELETE", SHARES, roll_back, Variants, CHANGING, (404, 409)),
    Call("PUT", f"{EXPERIMENT}/exploring", put_exploring, Variants, CHANGING, (404, 409)),
    Call("DELETE", f"{EXPERIMENT}/alarm", undo_alarm, Variants, CHANGING, (404, 409)),
    Call("GET", COMPARISON, show_comparison, Comparison, READING, (404, 409)),
    Call("GET", f"{COMPARISON}/history", show_history, History, READING, (404, 409)),
)

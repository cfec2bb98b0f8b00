"""The routes of experiments: settings, arms, numbers, and variants."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from fastapi import Request, Response

from ... import problem_files
from ...live import (
    Branch,
    Comparison,
    Drift,
    Experiment,
    Guardrail,
    History,
    Settings,
    Shadow,
    Variant,
    drift,
    shadow,
)
from ...live.answers import VisitInfo, ranked
from ...live.enrolment import Given
from ...live.monitor.arms import arm_sums
from ...live.monitor.insight import Insight, insight_of
from ...users import USERS
from ...validation import InputError
from .. import bodies
from ..answers import Experiments, PolicyData, Ranking, ServedArm, ServedExperiment, Variants
from ..auth.keys import CHANGING, READING, ROLES
from ..fast_routes import VISIT
from .base import EXPERIMENT, LONG_FRESH, Call, Divided, Named, Served, Visited, cached, catalog_of

FRESH = 1.0  # seconds for which a comparison is reused
WINDOW, WIDTH = 3600.0, 60.0  # seconds that insight looks back, and of one bucket


async def list_experiments(request: Request) -> Experiments:
    """List the experiments that the key may see, and why some of them are not served."""
    catalog, key = catalog_of(request), request.scope.get("sojourn.key")
    names = await catalog.names(key)
    broken = {name: catalog.broken[name].reason for name in names if name in catalog.broken}
    return Experiments(names, broken)


async def make_experiment(
    request: Request, experiment: Named, body: bodies.ExperimentIn, response: Response
) -> ServedExperiment:
    """Create an experiment, or change it: arms are added, settings replaced."""
    settings = settings_from(body.model_dump(exclude={"arms"}))
    made, new = await catalog_of(request).make(experiment, body.arms, settings)
    response.status_code = 201 if new else 200
    return await made.journal.show(partial(described, made))


async def show_experiment(experiment: Served) -> ServedExperiment:
    """Get settings and arms."""
    return await experiment.journal.show(partial(described, experiment))


async def show_ranking(experiment: Visited, response: Response) -> Ranking:
    """Get the active arms, best first, for clients to show while the service is away.

    With variants it is the ranking of the holdout.
    """
    allocation = experiment.allocation
    shown = experiment.variants["" if allocation is None else allocation.holdout]
    response.headers["cache-control"] = "private, max-age=60"  # for pages that are opened again
    arms = await shown.journal.show(partial(_arms, shown))
    return Ranking(ranked(map(asdict, arms.values())))


async def add_arms(request: Request, experiment: Served, body: bodies.ArmsIn) -> ServedExperiment:
    """Add arms, or reactivate retired ones."""
    return await _changed_arms(request, experiment, partial(experiment.add_arms, body.arms))


async def retire_arms(
    request: Request, experiment: Served, body: bodies.ArmsIn
) -> ServedExperiment:
    """Retire arms: they are never chosen again, and their counts stay. One arm has to be left."""
    return await _changed_arms(request, experiment, partial(experiment.retire_arms, body.arms))


async def put_prior(
    request: Request, experiment: Served, body: bodies.PriorsIn
) -> ServedExperiment:
    """Set prior counts for a warm start; given again, they replace the earlier ones."""
    prior = {name: (p.pulls, p.successes) for name, p in body.arms.items()}
    return await _changed_arms(request, experiment, partial(experiment.warm_start, prior))


async def _changed_arms(
    request: Request, experiment: Experiment, change: Callable[[], None]
) -> ServedExperiment:
    def work() -> ServedExperiment:
        change()
        return described(experiment)

    return await catalog_of(request).changing(work)


async def show_visit(experiment: Visited, visit: Named) -> VisitInfo:
    """Get a visit as the store has it."""
    return await experiment.get(visit).ainfo()


def settings_from(plain: dict[str, Any]) -> Settings:
    """The settings that plain data describe; InputError says what is wrong with them."""
    user = {name: value for name, value in plain["user"].items() if value is not None}
    problem_files.check_keys("user.", user, USERS[user["model"]], "start")
    if "start" in user and not isinstance(user["start"], dict):
        user["start"] = {str(user["start"]): 1.0}
    plain["user"] = user
    try:
        return Settings.from_json(json.dumps(plain))
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"policy.parameters is not allowed: {error}") from None


def described(experiment: Experiment) -> ServedExperiment:
    """An experiment with its settings and arms."""
    settings = json.loads(experiment.settings.to_json())
    del settings["bins"], settings["learns_from"]
    policy = PolicyData(**settings.pop("policy"))
    arms = list(_arms(experiment).values())
    return ServedExperiment(experiment.name, arms, policy, **settings)


def _arms(experiment: Experiment | Branch) -> dict[str, ServedArm]:
    sums = arm_sums(experiment.all_arms, experiment.counts(), experiment.settings.bins)
    numbers = zip(sums.arms, sums.all_pulls.tolist(), sums.means.tolist(), strict=True)
    return {
        arm.name: ServedArm(arm.name, n, mean if n else None, bool(arm.retired))
        for arm, n, mean in numbers
    }


async def show_insight(request: Request, experiment: Served) -> Insight:
    """Get the numbers of the dashboard."""

    def read() -> Insight:
        since = experiment.now() // WIDTH * WIDTH - WINDOW
        found = insight_of(experiment, experiment.branch.timeline(since, WIDTH), WIDTH)
        return replace(found, arms=tuple(found.arms))  # they are made here, in a thread

    return await cached(request, experiment, read)


async def show_drift(request: Request, experiment: Served) -> Drift:
    """Get what has changed: the mean reward of an arm, or how often users leave."""
    read = partial(drift, experiment.journal.store, experiment.name)
    return await cached(request, experiment, read, LONG_FRESH)


async def show_shadow(request: Request, experiment: Served) -> Shadow:
    """Evaluate the policy where the caller chooses: what it would have shown and earned.

    The answer is at most 30 seconds old.
    """
    read = partial(shadow, experiment.journal.store, experiment.name)
    return await cached(request, experiment, read, LONG_FRESH)


async def make_variants(
    request: Request, experiment: Named, body: bodies.VariantsIn, response: Response
) -> Variants:
    """Create an experiment with variants, or change it: arms are added, settings replaced."""
    made, new = await catalog_of(request).make_divided(experiment, given_by(body))
    response.status_code = 201 if new else 200
    return divided(made)


async def show_variants(experiment: Divided) -> Variants:
    """Get the variants with their shares over time, and the guardrail."""
    return divided(experiment)


async def put_shares(experiment: Divided, body: bodies.SharesIn) -> Variants:
    """Change the shares of some variants; the holdout gets the rest. Open visits stay."""
    return await _changed(experiment, partial(experiment.ramp, body.shares))


async def roll_back(experiment: Divided) -> Variants:
    """Send all new visits to the holdout."""
    return await _changed(experiment, experiment.roll_back)


async def put_exploring(experiment: Divided, body: bodies.ExploringIn) -> Variants:
    """Stop exploration in some variants, or resume it; without it they play the best known arm."""
    return await _changed(experiment, partial(experiment.explore, body.exploring))


async def undo_alarm(experiment: Divided) -> Variants:
    """Undo what the guardrail has done: shares and exploration are restored."""
    return await _changed(experiment, experiment.undo)


async def _changed(experiment: Experiment, change: Callable[[], None]) -> Variants:
    await asyncio.to_thread(change)
    return divided(experiment)


def given_by(body: bodies.VariantsIn) -> Given:
    """The settings of a body; InputError says what is wrong with it."""
    plain = body.model_dump(exclude={"arms", "variants", "holdout", "guardrail", "window"})
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
    return Given(body.arms, variants, body.holdout, rule, body.window, common)


def divided(experiment: Experiment) -> Variants:
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
        window=allocation.window,
    )


async def show_comparison(request: Request, experiment: Divided) -> Comparison:
    """Compare the variants with the holdout, as often as wanted."""
    return await cached(request, experiment, experiment.compare, FRESH)


async def show_history(request: Request, experiment: Divided) -> History:
    """Get the comparison with the holdout over time."""
    return await cached(request, experiment, experiment.history, FRESH)


ARMS = f"{EXPERIMENT}/arms"
CALLS = (
    Call("GET", "/v1/experiments", list_experiments, Experiments, READING),
    Call("PUT", EXPERIMENT, make_experiment, ServedExperiment, CHANGING, (201, 409)),
    Call("GET", EXPERIMENT, show_experiment, ServedExperiment, READING, (404, 409)),
    # the arms that decisions show, in an order
    Call("GET", f"{EXPERIMENT}/ranking", show_ranking, Ranking, ROLES, (404, 409)),
    Call("POST", ARMS, add_arms, ServedExperiment, CHANGING, (404, 409)),
    Call("POST", f"{ARMS}/retire", retire_arms, ServedExperiment, CHANGING, (404, 409)),
    Call("PUT", f"{EXPERIMENT}/prior", put_prior, ServedExperiment, CHANGING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/insight", show_insight, Insight, READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/drift", show_drift, Drift, READING, (404, 409)),
    Call("GET", f"{EXPERIMENT}/shadow", show_shadow, Shadow, READING, (404, 409)),
    # the call that opens a visit answers the same
    Call("GET", VISIT, show_visit, VisitInfo, ROLES, (404, 409)),
)

COMPARISON = f"{EXPERIMENT}/comparison"
VARIANTS, SHARES = f"{EXPERIMENT}/variants", f"{EXPERIMENT}/shares"
VARIANT_CALLS = (
    Call("PUT", VARIANTS, make_variants, Variants, CHANGING, (201, 409)),
    Call("GET", VARIANTS, show_variants, Variants, READING, (404, 409)),
    Call("PUT", SHARES, put_shares, Variants, CHANGING, (404, 409)),
    Call("DELETE", SHARES, roll_back, Variants, CHANGING, (404, 409)),
    Call("PUT", f"{EXPERIMENT}/exploring", put_exploring, Variants, CHANGING, (404, 409)),
    Call("DELETE", f"{EXPERIMENT}/alarm", undo_alarm, Variants, CHANGING, (404, 409)),
    Call("GET", COMPARISON, show_comparison, Comparison, READING, (404, 409)),
    Call("GET", f"{COMPARISON}/history", show_history, History, READING, (404, 409)),
)

"""The routes of experiments and arms."""

import json
from collections import defaultdict
from functools import partial
from typing import Any

from fastapi import Request, Response

from ... import problem_files
from ...live import Branch, Conflict, Experiment, Settings
from ...live.answers import ranked, shallow
from ...users import USERS
from ...validation import InputError
from .. import answers, bodies
from ..auth.keys import CHANGING, READING, ROLES
from ..fast_routes import VISIT
from .base import EXPERIMENT, Call, Named, Served, Visited, catalog_of


async def list_experiments(request: Request) -> dict[str, Any]:
    """The experiments that the key may see, and why some of them are not served."""
    catalog, key = catalog_of(request), request.scope.get("sojourn.key")
    names = sorted(n for n in await catalog.names() if catalog.allows(key, n))
    broken = {name: catalog.broken[name].reason for name in names if name in catalog.broken}
    return {"experiments": names, "broken": broken}


async def make_experiment(
    request: Request, experiment: Named, body: bodies.ExperimentIn, response: Response
) -> dict[str, Any]:
    """Make an experiment, or change it: arms are added, settings replaced."""
    made, new = await catalog_of(request).make(experiment, body.arms, settings_of(body))
    response.status_code = 201 if new else 200
    return await made.journal.show(partial(described, made))


async def show_experiment(experiment: Served) -> dict[str, Any]:
    """Settings and arms."""
    return await experiment.journal.show(partial(described, experiment))


async def show_ranking(experiment: Visited, response: Response) -> dict[str, Any]:
    """The active arms, best first: what clients show while the service is away.

    Of an experiment with variants it is that of the holdout.
    """
    allocation = experiment.allocation
    shown = experiment.variants["" if allocation is None else allocation.holdout]
    response.headers["cache-control"] = "private, max-age=60"  # for pages that are opened again
    arms = await shown.journal.show(partial(_arms, shown))
    return {"arms": ranked(arms.values())}


async def put_arm(
    request: Request, experiment: Served, arm: Named, body: bodies.PriorIn, response: Response
) -> dict[str, Any]:
    """Add an arm or return a retired one, with prior counts if given."""
    new = arm not in {known.name for known in experiment.all_arms}

    def work() -> dict[str, Any]:
        _check(arm, body)
        experiment.add_arm(arm)
        if body.model_fields_set:
            experiment.warm_start({arm: (body.pulls, body.successes)})
        return _arms(experiment)[arm]

    response.status_code = 201 if new else 200
    return await catalog_of(request).changing(work)


async def retire_arm(request: Request, experiment: Served, arm: Named) -> dict[str, Any]:
    """Retire an arm: it is never chosen again, and its counts stay."""

    def work() -> dict[str, Any]:
        if experiment.arms == (arm,):
            raise Conflict(f"arm {arm!r} is the last one of {experiment.name!r}: it stays in use")
        experiment.retire_arm(arm)
        return _arms(experiment)[arm]

    return await catalog_of(request).changing(work)


async def put_prior(request: Request, experiment: Served, body: bodies.PriorsIn) -> dict[str, Any]:
    """Prior counts for a warm start; given again, they replace the earlier ones."""

    def work() -> dict[str, Any]:
        for name, prior in body.arms.items():
            _check(name, prior)
        experiment.warm_start({name: (p.pulls, p.successes) for name, p in body.arms.items()})
        return described(experiment)

    return await catalog_of(request).changing(work)


async def show_visit(experiment: Visited, visit: Named) -> dict[str, Any]:
    """A visit as the store has it."""
    return shallow(await experiment.get(visit).ainfo())


def settings_of(body: bodies.ExperimentIn) -> Settings:
    """The settings that a body describes; InputError says what is wrong with it."""
    return settings_from(body.model_dump(exclude={"arms"}))


def settings_from(plain: dict[str, Any]) -> Settings:
    """The settings that plain data describe."""
    user = {name: value for name, value in plain["user"].items() if value is not None}
    problem_files.check_keys("user.", user, USERS[user["model"]], "start")
    if "start" in user and not isinstance(user["start"], dict):
        user["start"] = {str(user["start"]): 1.0}
    plain["user"] = user
    try:
        return Settings.from_json(json.dumps(plain))
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"policy.parameters is not allowed: {error}") from None


def described(experiment: Experiment) -> dict[str, Any]:
    """An experiment as a JSON object."""
    settings = json.loads(experiment.settings.to_json())
    del settings["bins"]
    return {"name": experiment.name, "arms": list(_arms(experiment).values()), **settings}


def _arms(experiment: Experiment | Branch) -> dict[str, dict[str, Any]]:
    sums: dict[tuple[str, int], float] = defaultdict(float)
    for (what, position, _, _), n in experiment.counts().items():
        sums[what, position] += n
    arms = {}
    for arm in experiment.all_arms:
        pulls = arm.pulls + sums["pulls", arm.position]
        successes = arm.successes + sums["successes", arm.position]
        mean = successes / pulls if pulls else None
        arms[arm.name] = {
            "name": arm.name, "pulls": pulls, "mean": mean, "retired": bool(arm.retired)
        }  # fmt: skip
    return arms


def _check(name: str, prior: bodies.PriorIn) -> None:
    if prior.successes > prior.pulls:
        raise InputError(
            f"successes of {name!r} = {prior.successes:g} is not allowed: "
            f"it must be at most its pulls, {prior.pulls:g}"
        )


ARM = f"{EXPERIMENT}/arms/{{arm}}"
CALLS = (
    Call("GET", "/v1/experiments", list_experiments, answers.ExperimentsOut, READING),
    Call("PUT", EXPERIMENT, make_experiment, answers.ExperimentOut, CHANGING, (201, 409)),
    Call("GET", EXPERIMENT, show_experiment, answers.ExperimentOut, READING, (404, 409)),
    # the arms that decisions show, in an order
    Call("GET", f"{EXPERIMENT}/ranking", show_ranking, answers.RankingOut, ROLES, (404, 409)),
    Call("PUT", ARM, put_arm, answers.ArmOut, CHANGING, (201, 404, 409)),
    Call("DELETE", ARM, retire_arm, answers.ArmOut, CHANGING, (404, 409)),
    Call("PUT", f"{EXPERIMENT}/prior", put_prior, answers.ExperimentOut, CHANGING, (404, 409)),
    # the call that opens a visit answers the same
    Call("GET", VISIT, show_visit, answers.VisitOut, ROLES, (404, 409)),
)

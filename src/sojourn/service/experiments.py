"""The routes of experiments and arms."""

import json
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Request, Response
from pydantic import BeforeValidator

from .. import problem_files
from ..live import Conflict, Experiment, Settings, Split
from ..live.answers import ranked
from ..users import USERS
from ..validation import InputError
from . import models
from .catalog import Catalog
from .errors import documented
from .hot import EXPERIMENT, SLASH
from .insight import insight
from .reads import Reads

WINDOW, WIDTH = 3600.0, 60.0  # seconds that insight looks back, and of one bucket
Named = Annotated[models.Name, Path(), BeforeValidator(lambda text: text.replace(SLASH, "/"))]


def _catalog(request: Request) -> Catalog:
    catalog: Catalog = request.app.state.catalog
    return catalog


async def _experiment(request: Request, experiment: Named) -> Experiment:
    return await _catalog(request).one(experiment)


async def _visited(request: Request, experiment: Named) -> Experiment | Split:
    return await _catalog(request).experiment(experiment)


Served = Annotated[Experiment, Depends(_experiment)]
Visited = Annotated[Experiment | Split, Depends(_visited)]


async def list_experiments(request: Request) -> dict[str, Any]:
    """The experiments that the key may see, and why some of them are not served."""
    catalog, key = _catalog(request), request.scope.get("sojourn.key")
    names = sorted(n for n in await catalog.names() if catalog.allows(key, n))
    broken = {name: catalog.broken[name].reason for name in names if name in catalog.broken}
    return {"experiments": names, "broken": broken}


async def make_experiment(
    request: Request, experiment: Named, body: models.ExperimentIn, response: Response
) -> dict[str, Any]:
    """Make an experiment, or change it: arms are added, settings replaced."""
    made, new = await _catalog(request).make(experiment, body.arms, settings_of(body))
    response.status_code = 201 if new else 200
    return await made.journal.show(partial(described, made))


async def show_experiment(experiment: Served) -> dict[str, Any]:
    """Settings and arms."""
    return await experiment.journal.show(partial(described, experiment))


async def show_ranking(experiment: Visited, response: Response) -> dict[str, Any]:
    """The active arms, best first: what clients show while the service is away.

    Of an experiment with variants it is that of the holdout.
    """
    shown = experiment
    if isinstance(experiment, Split):
        shown = experiment.variants[experiment.plan.holdout]
    assert isinstance(shown, Experiment)
    response.headers["cache-control"] = "private, max-age=60"  # for pages that are opened again
    arms = await shown.journal.show(partial(_arms, shown))
    return {"arms": ranked(arms.values())}


async def show_insight(request: Request, experiment: Served) -> dict[str, Any]:
    """The numbers of the dashboard."""
    reads: Reads[dict[str, Any]] = request.app.state.insights
    return await reads.get(experiment.journal, experiment.name, partial(_insight, experiment))


def _insight(experiment: Experiment) -> dict[str, Any]:
    now = experiment.now()
    buckets = experiment.timeline(now // WIDTH * WIDTH - WINDOW, WIDTH)
    return insight(
        experiment.settings, experiment.all_arms, experiment.counts(), buckets, now=now, width=WIDTH
    ).to_dict()


async def put_arm(
    request: Request, experiment: Served, arm: Named, body: models.PriorIn, response: Response
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
    return await _catalog(request).changing(work)


async def retire_arm(request: Request, experiment: Served, arm: Named) -> dict[str, Any]:
    """Retire an arm: it is never chosen again, and its counts stay."""

    def work() -> dict[str, Any]:
        if experiment.arms == (arm,):
            raise Conflict(f"arm {arm!r} is the last one of {experiment.name!r}: it stays in use")
        experiment.retire_arm(arm)
        return _arms(experiment)[arm]

    return await _catalog(request).changing(work)


async def put_prior(request: Request, experiment: Served, body: models.PriorsIn) -> dict[str, Any]:
    """Prior counts for a warm start; given again, they replace the earlier ones."""

    def work() -> dict[str, Any]:
        for name, prior in body.arms.items():
            _check(name, prior)
        experiment.warm_start({name: (p.pulls, p.successes) for name, p in body.arms.items()})
        return described(experiment)

    return await _catalog(request).changing(work)


async def show_visit(experiment: Visited, visit: Named) -> dict[str, Any]:
    """A visit as the store has it."""
    return (await experiment.get(visit).ainfo())._asdict()


def adder(app: FastAPI, tag: str) -> Callable[..., None]:
    """What adds routes to the application: add(method, path, endpoint, answer, *statuses)."""

    def add(method: str, path: str, endpoint: Any, answer: Any, *statuses: int) -> None:
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_model=answer,
            responses=documented(answer, statuses),
            operation_id=endpoint.__name__,
            tags=[tag],
        )

    return add


def add_routes(app: FastAPI) -> None:
    """Add the routes above."""
    app.state.insights = Reads()
    add = adder(app, "experiments")
    arm = f"{EXPERIMENT}/arms/{{arm}}"
    add("GET", "/v1/experiments", list_experiments, models.ExperimentsOut)
    add("PUT", EXPERIMENT, make_experiment, models.ExperimentOut, 201, 409)
    add("GET", EXPERIMENT, show_experiment, models.ExperimentOut, 404, 409)
    add("GET", f"{EXPERIMENT}/ranking", show_ranking, models.RankingOut, 404, 409)
    add("GET", f"{EXPERIMENT}/insight", show_insight, dict[str, Any], 404, 409)
    add("PUT", arm, put_arm, models.ArmOut, 201, 404, 409)
    add("DELETE", arm, retire_arm, models.ArmOut, 404, 409)
    add("PUT", f"{EXPERIMENT}/prior", put_prior, models.ExperimentOut, 404, 409)
    add("GET", f"{EXPERIMENT}/visits/{{visit}}", show_visit, models.VisitOut, 404, 409)


def settings_of(body: models.ExperimentIn) -> Settings:
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


def _arms(experiment: Experiment) -> dict[str, dict[str, Any]]:
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


def _check(name: str, prior: models.PriorIn) -> None:
    if prior.successes > prior.pulls:
        raise InputError(
            f"successes of {name!r} = {prior.successes:g} is not allowed: "
            f"it must be at most its pulls, {prior.pulls:g}"
        )

"""The calls of visits: what each does, and the table by which they are found.

They are most of the traffic. The middleware finds a call by its path and answers it without
FastAPI, in half the time; the OpenAPI schema describes the same entries of the same table.
"""

import asyncio
import inspect
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Body, FastAPI, Path
from pydantic import BaseModel
from starlette.routing import BaseRoute

from ..live import Conflict, Experiment, Unavailable
from ..live.answers import Decision, VisitInfo
from ..live.names import LONGEST_NAME, check_name
from . import answers, bodies
from .auth.keys import DECIDING, OPERATING, Roles
from .catalog import Catalog
from .errors import Refusal, documented, refusal_of

EXPERIMENT = "/v1/experiments/{experiment}"
VISIT = EXPERIMENT + "/visits/{visit}"
SLASH = "\x1f"
"""Stands for a slash within a name (%2F) until the path is taken apart; no name may have it."""

Answered = tuple[int, Any]  # a status and a body


class Target(NamedTuple):
    """The subject of a call: an experiment, a visit unless it is new, a step if the path has one.

    `tell` is called with the experiment and the outcome of a reward: learned, same, late, conflict.
    """

    experiment: Experiment
    tell: Callable[[str, str], None]
    visit: str | None = None
    step: int | None = None


async def open_new_visit(at: Target, body: bodies.OpeningIn) -> Answered:
    """Open a visit."""
    return await open_visit(at, body)


async def open_visit(at: Target, body: bodies.OpeningIn) -> Answered:
    """Open a visit, or find an open one."""
    visit = await at.experiment.avisit(body.user, at.visit, body.state)
    if visit.opened is not None:
        return 201, visit.opened
    return 200, await visit.ainfo()


async def decide(at: Target, body: bodies.DecideIn) -> Answered:
    """Choose the next arm."""
    assert at.visit is not None
    return 200, await at.experiment.adecide(at.visit, body.ask())


async def step(at: Target, body: bodies.StepIn) -> Answered:
    """Send the reward of the last arm, and get the next one."""
    return await decide(at, body)


async def reward(at: Target, body: bodies.RewardIn) -> Answered:
    """Send the reward of one decision."""
    assert at.visit is not None
    try:
        outcome = await at.experiment.get(at.visit).areward(body.value, step=at.step)
    except Conflict:
        at.tell(at.experiment.name, "conflict")
        raise
    at.tell(at.experiment.name, outcome)
    return 200, answers.Outcome(outcome)  # type: ignore[arg-type]


async def end(at: Target, body: bodies.EndIn) -> Answered:
    """End a visit: the user has left."""
    assert at.visit is not None
    return 200, answers.Ended(await at.experiment.get(at.visit).aend(body.reward))


IN_BATCH: dict[str, Callable[[Target, Any], Awaitable[Answered]]] = {
    "open": open_visit, "decide": decide, "step": step, "reward": reward, "end": end,
}  # fmt: skip


async def batch(at: Target, body: bodies.BatchIn) -> Answered:
    """Make many calls: those of one visit in order, visits concurrently."""
    found: list[Any] = [None] * len(body.calls)
    visits: dict[Any, list[int]] = defaultdict(list)
    end = time.monotonic() + at.experiment.journal.deadline
    for place, call in enumerate(body.calls):
        visits[place if call.visit is None else call.visit].append(place)

    async def in_order(places: list[int]) -> None:
        for place in places:
            call = body.calls[place]
            target = at._replace(visit=call.visit, step=getattr(call, "step", None))
            try:
                if time.monotonic() >= end:
                    raise Unavailable("the deadline passed before this call began")
                status, answer = await IN_BATCH[call.call](target, call)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal is None:
                    raise
                status, answer = refusal.status, refusal.body
            found[place] = answers.Answer(status, answer)

    await asyncio.gather(*(in_order(places) for places in visits.values()))
    return 200, answers.Answers(found)


class Call(NamedTuple):
    """A call: its method and path, what it does, and what it answers.

    `roles` are the roles of keys that may take it; `statuses` how else it may end. One with a
    `model` of its body is answered by the middleware, another one by FastAPI.
    """

    method: str
    path: str
    endpoint: Callable[..., Awaitable[Any]]
    answer: Any
    roles: Roles = OPERATING
    statuses: tuple[int, ...] = ()
    model: type[BaseModel] | None = None
    status: int = 200

    @property
    def name(self) -> str:
        return self.endpoint.__name__

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


FAST_ROUTES = (
    Call("POST", f"{EXPERIMENT}/visits", open_new_visit,
        VisitInfo, DECIDING, (404, 409), bodies.OpeningIn, 201),
    Call("PUT", VISIT, open_visit,
        VisitInfo, DECIDING, (201, 404, 409), bodies.OpeningIn),
    Call("POST", f"{VISIT}/decisions", decide,
        Decision, DECIDING, (404, 409, 410), bodies.DecideIn),
    Call("POST", f"{VISIT}/step", step,
        Decision, DECIDING, (404, 409, 410), bodies.StepIn),
    Call("PUT", f"{VISIT}/decisions/{{step}}/reward", reward,
        answers.Outcome, DECIDING, (404, 409), bodies.RewardIn),
    Call("PUT", f"{VISIT}/end", end,
        answers.Ended, DECIDING, (404, 409), bodies.EndIn),
    Call("POST", f"{EXPERIMENT}/batch", batch,
        answers.Answers, DECIDING, (404, 409), bodies.BatchIn),
)  # fmt: skip


def join(words: Sequence[str]) -> str:
    """A path for the router, where a slash within a name cannot be taken for one between names."""
    path = "/".join(words)
    if path.count("/") >= len(words):
        path = "/".join(word.replace("/", SLASH) for word in words)
    return path


def _place(method: str, words: Sequence[str]) -> tuple[Any, ...]:
    """Where in the table a call is: what is fixed in its path, and how long that is."""
    return method, len(words), *words[:3], *words[4::2]


TABLE: dict[tuple[Any, ...], Call] = {
    _place(route.method, route.words): route for route in FAST_ROUTES
}


def find(method: str, words: Sequence[str]) -> Call | None:
    """The call at a path, if it is in the table."""
    return TABLE.get(_place(method, words))


def methods(words: Sequence[str]) -> set[str]:
    """The methods that a path has in the table."""
    return {route.method for route in FAST_ROUTES if find(route.method, words) is not None}


async def answer(route: Call, catalog: Catalog, words: Sequence[str], body: bytes) -> Answered:
    """Do a call that was found in the table."""
    assert route.model is not None
    given = route.model.__pydantic_validator__.validate_json(body)
    name = words[3]
    experiment = catalog.in_use(name)
    if experiment is None:
        experiment = await catalog.experiment(check_name("experiment", name))
    visit = check_name("visit", words[5]) if len(words) > 5 else None
    step = _step(words[7]) if len(words) > 7 else None
    found: Answered = await route.endpoint(Target(experiment, catalog.tell, visit, step), given)
    return found


def _step(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= bodies.LAST_STEP:
        return int(text)
    raise Refusal(422, f"step = {text[:60]!r} is not allowed: it must be a whole number from 1 on")


def add_calls(router: FastAPI | APIRouter, tag: str, calls: Iterable[Call]) -> None:
    """Add calls to an application or its schema; they are named after their functions."""
    for call in calls:
        router.add_api_route(
            call.path,
            call.endpoint if call.model is None else _signature(call, call.model),
            methods=[call.method],
            status_code=call.status,
            response_model=call.answer,
            responses=documented(call.answer, call.statuses),
            operation_id=call.name,
            tags=[tag],
        )


def described() -> list[BaseRoute]:
    """The table as routes of FastAPI, to make the schema from; no request goes through them."""
    router = APIRouter()
    add_calls(router, "visits", FAST_ROUTES)
    return router.routes


def _signature(call: Call, model: type[BaseModel]) -> Callable[..., None]:
    """A function with the parameters that the path and the model have."""
    name: Any = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)]
    parameters = {word.strip("{}"): name for word in call.words if word.startswith("{")}
    if "step" in parameters:
        parameters["step"] = bodies.Step
    parameters["body"] = Annotated[model, Body()]

    def described() -> None: ...

    kind = inspect.Parameter.KEYWORD_ONLY
    given = [inspect.Parameter(name, kind, annotation=a) for name, a in parameters.items()]
    described.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    described.__name__, described.__doc__ = call.name, call.endpoint.__doc__
    return described

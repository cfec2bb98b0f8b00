"""The calls of visits over HTTP, by two doors to the same functions.

FastAPI has a route for each, from which it makes the OpenAPI schema. In front of it the gate looks
calls up in a table and validates with the same models, in half the time.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Body, FastAPI, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from pydantic_core import to_json

from ..live.names import LONGEST_NAME, check_name
from . import models, visits
from .errors import Refusal
from .live import Live

EXPERIMENT = "/v1/experiments/{experiment}"
SLASH = "\x1f"
"""Stands for a slash within a name (%2F) until the path is taken apart; no name may have it."""


def _named(text: str) -> str:
    return text.replace(SLASH, "/")


InPath = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)]


class Hot(NamedTuple):
    """A call: where, what it takes, what it does, what it answers, and how else it may end."""

    name: str
    method: str
    path: str
    model: type[BaseModel]
    call: Callable[..., Awaitable[visits.Answer]]
    answer: type[BaseModel]
    statuses: tuple[int, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The parts of its path."""
        return tuple(self.path.split("/"))


VISIT = EXPERIMENT + "/visits/{visit}"
CALLS = (
    Hot(
        "open_new_visit", "POST", f"{EXPERIMENT}/visits",
        models.Opening, visits.open_visit, models.Visit, (201, 404),
    ),
    Hot(
        "open_visit", "PUT", VISIT,
        models.Opening, visits.open_visit, models.Visit, (200, 201, 404),
    ),
    Hot(
        "decide", "POST", f"{VISIT}/decisions",
        models.Deciding, visits.decide, models.Decision, (200, 404, 409, 410),
    ),
    Hot(
        "step", "POST", f"{VISIT}/step",
        models.Stepping, visits.step, models.Decision, (200, 404, 409, 410),
    ),
    Hot(
        "reward", "PUT", f"{VISIT}/decisions/{{step}}/reward",
        models.Rewarding, visits.reward, models.Outcome, (200, 404, 409),
    ),
    Hot(
        "end", "PUT", f"{VISIT}/end",
        models.Ending, visits.end, models.Ended, (200, 404, 409),
    ),
    Hot(
        "batch", "POST", f"{EXPERIMENT}/batch",
        models.Batch, visits.batch, models.Answers, (200, 404),
    ),
)  # fmt: skip

Place = tuple[Any, ...]


def place(method: str, words: list[str] | tuple[str, ...]) -> Place:
    """Where in the table a call is: what is fixed in its path, and how long that is."""
    return method, len(words), *words[4::2]


TABLE: dict[Place, Hot] = {place(hot.method, hot.words): hot for hot in CALLS}


async def answer(hot: Hot, live: Live, words: list[str], body: bytes) -> visits.Answer:
    """Do a call that was found in the table."""
    given = hot.model.__pydantic_validator__.validate_json(body)
    name = words[3]
    experiment = live.experiments.get(name) or await live.experiment(check_name("experiment", name))
    if hot.call is visits.batch:
        return await visits.batch(experiment, given, tell=live.tell)
    if len(words) < 6:
        return await hot.call(experiment, None, given)
    visit = check_name("visit", words[5])
    if hot.call is visits.reward:
        return await visits.reward(experiment, visit, given, _step(words[7]), tell=live.tell)
    return await hot.call(experiment, visit, given)


def _step(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= models.LAST_STEP:
        return int(text)
    raise Refusal(422, f"step = {text[:60]!r} is not allowed: it must be a whole number from 1 on")


def reply(status: int, body: Any) -> JSONResponse:
    """An answer by FastAPI's door."""
    return JSONResponse(body, status)


def encode(body: Any) -> bytes:
    """An answer by the other door."""
    return to_json(body)


def add_routes(app: FastAPI, failures: Callable[..., dict[int | str, Any]]) -> None:
    """FastAPI's door, with all that the schema says of it."""
    for hot in CALLS:
        done = [status for status in hot.statuses if status < 300]
        others: dict[int | str, Any] = {status: {"model": hot.answer} for status in done[1:]}
        app.add_api_route(
            hot.path,
            _endpoint(hot),
            methods=[hot.method],
            status_code=done[0],
            response_model=hot.answer,
            responses={**others, **failures(*(s for s in hot.statuses if s >= 400))},
            summary=(hot.call.__doc__ or "").split("\n")[0],
            operation_id=hot.name,
            tags=["visits"],
        )


def _endpoint(hot: Hot) -> Callable[..., Any]:
    """A function for FastAPI with the parameters that the path and the model have."""

    async def endpoint(request: Request, **given: Any) -> JSONResponse:
        words = [_named(str(given.get(w.strip("{}"), w))) for w in hot.words]
        live = request.app.state.live
        return reply(*await answer(hot, live, words, given["body"].model_dump_json().encode()))

    kinds: dict[str, Any] = {"step": models.Step}
    names = [w.strip("{}") for w in hot.words if w.startswith("{")]
    parameters = {name: kinds.get(name, InPath) for name in names}
    parameters["body"] = Annotated[hot.model, Body()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("request", keyword, annotation=Request),
            *(inspect.Parameter(name, keyword, annotation=a) for name, a in parameters.items()),
        ]
    )
    return endpoint

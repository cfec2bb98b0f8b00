"""The calls of visits over HTTP, in a table: what the gate answers, and what the schema says.

They are most of the traffic. The gate finds a call by its path and answers it without FastAPI,
in half the time; the OpenAPI schema describes the same entries of the same table.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel
from starlette.routing import BaseRoute

from ..live.names import LONGEST_NAME, check_name
from . import models, visits
from .catalog import Catalog
from .errors import Refusal, documented

EXPERIMENT = "/v1/experiments/{experiment}"
VISIT = EXPERIMENT + "/visits/{visit}"
SLASH = "\x1f"
"""Stands for a slash within a name (%2F) until the path is taken apart; no name may have it."""


class Hot(NamedTuple):
    """A call: where, what it takes, what it does, what it answers, and how else it may end."""

    name: str
    method: str
    path: str
    model: type[BaseModel]
    call: Callable[[visits.Target, Any], Awaitable[visits.Answer]]
    answer: type[BaseModel]
    statuses: tuple[int, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


CALLS = (
    Hot("open_new_visit", "POST", f"{EXPERIMENT}/visits",
        models.OpeningIn, visits.open_visit, models.VisitOut, (201, 404, 409)),
    Hot("open_visit", "PUT", VISIT,
        models.OpeningIn, visits.open_visit, models.VisitOut, (200, 201, 404, 409)),
    Hot("decide", "POST", f"{VISIT}/decisions",
        models.DecideIn, visits.decide, models.DecisionOut, (200, 404, 409, 410)),
    Hot("step", "POST", f"{VISIT}/step",
        models.StepIn, visits.step, models.DecisionOut, (200, 404, 409, 410)),
    Hot("reward", "PUT", f"{VISIT}/decisions/{{step}}/reward",
        models.RewardIn, visits.reward, models.OutcomeOut, (200, 404, 409)),
    Hot("end", "PUT", f"{VISIT}/end",
        models.EndIn, visits.end, models.EndedOut, (200, 404, 409)),
    Hot("batch", "POST", f"{EXPERIMENT}/batch",
        models.BatchIn, visits.batch, models.AnswersOut, (200, 404, 409)),
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


TABLE: dict[tuple[Any, ...], Hot] = {_place(hot.method, hot.words): hot for hot in CALLS}


def find(method: str, words: Sequence[str]) -> Hot | None:
    """The call at a path, if it is in the table.

    >>> find("PUT", "/v1/experiments/shorts/visits/v1/end".split("/")).name
    'end'
    """
    return TABLE.get(_place(method, words))


def methods(words: Sequence[str]) -> set[str]:
    """The methods that a path has in the table."""
    return {hot.method for hot in CALLS if find(hot.method, words) is not None}


async def answer(hot: Hot, catalog: Catalog, words: Sequence[str], body: bytes) -> visits.Answer:
    """Do a call that was found in the table."""
    given = hot.model.__pydantic_validator__.validate_json(body)
    name = words[3]
    experiment = catalog.experiments.get(name)
    if experiment is None or experiment.dropped:
        experiment = await catalog.experiment(check_name("experiment", name))
    visit = check_name("visit", words[5]) if len(words) > 5 else None
    step = _step(words[7]) if len(words) > 7 else None
    return await hot.call(visits.Target(experiment, catalog.tell, visit, step), given)


def _step(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= models.LAST_STEP:
        return int(text)
    raise Refusal(422, f"step = {text[:60]!r} is not allowed: it must be a whole number from 1 on")


def described() -> list[BaseRoute]:
    """The table as routes of FastAPI, to make the schema from; no request goes through them."""
    router = APIRouter()
    for hot in CALLS:
        done = hot.statuses[0]
        router.add_api_route(
            hot.path,
            _signature(hot),
            methods=[hot.method],
            status_code=done,
            response_model=hot.answer,
            responses=documented(hot.answer, hot.statuses[1:]),
            summary=(hot.call.__doc__ or "").split("\n")[0],
            operation_id=hot.name,
            tags=["visits"],
        )
    return router.routes


def _signature(hot: Hot) -> Callable[..., None]:
    """A function with the parameters that the path and the model have."""
    name: Any = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)]
    parameters = {word.strip("{}"): name for word in hot.words if word.startswith("{")}
    if "step" in parameters:
        parameters["step"] = models.Step
    parameters["body"] = Annotated[hot.model, Body()]

    def described() -> None: ...

    kind = inspect.Parameter.KEYWORD_ONLY
    given = [inspect.Parameter(name, kind, annotation=a) for name, a in parameters.items()]
    described.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    return described

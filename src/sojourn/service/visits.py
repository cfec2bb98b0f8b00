"""The calls of visits, without HTTP: each returns a status and a body."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from ..live import Conflict, Experiment, Opening
from . import models
from .errors import refusal_of

Answer = tuple[int, dict[str, Any]]
Tell = Callable[[str, str], None]
"""Is told what became of a reward: the experiment, and learned, same, late or conflict."""


async def open_visit(experiment: Experiment, visit: str | None, body: models.Opening) -> Answer:
    """Open a visit, or find it."""
    opened = await experiment.avisit(body.user, visit, body.state)
    if opened.opened is not None:
        return 201, opened.opened._asdict()
    return 200, (await opened.ainfo())._asdict()


async def decide(experiment: Experiment, visit: str, body: models.Deciding) -> Answer:
    """The next arm."""
    return await _decide(experiment, visit, None, body)


async def step(experiment: Experiment, visit: str, body: models.Stepping) -> Answer:
    """The reward of the last arm, and the next one."""
    return await _decide(experiment, visit, body.reward, body)


async def _decide(
    experiment: Experiment, visit: str, reward: float | None, body: models.Deciding
) -> Answer:
    opening = None if body.open is None else Opening(body.open.user, body.open.state)
    made = await experiment.adecide(
        visit, reward, request=body.request_id, step=body.step, opening=opening
    )
    name, number, arm, state, propensity = made
    return 200, {
        "id": f"{name}:{number}",
        "visit": name,
        "step": number,
        "arm": arm,
        "state": state,
        "propensity": propensity,
    }


async def reward(
    experiment: Experiment, visit: str, body: models.Rewarding, step: int, *, tell: Tell
) -> Answer:
    """The reward of one decision."""
    try:
        outcome = await experiment.get(visit).areward(body.value, step=step)
    except Conflict:
        tell(experiment.name, "conflict")
        raise
    tell(experiment.name, outcome)
    return 200, {"outcome": outcome}


async def end(experiment: Experiment, visit: str, body: models.Ending) -> Answer:
    """The user has left."""
    return 200, {"ended": await experiment.get(visit).aend(body.reward)}


IN_BATCH: dict[str, Callable[..., Awaitable[Answer]]] = {
    "open": open_visit,
    "decide": decide,
    "step": step,
    "end": end,
}


async def batch(experiment: Experiment, body: models.Batch, *, tell: Tell) -> Answer:
    """Many calls: those of one visit in their order, visits side by side."""
    answers: list[Any] = [None] * len(body.calls)
    visits: dict[Any, list[int]] = defaultdict(list)
    for place, call in enumerate(body.calls):
        visits[place if call.visit is None else call.visit].append(place)

    async def in_order(places: list[int]) -> None:
        for place in places:
            call = body.calls[place]
            doing: Awaitable[Answer]
            if isinstance(call, models.RewardCall):
                doing = reward(experiment, call.visit, call, call.step, tell=tell)
            else:
                doing = IN_BATCH[call.call](experiment, call.visit, call)
            status, answer = await answered(doing)
            answers[place] = {"status": status, "body": answer}

    await asyncio.gather(*(in_order(places) for places in visits.values()))
    return 200, {"answers": answers}


async def answered(call: Awaitable[Answer]) -> Answer:
    """The answer to a call, refusals included."""
    try:
        return await call
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return refusal.status, refusal.body

"""The calls of visits, without HTTP: each returns a status and a body."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ..live import Conflict, Experiment, Unavailable
from ..live.answers import Ask, shallow
from . import models
from .errors import refusal_of

Answer = tuple[int, dict[str, Any]]


class Target(NamedTuple):
    """What a call is about: an experiment, a visit unless it is new, a step if that is in the path.

    `tell` is told what became of a reward: the experiment, and learned, same, late or conflict.
    """

    experiment: Experiment
    tell: Callable[[str, str], None]
    visit: str | None = None
    step: int | None = None


async def open_visit(at: Target, body: models.OpeningIn) -> Answer:
    """Open a visit, or find it."""
    visit = await at.experiment.avisit(body.user, at.visit, body.state)
    if visit.opened is not None:
        return 201, shallow(visit.opened)
    return 200, shallow(await visit.ainfo())


async def decide(at: Target, body: models.DecideIn) -> Answer:
    """The next arm."""
    return await _decide(at, body.ask())


async def step(at: Target, body: models.StepIn) -> Answer:
    """The reward of the last arm, and the next one."""
    return await _decide(at, body.ask())


async def _decide(at: Target, ask: Ask) -> Answer:
    assert at.visit is not None
    return 200, shallow(await at.experiment.adecide(at.visit, ask))


async def reward(at: Target, body: models.RewardIn) -> Answer:
    """The reward of one decision."""
    assert at.visit is not None
    try:
        outcome = await at.experiment.get(at.visit).areward(body.value, step=at.step)
    except Conflict:
        at.tell(at.experiment.name, "conflict")
        raise
    at.tell(at.experiment.name, outcome)
    return 200, {"outcome": outcome}


async def end(at: Target, body: models.EndIn) -> Answer:
    """The user has left."""
    assert at.visit is not None
    return 200, {"ended": await at.experiment.get(at.visit).aend(body.reward)}


IN_BATCH: dict[str, Callable[[Target, Any], Awaitable[Answer]]] = {
    "open": open_visit, "decide": decide, "step": step, "reward": reward, "end": end,
}  # fmt: skip


async def batch(at: Target, body: models.BatchIn) -> Answer:
    """Many calls: those of one visit in order, visits concurrently."""
    answers: list[Any] = [None] * len(body.calls)
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
            answers[place] = {"status": status, "body": answer}

    await asyncio.gather(*(in_order(places) for places in visits.values()))
    return 200, {"answers": answers}

"""Decisions in a FastAPI app, in the event loop.

pip install 'sojourn[postgres]' fastapi uvicorn
uvicorn --workers 4 fastapi_app:app
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import sojourn as sj
from sojourn.live import Ask, Busy, Conflict, Ended, LiveError, NotFound, Opening, Unavailable

STATUS = {NotFound: 404, Conflict: 409, Ended: 410, Busy: 503, Unavailable: 503}


def open_shorts() -> sj.Experiment:
    """Opened by name: made if the store does not have it, gone on with if it does."""
    store = os.environ.get("SOJOURN_STORE", "sqlite:///live.db")
    return sj.Experiment("shorts", arms=["dance", "cooking", "news"], store=store)


@asynccontextmanager
async def life(app: FastAPI) -> AsyncIterator[None]:
    """Once in every worker, after it was started: to open and to close may take seconds."""
    shorts = app.state.shorts = await asyncio.to_thread(open_shorts)
    yield
    await asyncio.to_thread(shorts.close)


app = FastAPI(lifespan=life)


class Leave(BaseModel):
    """The user has left, perhaps after a last reward."""

    visit: str
    reward: float | None = None


class Next(Leave):
    """The number of the step wanted, and the reward of the one before."""

    step: int
    user: str | None = None


@app.post("/next")
async def following(asked: Next) -> dict[str, str]:
    """What to show at this step."""
    shorts: sj.Experiment = app.state.shorts
    ask = Ask(
        reward=asked.reward,
        request=f"step {asked.step}",
        step=asked.step,
        opening=Opening(asked.user) if asked.step == 1 else None,
    )
    decision = await shorts.adecide(asked.visit, ask)
    return {"show": decision.arm}


@app.post("/leave")
async def leave(asked: Leave) -> dict[str, bool]:
    """Whether the visit was still open."""
    return {"left": await app.state.shorts.get(asked.visit).aend(asked.reward)}


@app.exception_handler(LiveError)
async def refused(_: Request, error: Exception) -> JSONResponse:
    """Nothing was done, or (503) it is for the front end to send the same again."""
    return JSONResponse({"error": str(error)}, STATUS.get(type(error), 500))


@app.exception_handler(ValueError)
async def not_allowed(_: Request, error: Exception) -> JSONResponse:
    """A reward out of range, a name that is no name: one sentence says what is allowed."""
    return JSONResponse({"error": str(error)}, 422)

"""Decisions in a Flask app.

pip install 'sojourn[postgres]' flask gunicorn
gunicorn --workers 4 --threads 16 flask_app:app
"""

import atexit
import os
from typing import Any

from flask import Flask, request

import sojourn as sj
from sojourn.live import Ask, Busy, Conflict, Ended, LiveError, NotFound, Opening, Unavailable

STATUS = {NotFound: 404, Conflict: 409, Ended: 410, Busy: 503, Unavailable: 503}

store = os.environ.get("SOJOURN_STORE", "sqlite:///live.db")
shorts = sj.Experiment("shorts", arms=["dance", "cooking", "news"], store=store)
atexit.register(shorts.close)

app = Flask(__name__)


@app.post("/next")
def following() -> dict[str, Any]:
    """What to show at this step, after the reward of the step before."""
    asked = request.get_json()
    step = asked["step"]
    ask = Ask(
        reward=asked.get("reward"),
        request=f"step {step}",
        step=step,
        opening=Opening(asked.get("user")) if step == 1 else None,
    )
    decision = shorts.decide(asked["visit"], ask)
    return {"show": decision.arm}


@app.post("/leave")
def leave() -> dict[str, Any]:
    """The user has left, perhaps after a last reward."""
    asked = request.get_json()
    return {"left": shorts.get(asked["visit"]).end(asked.get("reward"))}


@app.errorhandler(LiveError)
def refused(error: LiveError) -> tuple[dict[str, str], int]:
    """Nothing was done, or (503) it is for the front end to send the same again."""
    return {"error": str(error)}, STATUS.get(type(error), 500)


@app.errorhandler(ValueError)
def not_allowed(error: ValueError) -> tuple[dict[str, str], int]:
    """A reward out of range, a name that is no name: one sentence says what is allowed."""
    return {"error": str(error)}, 422

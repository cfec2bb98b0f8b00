"""Decisions in a Django project, here in one file.

pip install 'sojourn[postgres]' django gunicorn
gunicorn --workers 4 --threads 16 django_app:application
"""

import atexit
import json
import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

import sojourn as sj
from sojourn.live import Ask, Busy, Conflict, Ended, LiveError, NotFound, Opening, Unavailable

STATUS = {NotFound: 404, Conflict: 409, Ended: 410, Busy: 503, Unavailable: 503}


@cache
def _open() -> sj.Experiment:
    store = os.environ.get("SOJOURN_STORE", "sqlite:///live.db")
    experiment = sj.Experiment("shorts", arms=["dance", "cooking", "news"], store=store)
    atexit.register(experiment.close)
    return experiment


_opening = threading.Lock()


def shorts() -> sj.Experiment:
    """Not when this module is imported: every command of manage.py imports the views."""
    with _opening:
        return _open()


def answering(view: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[..., JsonResponse]:
    """A view that takes JSON and answers with JSON, errors too."""

    @require_POST
    @wraps(view)
    def answer(request: HttpRequest) -> JsonResponse:
        try:
            return JsonResponse(view(json.loads(request.body)))
        except LiveError as error:
            return JsonResponse({"error": str(error)}, status=STATUS.get(type(error), 500))
        except ValueError as error:
            return JsonResponse({"error": str(error)}, status=422)

    return answer


@answering
def following(asked: dict[str, Any]) -> dict[str, Any]:
    """What to show at this step, after the reward of the step before."""
    step = asked["step"]
    ask = Ask(
        reward=asked.get("reward"),
        request=f"step {step}",
        step=step,
        opening=Opening(asked.get("user")) if step == 1 else None,
    )
    decision = shorts().decide(asked["visit"], ask)
    return {"show": decision.arm}


@answering
def leave(asked: dict[str, Any]) -> dict[str, Any]:
    """The user has left, perhaps after a last reward."""
    return {"left": shorts().get(asked["visit"]).end(asked.get("reward"))}


urlpatterns = [path("next", following), path("leave", leave)]

# In a project the rest is settings.py and wsgi.py, which ends with the last line.
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="not used here")
application = get_wsgi_application()
shorts()

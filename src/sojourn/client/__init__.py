"""The service from Python: `Client`, and `AsyncClient` for asyncio.

The names are those of `sojourn.Experiment` and its visits, so moving an experiment from the process
to HTTP changes one line. Needs httpx (`pip install 'sojourn[client]'`) and nothing of the server:
no Numba, no NumPy, no policies.
"""

from ..live.answers import Ask, Logged
from ..live.errors import Busy, Conflict, Ended, LiveError, NotFound, Unavailable
from .async_client import AsyncClient, AsyncExperiment, AsyncVisit
from .caller import AccessDenied
from .client import Client, Experiment, Visit

__all__ = [
    "AccessDenied", "Ask", "AsyncClient", "AsyncExperiment", "AsyncVisit", "Busy", "Client",
    "Conflict", "Ended", "Experiment", "LiveError", "Logged", "NotFound", "Unavailable", "Visit",
]  # fmt: skip

"""The service from Python: `Client`, and for asyncio `AsyncClient`.

Names are those of `Experiment` and `Visit`, so that moving from an experiment in the process to
one behind HTTP changes the line that makes it. Needs httpx: `pip install 'sojourn[client]'`.
"""

from .aclient import AsyncClient, AsyncExperiment, AsyncVisit
from .blocking import Client, Experiment, Visit
from .calls import Refused

__all__ = [
    "AsyncClient",
    "AsyncExperiment",
    "AsyncVisit",
    "Client",
    "Experiment",
    "Refused",
    "Visit",
]

"""Live decisions in one process or many: `Bandit`, `Visit`, and stores that lose nothing."""

from .audit import export, verify
from .bandit import Bandit
from .errors import Busy, Conflict, Ended, LiveError, NotFound, Unavailable
from .journal import Journal
from .settings import Settings
from .states import LastReward, MovingAverage
from .stores import MemoryStore, PostgresStore, SqliteStore, Store, open_store
from .visit import Decision, Visit

__all__ = [
    "Bandit",
    "Busy",
    "Conflict",
    "Decision",
    "Ended",
    "Journal",
    "LastReward",
    "LiveError",
    "MemoryStore",
    "MovingAverage",
    "NotFound",
    "PostgresStore",
    "Settings",
    "SqliteStore",
    "Store",
    "Unavailable",
    "Visit",
    "export",
    "open_store",
    "verify",
]

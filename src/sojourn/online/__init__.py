"""Live decisions in one process or many: `Bandit`, `Visit`, and stores that lose nothing."""

from .audit import export, verify
from .bandit import Bandit
from .errors import Busy, Conflict, Ended, InUse, LiveError, NotFound, Unavailable
from .journal import Journal
from .records import Bucket
from .settings import Settings
from .states import LastReward, MovingAverage
from .stores import MemoryStore, PostgresStore, SqliteStore, Store, open_store
from .visit import Choice, Decision, Opening, Visit

__all__ = [
    "Bandit",
    "Bucket",
    "Busy",
    "Choice",
    "Conflict",
    "Decision",
    "Ended",
    "InUse",
    "Journal",
    "LastReward",
    "LiveError",
    "MemoryStore",
    "MovingAverage",
    "NotFound",
    "Opening",
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

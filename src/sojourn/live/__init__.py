"""Live decisions in one process or many: `Experiment`, `Visit`, and stores that lose nothing."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from .answers import Decision as Decision
    from .audit import export as export
    from .audit import verify as verify
    from .errors import Busy as Busy
    from .errors import Conflict as Conflict
    from .errors import Ended as Ended
    from .errors import InUse as InUse
    from .errors import LiveError as LiveError
    from .errors import NotFound as NotFound
    from .errors import Unavailable as Unavailable
    from .experiment import Experiment as Experiment
    from .journal import Journal as Journal
    from .records import Bucket as Bucket
    from .settings import Settings as Settings
    from .stores import Store as Store
    from .stores import open_store as open_store
    from .stores import store_class as store_class
    from .stores.memory import MemoryStore as MemoryStore
    from .stores.postgres import PostgresStore as PostgresStore
    from .stores.sqlite import SqliteStore as SqliteStore
    from .visit import Choice as Choice
    from .visit import Opening as Opening
    from .visit import Visit as Visit
    from .visit import VisitInfo as VisitInfo

__getattr__, __dir__ = exports(
    __name__,
    {
        ".answers": ["Decision"],
        ".audit": ["export", "verify"],
        ".errors": [
            "Busy", "Conflict", "Ended", "InUse", "LiveError", "NotFound", "Unavailable",
        ],
        ".experiment": ["Experiment"],
        ".journal": ["Journal"],
        ".records": ["Bucket"],
        ".settings": ["Settings"],
        ".stores": ["Store", "open_store", "store_class"],
        ".stores.memory": ["MemoryStore"],
        ".stores.postgres": ["PostgresStore"],
        ".stores.sqlite": ["SqliteStore"],
        ".visit": ["Choice", "Opening", "Visit", "VisitInfo"],
    },
)  # fmt: skip

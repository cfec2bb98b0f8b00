"""Live decisions in one process or many: `Experiment`, `Visit`, and stores that lose nothing."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from .answers import (
        Ask as Ask,
        Choice as Choice,
        Decision as Decision,
        Logged as Logged,
        Opening as Opening,
        VisitInfo as VisitInfo,
    )
    from .archiving import (
        Archived as Archived,
        Erased as Erased,
        archive as archive,
        drop_archived as drop_archived,
        erase as erase,
    )
    from .audit import verify as verify
    from .branch import Branch as Branch
    from .enrolment import Variant as Variant
    from .errors import (
        Broken as Broken,
        Busy as Busy,
        Conflict as Conflict,
        Damaged as Damaged,
        Ended as Ended,
        Forked as Forked,
        InUse as InUse,
        LiveError as LiveError,
        NotFound as NotFound,
        Unavailable as Unavailable,
    )
    from .experiment import Experiment as Experiment
    from .exporting import export as export
    from .journal import Journal as Journal
    from .monitor.drift import Drift as Drift, Series as Series, drift as drift
    from .monitor.shadow import Shadow as Shadow, shadow as shadow
    from .records import Bucket as Bucket, Edit as Edit, Part as Part, Snapshot as Snapshot
    from .rollout.allocation import Alarm as Alarm, Allocation as Allocation, Guardrail as Guardrail
    from .rollout.comparison import (
        Comparison as Comparison,
        History as History,
        Measured as Measured,
        compare as compare,
        history as history,
    )
    from .settings import Settings as Settings
    from .stores import (
        Store as Store,
        backup as backup,
        open_store as open_store,
        store_class as store_class,
    )
    from .stores.postgres import PostgresStore as PostgresStore
    from .stores.sqlite import SqliteStore as SqliteStore
    from .visit import Visit as Visit

__getattr__, __dir__ = exports(__name__)

"""From logs to a decision: read, fit, diagnose, replay."""

from .deciding.decision import Decision, decide
from .deciding.outcomes import Outcome
from .fitting.diagnosis import Costs, Interval, Pair
from .fitting.doubts import Doubt
from .fitting.ema import EmaFit
from .fitting.fit import Variant, fit, sensitivity
from .fitting.model import Arm, Fit, Reading
from .fitting.users import OwnFirstStep, TableLeave
from .reading.source import columns
from .replaying.replay import Replay, learn, replay
from .reporting.page import write_report
from .synthetic import synthetic_log

__all__ = [
    "Arm",
    "Costs",
    "Decision",
    "Doubt",
    "EmaFit",
    "Fit",
    "Interval",
    "Outcome",
    "OwnFirstStep",
    "Pair",
    "Reading",
    "Replay",
    "TableLeave",
    "Variant",
    "columns",
    "decide",
    "fit",
    "learn",
    "replay",
    "sensitivity",
    "synthetic_log",
    "write_report",
]

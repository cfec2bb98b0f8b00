"""From logs to a decision: read, fit, diagnose, replay."""

from .decision import Decision, decide
from .diagnosis import Costs, Interval, Pair
from .doubts import Doubt
from .ema import EmaFit
from .model import Arm, Fit, Reading
from .outcomes import Outcome
from .page import write_report
from .read import Variant, fit, sensitivity
from .replay import Replay, learn, replay
from .source import columns
from .synthetic import synthetic_log
from .users import OwnFirstStep, TableLeave

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

"""What an experiment has learned, in numbers and words, from the counters of its store."""

from .reasons import Reason, bound, reason
from .summary import Insight, insight

__all__ = ["Insight", "Reason", "bound", "insight", "reason"]

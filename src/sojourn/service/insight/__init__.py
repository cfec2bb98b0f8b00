"""What an experiment has learned, in numbers and words, from the counters of its store."""

from .summary import Insight, insight

__all__ = ["Insight", "insight"]

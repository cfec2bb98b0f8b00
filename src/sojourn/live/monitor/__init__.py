"""What the counters of an experiment say, in numbers and words."""

from .insight import Insight, insight, insight_of

__all__ = ["Insight", "insight", "insight_of"]

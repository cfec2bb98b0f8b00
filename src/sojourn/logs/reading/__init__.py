"""Logs as they come become steps of visits: a table of them, and the codes that it has."""

from typing import Any

ON, LEFT, CENSORED = 0, 1, 2
"""What happened after a step: another one, a departure, or the log ended."""

BUCKETS = 4096
"""Users fall into this many classes by a hash that is the same in every engine."""


def held_out(table: Any) -> Any:
    """1 for the steps of a quarter of the users, picked by hash: predictions are tested on them."""
    return (table.bucket % 4 == 3).ifelse(1, 0)

"""Sums over assigned visits by groups of users, from which variants are compared.

Every visit counts with what it earns within a window of the same length from its opening
(`Row.until`), whether it has ended or not. Compared are the visits opened before the oldest one
that is open and within its window; a store leaves out the others. So visits come into a comparison
in the order in which they were opened, and a short one does not count before a long one.

Visits of one user are not independent, so that differences between variants need clusters by user.
Users are put into `GROUPS` groups by a hash of their id: no two groups share a user, so that their
variation is that of clusters. The cost does not depend on the number of users, and no id is kept.
A visit without a user is one of its own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..records import DECIDE, END, LEAVE, OPEN, RETRACT, Event, Row
from .allocation import hash_of, unit_of

GROUPS = 1000


class Group(NamedTuple):
    """Sums over the assigned visits of the users of one group, of one epoch of the shares.

    `opened` counts all of them; the rest is of the `visits` that are compared, within their
    windows: some `left`, others timed out or stayed. The sums that are kept leave no visit out.
    """

    experiment: str
    epoch: int
    number: int
    opened: float = 0.0
    visits: float = 0.0
    steps: float = 0.0
    reward: float = 0.0
    left: float = 0.0


def number_of(visit: str, user: str | None) -> int:
    """The group of a visit: that of its user, or one by its own id."""
    return hash_of(unit_of(visit, user)) % GROUPS


def added_by(row: Row, events: Iterable[Event]) -> Group | None:
    """The sums that events of a visit, within its window, add to its group; None: nothing."""
    if not row.epoch:
        return None
    opened = steps = reward = left = 0.0
    for event in events:
        opened += event.kind == OPEN
        steps += event.kind == DECIDE
        left += event.kind == LEAVE and event.cause == END
        if event.arm is not None and event.reward:
            reward += -event.reward if event.kind == RETRACT else event.reward
    total = Group(row.experiment, row.epoch, row.group, opened, opened, steps, reward, left)
    return total if any(total[3:]) else None

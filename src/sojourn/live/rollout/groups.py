"""Sums over assigned visits by groups of users, from which variants are compared.

Visits of one user are not independent, so that differences between variants need clusters by user.
Users are put into `GROUPS` groups by a hash of their id: no two groups share a user, so that their
variation is that of clusters. The cost does not depend on the number of users, and no id is kept.
A visit without a user is one of its own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..records import END, LEAVE, OPEN, RETRACT, Event, Row
from .allocation import hash_of, unit_of

GROUPS = 1000


class Group(NamedTuple):
    """Sums over the assigned visits of the users of one group, of one epoch of the shares.

    `opened` counts all of them; the rest is of visits that have ended, of which some `left` and the
    others timed out.
    """

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
    """The sums that events of a visit, at `row` after them, add to its group; None: nothing.

    Late rewards that are learned after the end are added to those of the visit.
    """
    if not row.epoch:
        return None
    events = list(events)
    over = row.status != "open" and all(event.kind != LEAVE for event in events)
    total = Group(row.epoch, row.group)
    for event in events:
        if event.kind == OPEN:
            total = total._replace(opened=1.0)
        elif event.kind == LEAVE:
            over, left, gained = True, float(event.cause == END), event.reward or 0.0
            total = total._replace(visits=1.0, steps=float(event.step), reward=gained, left=left)
        elif over and event.arm is not None and event.reward:
            sign = -1.0 if event.kind == RETRACT else 1.0
            total = total._replace(reward=total.reward + sign * event.reward)
    return total if any(total[2:]) else None

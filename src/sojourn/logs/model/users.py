"""User models that come out of logs: a first step of its own, and a leave curve from a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ... import validation
from ...engine.structs import PYTHON_ONLY
from ...stats.moments import Array
from ...users import LeaveCurve, StaysFirst
from ...users.wrappers import shifted
from ...validation import InputError


@dataclass(frozen=True, repr=False)
class OwnFirstStep(StaysFirst):
    """The same user, who leaves after the first step with chances of its own.

    `first0` and `first1` are the chances to leave after reward 0 and 1 there; of graded rewards,
    those from `good` on count as 1. In logs the first step is often different: people look in and
    go. Around a user who leaves by arm, `odds` are the log odds that arms add there.

    >>> from sojourn import TwoState
    >>> user = OwnFirstStep(TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1), first0=0.6, first1=0.4)
    >>> s = user.begin(0.5); user.leave_probability(s, 0.0, 0), user.leave_probability(1.0, 0.0, 0)
    (0.6, 0.3)
    """

    first0: float
    first1: float
    good: float = 0.0
    odds: Sequence[float] = field(default=(), metadata=PYTHON_ONLY)
    table: Array = field(init=False, repr=False, compare=False)
    """Leave probabilities by [arm, reward], or one row for all arms."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first0", "first1", "good"):
            object.__setattr__(self, name, validation.number(name, getattr(self, name), 0, 1))
        odds = tuple(float(x) for x in self.odds)
        if odds and len(odds) != self.space.arms:
            raise InputError(
                f"odds = {validation.shown(odds)} is not allowed: give one for each of the arms of "
                f"user = {validation.shown(self.user)}, or none"
            )
        rows = [[shifted(q, x) for q in (self.first0, self.first1)] for x in odds or (0.0,)]
        vars(self).update(odds=odds, table=np.array(rows))

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        if state < 0.0:
            good = 1 if reward > 0.0 and reward >= self.good else 0
            return float(self.table[min(arm, self.table.shape[0] - 1), good])
        return self.user.leave_probability(state, reward, arm)


@dataclass(frozen=True)
class TableLeave(LeaveCurve):
    """A leave curve through points, straight between them and level outside.

    >>> TableLeave(states=(0.2, 0.8), q=(0.3, 0.1)).probability(0.5)
    0.2
    """

    states: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.states) != len(self.q) or not self.states:
            raise InputError("states and q are not allowed: they must be as many, and not none")
        if any(a >= b for a, b in zip(self.states, self.states[1:], strict=False)):
            raise InputError(f"states = {self.states!r} is not allowed: they must ascend")
        for name in ("states", "q"):
            object.__setattr__(self, name, validation.numbers(name, getattr(self, name), 0, 1))

    def probability(self, state: float) -> float:
        last = len(self.states) - 1
        if state <= self.states[0]:
            return self.q[0]
        if state >= self.states[last]:
            return self.q[last]
        i = 1
        while self.states[i] < state:
            i += 1
        share = (state - self.states[i - 1]) / (self.states[i] - self.states[i - 1])
        return self.q[i - 1] + share * (self.q[i] - self.q[i - 1])

    @property
    def falls(self) -> bool:
        return all(a >= b for a, b in zip(self.q, self.q[1:], strict=False))

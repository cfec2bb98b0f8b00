"""What the calls of a visit take and return, in the process and over HTTP alike."""

from typing import Any, NamedTuple

from .. import checks

LEARNED, SAME, TOO_LATE = "learned", "same", "late"
"""What became of a reward."""


class Decision(NamedTuple):
    """An arm for one step of a visit."""

    visit: str
    step: int
    arm: str
    state: float
    propensity: float | None

    @property
    def id(self) -> str:
        """Unique within the experiment: the visit and the step."""
        return f"{self.visit}:{self.step}"


def reward_of(value: Any) -> float:
    """A reward as a number from 0 to 1; True and False will do."""
    return checks.number("reward", float(value) if isinstance(value, bool) else value, 0, 1)

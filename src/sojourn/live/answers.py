"""What the calls of an experiment take and return, in the process and over HTTP alike."""

from typing import Any, NamedTuple

from .. import checks

LEARNED, SAME, TOO_LATE = "learned", "same", "late"  # what became of a reward
NOT_SENT = "not sent"  # and in a client whose service is away


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

    @property
    def fallback(self) -> bool:
        """Whether a client made it because its service was away: it is no step of the visit."""
        return self.step == 0


def reward_of(value: Any) -> float:
    """A reward as a number from 0 to 1; True and False will do."""
    return checks.number("reward", float(value) if isinstance(value, bool) else value, 0, 1)


def policy_data(policy: Any) -> dict[str, Any]:
    """A policy as plain data: its name, and its parameters, policies among them."""
    parameters = {
        name: policy_data(value) if hasattr(value, "parameters") else value
        for name, value in policy.parameters.items()
    }
    return {"name": policy.name, "parameters": parameters}

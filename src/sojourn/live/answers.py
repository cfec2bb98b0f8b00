"""What the calls of an experiment take and return, in the process and over HTTP alike."""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from math import inf
from typing import Any, NamedTuple

from .. import validation
from ..registry import described
from .names import check_name

LEARNED, SAME, TOO_LATE = "learned", "same", "late"  # what became of a reward
NOT_SENT = "not sent"  # and in a client whose service is away


class Decision(NamedTuple):
    """An arm for one step of a visit, in a variant if the experiment has some.

    Where the caller chose it, `would` is what the policy would have shown, if it says so.
    """

    visit: str
    step: int
    arm: str
    state: float
    propensity: float | None
    variant: str | None = None
    would: str | None = None

    @property
    def id(self) -> str:
        """Unique within the experiment: the visit and the step."""
        return f"{self.visit}:{self.step}"

    @property
    def fallback(self) -> bool:
        """Whether a client made it because its service was away: it is no step of the visit."""
        return self.step == 0


class Own(NamedTuple):
    """What the caller's own recommender shows, and with which probability, if that is known."""

    arm: str
    propensity: float | None = None

    @classmethod
    def of(cls, given: "Own | str | None") -> "Own | None":
        """From an arm alone, too.

        >>> Own.of("news")
        Own(arm='news', propensity=None)
        """
        if given is None:
            return None
        arm, propensity = (given, None) if isinstance(given, str) else given
        if propensity is not None:
            propensity = validation.number("own.propensity", propensity, 0, 1)
        return cls(check_name("own.arm", arm), propensity)


def ranked(arms: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The active arms by a lower bound of their means, 1 / sqrt(pulls) below; untried ones last.

    For when the policy cannot be asked: everybody then gets the first arm, so that one lucky pull
    must not make it.

    >>> ranked([{"name": "a", "pulls": 1, "mean": 1.0, "retired": False},
    ...         {"name": "b", "pulls": 900, "mean": 0.5, "retired": False}])
    ('b', 'a')
    """
    active = [arm for arm in arms if not arm["retired"]]
    return tuple(arm["name"] for arm in sorted(active, key=_lower_bound, reverse=True))


def _lower_bound(arm: Mapping[str, Any]) -> float:
    return float(arm["mean"] - arm["pulls"] ** -0.5) if arm["pulls"] else -inf


def reward_of(value: Any, name: str = "reward") -> float:
    """A reward as a number from 0 to 1; True and False will do."""
    return validation.number(name, float(value) if isinstance(value, bool) else value, 0, 1)


def policy_data(policy: Any) -> dict[str, Any]:
    """A policy as plain data: its name, and its parameters, policies among them."""
    name, parameters = described(policy)
    nested = {key: policy_data(p) for key, p in parameters.items() if is_policy(p)}
    return {"name": name, "parameters": parameters | nested}


def is_policy(value: Any) -> bool:
    """Whether it can choose: clients must not import `Policy`, which brings the compiler."""
    return is_dataclass(value) and hasattr(type(value), "choose")

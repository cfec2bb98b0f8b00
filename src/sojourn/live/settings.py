"""The settings of an experiment, and their JSON in a store."""

import json
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import Any

from .. import validation
from ..engine.calls import calls_for
from ..policies import DEFAULT, POLICIES, Policy
from ..policies.wrapper import EpsilonMixture, base_policy
from ..registry import described
from ..users import LastReward, User
from ..validation import InputError
from . import states
from .answers import policy_data, reward_of
from .names import check_name

IDLE_TIMEOUT = 1800.0

MOST_BINS = 64
"""Bins of live visits. Others wait while a learned policy thinks: 0.2 ms with so many, compiled
(and 0.3 s with 1,000); and the figures of the dashboard take 40 ms."""

DEEPEST = 3
"""Policies within policies: each level takes seconds to compile."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that `Experiment` takes, apart from the arms.

    Without a `reward_threshold`, rewards are 0 or 1. With one they are graded, from 0 to 1, and
    good from there on; with 0, any reward above 0 is good. In an `external` experiment the caller
    chooses the arms, and the policy learns from them; with `shadow` it also records what it would
    have shown. `learns_from` names other experiments, from whose counters the policy learns too.
    With `epsilon`, the policy is an `EpsilonMixture` with this share of random arms.

    >>> settings = Settings(reward_wait=60)
    >>> Settings.from_json(settings.to_json()) == settings
    True
    """

    policy: Policy = field(default_factory=DEFAULT)
    user: User = field(default_factory=LastReward)
    reward_threshold: float | None = None
    default_reward: float = 0.0
    reward_wait: float | None = None
    idle_timeout: float = IDLE_TIMEOUT
    late_horizon: float | None = None
    introduce_in_any_state: bool = False
    count_in_flight: bool = False
    external: bool = False
    shadow: bool = True
    learns_from: tuple[str, ...] = ()
    epsilon: InitVar[float] = 0.0

    def __post_init__(self, epsilon: float) -> None:
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy = {self.policy!r} is not allowed: it must be a policy")
        if share := validation.number("epsilon", epsilon, 0, 1):
            object.__setattr__(self, "policy", EpsilonMixture(self.policy, share))
        for name in ("introduce_in_any_state", "count_in_flight", "external", "shadow"):
            validation.flag(name, getattr(self, name))
        user, threshold = states.live(self.user, self.reward_threshold)
        object.__setattr__(self, "reward_threshold", threshold)
        idle = validation.number("idle_timeout", self.idle_timeout, 0, inf, open_ends=True)
        kept: dict[str, Any] = {
            "user": user,
            "idle_timeout": idle,
            "default_reward": self.reward(self.default_reward, "default_reward"),
            "learns_from": tuple(check_name("learns_from", name) for name in self.learns_from),
        }
        for name, most in (("reward_wait", idle), ("late_horizon", inf)):
            if (value := getattr(self, name)) is not None:
                kept[name] = validation.number(name, value, 0, most)
        told: dict[str, Any] = {"introduce_in_any_state": self.introduce_in_any_state}
        if threshold:
            told["threshold"] = threshold
        self._check_policy()
        kept["policy"] = _told(self.policy, told)
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        if self.bins > MOST_BINS:
            raise InputError(
                f"bins = {self.bins} is not allowed: live visits have at most {MOST_BINS} bins of "
                "the state, those of the policy or else the states of the user model"
            )

    def _check_policy(self) -> None:
        late, policy = self.late_horizon, type(self.policy).__name__
        if _depth(self.policy) > DEEPEST:
            raise InputError(f"policy is not allowed: it nests more than {DEEPEST} policies")
        if (late is None and not self.learns_from) or calls_for(self.policy, compiled=False).counts:
            return
        if late is not None:
            raise InputError(
                f"late_horizon = {late:g} is not allowed: {policy} learns from each step at once "
                "and cannot take a reward back; leave it out"
            )
        raise InputError(
            f"learns_from is not allowed: {policy} learns from each step of its own visits, and "
            "not from counters, which others could share"
        )

    @cached_property
    def bins(self) -> int:
        """Into how many equal parts of the state counters are split: the policy's if it has any."""
        return int(getattr(base_policy(self.policy), "bins", self.user.space.bins))

    def reward(self, value: Any, name: str = "reward") -> float:
        """A reward as this experiment takes it; InputError if it does not.

        >>> Settings(reward_threshold=0.5).reward(0.7)
        0.7
        >>> Settings().reward(0.7)
        Traceback (most recent call last):
        sojourn.InputError: reward = 0.7 is not allowed: rewards of this experiment are 0 or 1, \
give it a reward_threshold such as 0.5 for graded ones
        """
        reward = reward_of(value, name)
        if self.reward_threshold is None and reward not in (0.0, 1.0):
            raise InputError(
                f"{name} = {reward:g} is not allowed: rewards of this experiment are 0 or 1, "
                "give it a reward_threshold such as 0.5 for graded ones"
            )
        return reward

    def felt(self, reward: float) -> float:
        """The reward by which the state moves: 0 or 1 for users that do not take graded ones."""
        if not self.reward_threshold or self.user.space.graded:
            return reward
        return float(reward >= self.reward_threshold)

    @property
    def wait(self) -> float:
        """Seconds until a step without a reward is resolved."""
        return self.idle_timeout if self.reward_wait is None else self.reward_wait

    def to_json(self) -> str:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain |= {"policy": policy_data(self.policy), "user": states.describe(self.user)}
        return json.dumps({**plain, "bins": self.bins})

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """The inverse of `to_json`; InputError if a policy or user is not of this package."""
        data = json.loads(text)
        data.pop("bins", None)
        data |= {"policy": _made(data["policy"]), "user": states.from_description(data["user"])}
        return cls(**data)


def _depth(policy: Policy) -> int:
    inner = [value for value in described(policy)[1].values() if isinstance(value, Policy)]
    return 1 + max(map(_depth, inner), default=0)


def split_of(text: str) -> tuple[int, float]:
    """The bins of the state and the threshold of rewards by which stored settings have counted.

    >>> split_of(Settings(reward_threshold=0.5).to_json())
    (4, 0.5)
    """
    data = json.loads(text)
    return int(data["bins"]), float(data.get("reward_threshold") or 0.0)


def _told(policy: Policy, parameters: dict[str, Any]) -> Policy:
    """The policy, and those within it, with these parameters where they have them."""
    changed: dict[str, Any] = {
        name: _told(value, parameters)
        for name, value in described(policy)[1].items()
        if isinstance(value, Policy)
    }
    changed |= {name: parameters[name] for name in described(policy)[1] if name in parameters}
    return replace(policy, **changed)


def _made(data: dict[str, Any]) -> Policy:
    if data["name"] not in POLICIES:
        raise InputError(f"policy is missing: this experiment has one of its own, {data['name']}")
    parameters = {
        name: _made(value) if isinstance(value, dict) else value
        for name, value in data.get("parameters", {}).items()
    }
    return POLICIES[data["name"]](**parameters)

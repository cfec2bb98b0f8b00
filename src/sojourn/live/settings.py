"""The settings of an experiment, and their JSON in a store."""

import json
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import Any

from .. import checks
from ..engine.calls import calls_for
from ..policies import POLICIES, LearnedIMED, Policy
from ..users import LastReward, User
from . import states
from .answers import policy_data

IDLE_TIMEOUT = 1800.0

MOST_BINS = 64
"""Bins of live visits. Others wait while a learned policy thinks: 0.2 ms with so many, compiled
(and 0.3 s with 1,000); and the figures of the dashboard take 40 ms."""

DEEPEST = 3
"""Policies within policies: each level takes seconds to compile."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that `Experiment` takes, apart from the arms.

    >>> settings = Settings(reward_wait=60)
    >>> Settings.from_json(settings.to_json()) == settings
    True
    """

    policy: Policy = field(default_factory=LearnedIMED)
    user: User = field(default_factory=LastReward)
    default_reward: float = 0.0
    reward_wait: float | None = None
    idle_timeout: float = IDLE_TIMEOUT
    late_horizon: float | None = None
    introduce_in_any_state: bool = False
    count_in_flight: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ValueError(f"policy = {self.policy!r} is not allowed: it must be a policy")
        for name in ("introduce_in_any_state", "count_in_flight"):
            checks.flag(name, getattr(self, name))
        reward = checks.number("default_reward", self.default_reward, 0, 1)
        idle = checks.number("idle_timeout", self.idle_timeout, 0, inf, open_ends=True)
        wait = self.reward_wait
        if wait is not None:
            wait = checks.number("reward_wait", wait, 0, idle)
        late = self.late_horizon
        if late is not None:
            late = checks.number("late_horizon", late, 0, inf)
            if not calls_for(self.policy, compiled=False).counts:
                raise ValueError(
                    f"late_horizon = {late:g} is not allowed: {self.policy.name} learns from each "
                    "step at once and cannot take a reward back; leave it out"
                )
        kept = {
            "default_reward": reward, "idle_timeout": idle, "reward_wait": wait,
            "late_horizon": late,
        }  # fmt: skip
        kept["user"] = states.live(self.user)  # type: ignore[assignment]
        if _depth(self.policy) > DEEPEST:
            raise ValueError(f"policy is not allowed: it has more than {DEEPEST} within each other")
        kept["policy"] = _introducing(self.policy, self.introduce_in_any_state)  # type: ignore[assignment]
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        if self.bins > MOST_BINS:
            raise ValueError(
                f"bins = {self.bins} is not allowed: live visits have at most {MOST_BINS} bins of "
                "the state, those of the policy or else the states of the user model"
            )

    @cached_property
    def bins(self) -> int:
        """Into how many equal parts of the state counters are split: the policy's if it has any."""
        return int(getattr(self.policy.pupil, "bins", self.user.levels))

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
        """The inverse of `to_json`; ValueError if a policy or user is not of this package."""
        data = {name: value for name, value in json.loads(text).items() if name != "bins"}
        data |= {"policy": _made(data["policy"]), "user": states.from_description(data["user"])}
        return cls(**data)


def _depth(policy: Policy) -> int:
    inner = [value for value in policy.parameters.values() if isinstance(value, Policy)]
    return 1 + max(map(_depth, inner), default=0)


def _introducing(policy: Policy, in_any_state: bool) -> Policy:
    """The policy, and those within it, introducing new arms as told."""
    changed: dict[str, Any] = {
        name: _introducing(value, in_any_state)
        for name, value in policy.parameters.items()
        if isinstance(value, Policy)
    }
    if "introduce_in_any_state" in policy.parameters:
        changed["introduce_in_any_state"] = in_any_state
    return replace(policy, **changed)


def _made(data: dict[str, Any]) -> Policy:
    if data["name"] not in POLICIES:
        raise ValueError(f"policy is missing: this experiment has one of its own, {data['name']}")
    parameters = {
        name: _made(value) if isinstance(value, dict) else value
        for name, value in data["parameters"].items()
    }
    return POLICIES[data["name"]](**parameters)

"""The answers that only the service has; the others are records of `sojourn.live`."""

from dataclasses import dataclass
from typing import Any, Literal

from ..live import Alarm, Edit, Guardrail
from ..live.answers import Decision, VisitInfo
from ..live.rollout.allocation import Epoch


@dataclass(frozen=True, slots=True)
class ServedArm:
    """An arm: pulls that have a result, prior ones included, and the mean of their rewards."""

    name: str
    pulls: float
    mean: float | None
    retired: bool


@dataclass(frozen=True, slots=True)
class PolicyData:
    """A policy with all its parameters."""

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ServedExperiment:
    """An experiment: its settings and arms."""

    name: str
    arms: list[ServedArm]
    policy: PolicyData
    user: dict[str, Any]
    reward_threshold: float | None
    default_reward: float
    reward_wait: float | None
    idle_timeout: float
    late_horizon: float | None
    introduce_in_any_state: bool
    count_in_flight: bool
    external: bool
    shadow: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The active arms, best first, without their numbers."""

    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Experiments:
    """The experiments that the key may see; `broken` ones are not served, with the reason."""

    experiments: list[str]
    broken: dict[str, str]


@dataclass(frozen=True, slots=True)
class Variants:
    """An experiment with variants: their shares now, and all epochs of shares, the first one first.

    `experiments` has the experiment that each variant is, `exploring` whether it explores. What a
    visit earns counts for `window` seconds from its opening.
    """

    name: str
    holdout: str
    shares: dict[str, float]
    exploring: dict[str, bool]
    experiments: dict[str, str]
    epochs: tuple[Epoch, ...]
    guardrail: Guardrail | None
    alarm: Alarm | None
    window: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a reward."""

    outcome: Literal["learned", "same", "late"]


@dataclass(frozen=True, slots=True)
class Ended:
    """Whether this call ended the visit; false if it had ended before."""

    ended: bool


@dataclass(frozen=True, slots=True)
class Error:
    """An error code for programs, a sentence for people."""

    error: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one call of a batch."""

    status: int
    body: VisitInfo | Decision | Outcome | Ended | Error


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, in the order of the calls."""

    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The name of the deleted experiment, and how many files of its archive were deleted and kept.

    Users are still erased from those that were kept.
    """

    dropped: str
    removed_files: int
    kept_files: int


@dataclass(frozen=True, slots=True)
class Changes:
    """The audit log, the latest first."""

    changes: list[Edit]


@dataclass(frozen=True, slots=True)
class Status:
    """Health."""

    status: str

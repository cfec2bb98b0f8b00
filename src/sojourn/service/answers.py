"""The answers, from which the OpenAPI schema is made."""

from typing import Any, Literal

from pydantic import BaseModel


class ArmOut(BaseModel):
    """An arm: pulls that have a result, prior ones included, and the mean of their rewards."""

    name: str
    pulls: float
    mean: float | None
    retired: bool


class PolicyOut(BaseModel):
    """A policy with all its parameters."""

    name: str
    parameters: dict[str, Any]


class ExperimentOut(BaseModel):
    """An experiment as it is served."""

    name: str
    arms: list[ArmOut]
    policy: PolicyOut
    user: dict[str, Any]
    reward_threshold: float | None
    default_reward: float
    reward_wait: float | None
    idle_timeout: float
    late_horizon: float | None
    introduce_in_any_state: bool
    count_in_flight: bool
    external: bool = False
    shadow: bool = True


class RankingOut(BaseModel):
    """The active arms, best first, without their numbers."""

    arms: list[str]


class ExperimentsOut(BaseModel):
    """The names that the key may see, and those that are not served, with the reason."""

    experiments: list[str]
    broken: dict[str, str]


class VisitOut(BaseModel):
    """A visit: `step` decisions so far, the last one still without a result if `pending_arm`."""

    id: str
    user: str | None
    status: Literal["open", "left", "timed out"]
    step: int
    state: float
    pending_arm: str | None
    variant: str | None
    external: bool


class DecisionOut(BaseModel):
    """The arm to show; `shadow_arm` is what the policy would have shown where the caller chose."""

    id: str
    visit: str
    step: int
    arm: str
    state: float
    propensity: float | None
    variant: str | None
    shadow_arm: str | None


class OutcomeOut(BaseModel):
    """What became of a reward."""

    outcome: Literal["learned", "same", "late"]


class EndedOut(BaseModel):
    """Whether this call ended the visit; if not, it had ended before."""

    ended: bool


class ErrorOut(BaseModel):
    """An error code for programs, a sentence for people."""

    error: str
    detail: str


class AnswerOut(BaseModel):
    """The answer to one call of a batch."""

    status: int
    body: VisitOut | DecisionOut | OutcomeOut | EndedOut | ErrorOut


class AnswersOut(BaseModel):
    """The answers, in the order of the calls."""

    answers: list[AnswerOut]


class DroppedOut(BaseModel):
    """The experiment that is no more."""

    dropped: str


class ErasedOut(BaseModel):
    """In how many visits the user was; `archived` is null if the archive is still to be done."""

    visits: int
    archived: int | None


class EditOut(BaseModel):
    """A line of the audit log: `who` is the id of a key, `detail` JSON."""

    at: float
    who: str
    experiment: str
    what: str
    detail: str


class ChangesOut(BaseModel):
    """The audit log, the latest first."""

    changes: list[EditOut]


class StatusOut(BaseModel):
    """Health."""

    status: str


class SharesOut(BaseModel):
    """The shares since a time, in seconds since 1970."""

    since: float
    shares: dict[str, float]


class GuardrailOut(BaseModel):
    """A guardrail; its evidence counts from the epoch `since`."""

    metric: str
    margin: float
    alpha: float
    planned: float
    since: int
    action: str


class AlarmOut(BaseModel):
    """What the guardrail has done and why, with the shares before; what became of the webhook."""

    at: float
    variant: str
    reason: str
    shares: dict[str, float]
    delivery: str
    action: str


class VariantsOut(BaseModel):
    """An experiment with variants: their shares now, and all epochs of shares, the first one first.

    `experiments` has the experiment that each variant is, `exploring` whether it explores.
    """

    name: str
    holdout: str
    shares: dict[str, float]
    exploring: dict[str, bool]
    experiments: dict[str, str]
    epochs: list[SharesOut]
    guardrail: GuardrailOut | None
    alarm: AlarmOut | None


class IntervalOut(BaseModel):
    """A number and the ends of its interval, as far as they are known."""

    value: float | None
    low: float | None
    high: float | None


class MeasuredOut(BaseModel):
    """A variant: visits opened and ended; means per visit, and their differences to the holdout."""

    name: str
    share: float
    opened: int
    visits: int
    means: dict[str, IntervalOut]
    differences: dict[str, IntervalOut]


class RatioOut(BaseModel):
    """Whether the numbers of visits follow the shares: a p-value that is valid at every look."""

    p_value: float
    wrong: bool


class ComparisonOut(BaseModel):
    """Variants beside their holdout; all intervals hold together, at every look, with 1 - alpha."""

    experiment: str
    holdout: str
    alpha: float
    at: float
    variants: list[MeasuredOut]
    sample_ratio: RatioOut
    alarm: str | None


class ChangedOut(BaseModel):
    """A change: from the time `at` on the mean is `after` instead of `before`; in words, `text`."""

    at: float
    before: float
    after: float
    statistic: float
    threshold: float
    text: str


class SeriesOut(BaseModel):
    """A mean over time: of an arm's rewards, or of leaving; by bucket, and all of its changes.

    It is `watched` if there are enough steps to know how much it varies.
    """

    kind: str
    name: str
    mean: float
    watched: bool
    changes: list[ChangedOut]
    starts: list[float]
    trials: list[float]
    sums: list[float]


class DriftOut(BaseModel):
    """What has changed in the last four weeks, in buckets of `width` seconds, before `until`.

    While nothing changes, anything is said with a probability of at most `delta`, at all looks
    together. `dispersion` is how many times more the sums vary than coins would.
    """

    experiment: str
    at: float
    until: float
    width: float
    delta: float
    dispersion: dict[str, float | None]
    series: list[SeriesOut]


class LookOut(BaseModel):
    """The difference of a variant to the holdout at a time, with `visits` of both."""

    at: float
    variant: str
    metric: str
    rank: int
    visits: int
    difference: float
    low: float
    high: float


class HistoryOut(BaseModel):
    """What comparisons have said, shares over time, and when the guardrail has acted, if it has."""

    experiment: str
    holdout: str
    alpha: float
    looks: list[LookOut]
    epochs: list[SharesOut]
    alarm: float | None


class PairOut(BaseModel):
    """At how many steps the caller showed one arm where the policy would show another."""

    shown: str
    shadow_arm: str
    steps: int


class WeighedOut(BaseModel):
    """One measure: the caller's, the policy's by weights, and how much more that is."""

    logged: IntervalOut
    shadow: IntervalOut
    difference: IntervalOut


class ShadowOut(BaseModel):
    """What a policy would have shown, beside what was: see `sojourn.live.Shadow`."""

    experiment: str
    policy: str
    at: float
    alpha: float
    margin: float
    steps: int
    users: int
    matched: int
    match: IntervalOut
    weighed: int
    effective: float
    weight: IntervalOut
    measures: dict[str, WeighedOut]
    pairs: list[PairOut]
    tried: list[str]
    verdict: str
    reason: str

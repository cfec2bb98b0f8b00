"""The bodies of requests (In) and answers (Out), from which the OpenAPI schema is made."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..live.enrolment import MOST_ARMS
from ..live.names import LONGEST_NAME, printable
from ..live.plan import MOST_VARIANTS
from ..policies import POLICIES
from ..registry import Registry
from ..users import USERS

MOST_CALLS = 1_000
LAST_STEP = 2**31 - 1


def _known(registry: Registry[Any]) -> Any:
    """A name in a registry, which the schema lists."""

    def check(name: str) -> str:
        if name not in list(registry):
            raise ValueError(f"it must be one of {', '.join(registry)}")
        return name

    return AfterValidator(check), Field(json_schema_extra={"enum": list(registry)})


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("it must name every arm once")
    return names


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(printable)]
"""What any store can keep: 1 to 200 printable characters."""

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
"""A number from 0 to 1: rewards, states, chances."""

Amount = Annotated[float, Field(ge=0.0, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0.0, le=1e9, allow_inf_nan=False)]
Step = Annotated[int, Field(ge=1, le=LAST_STEP)]
Arms = Annotated[
    list[Name],
    Field(min_length=1, max_length=MOST_ARMS, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_each_once),
]


class Body(BaseModel):
    """Strict: no unknown fields, no coercion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OpeningIn(Body):
    """How a visit begins: whose it is, and the state if it is not the user model's start."""

    user: Name | None = None
    state: Share | None = None


class OwnIn(Body):
    """What the caller's own recommender shows, and with which probability, if that is known."""

    arm: Name
    propensity: Share | None = None


class DecisionIn(Body):
    """A decision is wanted.

    With the same `request_id` as the visit's last decision, the answer is that decision again.
    `step` is the number of the decision wanted, if that is known. `open` opens the visit if it is
    not there. `own` is needed where the caller chooses the arms, and is then the answer. With
    `candidates`, the policy chooses among these arms.
    """

    request_id: Name | None = None
    step: Step | None = None
    open: OpeningIn | None = None
    own: OwnIn | None = None
    candidates: Arms | None = None


class StepIn(DecisionIn):
    """A decision is wanted, and the reward of the decision before it is here."""

    reward: Share


class RewardIn(Body):
    """The reward of a decision."""

    value: Share


class EndIn(Body):
    """The user has left, perhaps after a last reward."""

    reward: Share | None = None


class OpenCall(OpeningIn):
    """Open a visit; without an id the server makes one."""

    call: Literal["open"]
    visit: Name | None = None


class DecideCall(DecisionIn):
    """`POST .../decisions` in a batch."""

    call: Literal["decide"]
    visit: Name


class StepCall(StepIn):
    """`POST .../step` in a batch."""

    call: Literal["step"]
    visit: Name


class RewardCall(RewardIn):
    """`PUT .../decisions/{step}/reward` in a batch."""

    call: Literal["reward"]
    visit: Name
    step: Step


class EndCall(EndIn):
    """`PUT .../end` in a batch."""

    call: Literal["end"]
    visit: Name


BatchCall = Annotated[
    OpenCall | DecideCall | StepCall | RewardCall | EndCall, Field(discriminator="call")
]


class BatchIn(Body):
    """Calls of one visit are done in order, visits concurrently."""

    calls: Annotated[list[BatchCall], Field(max_length=MOST_CALLS)]


class PolicyIn(Body):
    """A policy of the package by its name, with parameters if they are not the usual ones."""

    name: Annotated[str, *_known(POLICIES)]
    parameters: dict[str, Any] = {}


class UserIn(Body):
    """How a visit's state follows from its rewards: a user model by its name, and its settings.

    `start` is a state, or states with their chances. Leave probabilities, of models that have
    them, do not matter: who leaves is observed.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    model: Annotated[str, *_known(USERS)] = "last-reward"
    theta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    start: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | dict[str, Share] | None = None


class ExperimentIn(Body):
    """What to serve. Arms that the experiment has already stay as they are.

    Rewards are 0 or 1; with a `reward_threshold` from 0 to 1, and good from there on.
    """

    arms: Arms
    policy: PolicyIn = PolicyIn(name="VisitIMED")
    user: UserIn = UserIn()
    reward_threshold: Share | None = None
    default_reward: Share = 0.0
    reward_wait: Seconds | None = None
    idle_timeout: Seconds = 1800.0
    late_horizon: Seconds | None = None
    introduce_in_any_state: bool = False
    count_in_flight: bool = False
    external: bool = False


class VariantIn(Body):
    """A variant: its share of the visits to begin with, and its policy.

    If it is `external`, the caller chooses its arms, and the policy learns from them.
    """

    share: Share
    policy: PolicyIn = PolicyIn(name="VisitIMED")
    external: bool = False


class GuardrailIn(Body):
    """When a variant is worse than the holdout by more than `margin`, its visits go there.

    That is shown at level `alpha`, of the `metric` per visit; best after `planned` visits.
    """

    metric: Literal["reward", "steps", "left"] = "reward"
    margin: Amount = 0.0
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    planned: Annotated[float, Field(ge=1.0, le=1e15, allow_inf_nan=False)] = 10_000.0


class VariantsIn(Body):
    """An experiment with variants, by their names; the `holdout` is what others are compared with.

    Shares sum to 1. If the experiment is there, its shares stay as they are; without a `guardrail`
    so does that. The other settings are those of all variants.
    """

    arms: Arms
    variants: Annotated[dict[Name, VariantIn], Field(min_length=2, max_length=MOST_VARIANTS)]
    holdout: Name
    guardrail: GuardrailIn | None = None
    user: UserIn = UserIn()
    reward_threshold: Share | None = None
    default_reward: Share = 0.0
    reward_wait: Seconds | None = None
    idle_timeout: Seconds = 1800.0
    late_horizon: Seconds | None = None
    introduce_in_any_state: bool = False
    count_in_flight: bool = False


class SharesIn(Body):
    """Other shares of some variants; the holdout has the rest."""

    shares: Annotated[dict[Name, Share], Field(max_length=MOST_VARIANTS)]


class PriorIn(Body):
    """Prior counts of one arm."""

    pulls: Amount = 0.0
    successes: Amount = 0.0


class PriorsIn(Body):
    """Prior counts by arm."""

    arms: dict[Name, PriorIn]


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


class AlarmOut(BaseModel):
    """What the guardrail has done and why, with the shares before; what became of the webhook."""

    at: float
    variant: str
    reason: str
    shares: dict[str, float]
    delivery: str


class VariantsOut(BaseModel):
    """An experiment with variants: their shares now, and all epochs of shares, the first one first.

    `experiments` has the experiment that each variant is.
    """

    name: str
    holdout: str
    shares: dict[str, float]
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
    """The arm to show."""

    id: str
    visit: str
    step: int
    arm: str
    state: float
    propensity: float | None
    variant: str | None


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
    """In how many visits the user was; `archived` is null if the service has no --archive."""

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

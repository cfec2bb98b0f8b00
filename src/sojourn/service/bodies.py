"""The bodies of requests, from which the OpenAPI schema is made."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ..live.answers import Ask, Logged, Opening
from ..live.enrolment import MOST_ARMS
from ..live.names import LONGEST_NAME, as_text, printable
from ..live.rollout.allocation import LONGEST_WINDOW, MOST_VARIANTS
from ..policies import DEFAULT, POLICIES
from ..registry import Registry
from ..stats.intervals import PLANNED
from ..users import USERS
from ..validation import InputError

MOST_CALLS = 1_000
LAST_STEP = 2**31 - 1


def _known(registry: Registry[Any]) -> Any:
    """A name in a registry, which the schema lists."""

    def check(name: str) -> str:
        if name not in list(registry):
            raise InputError(f"it must be one of {', '.join(registry)}")
        return name

    return AfterValidator(check), Field(json_schema_extra={"enum": list(registry)})


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise InputError("it must name every arm once")
    return names


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(printable)]
"""A name that any store can keep: 1 to 200 printable characters."""

Id = Annotated[
    Name,
    BeforeValidator(as_text),
    WithJsonSchema({"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST_NAME}),
]
"""A name, or an integer, which is stored as text: of users and arms."""

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
"""A number from 0 to 1: rewards, states, chances."""

Amount = Annotated[float, Field(ge=0.0, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0.0, le=1e9, allow_inf_nan=False)]
Step = Annotated[int, Field(ge=1, le=LAST_STEP)]
Arms = Annotated[
    list[Id],
    Field(min_length=1, max_length=MOST_ARMS, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_each_once),
]


class Body(BaseModel):
    """Strict: no unknown fields, no coercion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OpeningIn(Body):
    """How a visit begins: its user, and its state if that is not the user model's start."""

    user: Id | None = None
    state: Share | None = None


class LoggedIn(Body):
    """The arm that the caller's own recommender shows, and its propensity if it is known."""

    arm: Id
    propensity: Share | None = None


class DecideIn(Body):
    """A request for a decision.

    With the same `request` as the visit's last decision, the answer is that decision again. `step`
    is the number of that decision, if it is known. With an `opening`, a visit that does not exist
    is opened. `logged` is required if the caller chooses the arms; the answer is then that arm.
    With `candidates`, the policy chooses among these arms.
    """

    request: Name | None = None
    step: Step | None = None
    opening: OpeningIn | None = None
    logged: LoggedIn | None = None
    candidates: Arms | None = None

    def ask(self) -> Ask:
        """The request as `live` takes it."""
        opening, logged, candidates = self.opening, self.logged, self.candidates
        return Ask(
            reward=getattr(self, "reward", None),  # of a `StepIn`
            request=self.request,
            step=self.step,
            opening=None if opening is None else Opening(opening.user, opening.state),
            logged=None if logged is None else Logged(logged.arm, logged.propensity),
            candidates=None if candidates is None else tuple(candidates),
        )


class StepIn(DecideIn):
    """A request for a decision, with the reward of the decision before it."""

    reward: Share


class RewardIn(Body):
    """The reward of a decision."""

    value: Share


class EndIn(Body):
    """The user has left, perhaps after a last reward."""

    reward: Share | None = None


class OpenCall(OpeningIn):
    """A visit to open; without an id the server makes one."""

    call: Literal["open"]
    visit: Name | None = None


class DecideCall(DecideIn):
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
    """A policy of the package by its name, with the parameters that differ from the defaults."""

    name: Annotated[str, *_known(POLICIES)]
    parameters: dict[str, Any] = {}


class UserIn(Body):
    """How a visit's state follows from its rewards: a user model by its name, and its settings.

    `start` is a state, or states with their chances. Leave probabilities of a model are ignored:
    departures are observed.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    model: Annotated[str, *_known(USERS)] = "last-reward"
    theta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    start: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | dict[str, Share] | None = None


class SettingsIn(Body):
    """Settings of all experiments, with variants or without."""

    arms: Arms
    user: UserIn = UserIn()
    reward_threshold: Share | None = None
    default_reward: Share = 0.0
    reward_wait: Seconds | None = None
    idle_timeout: Seconds = 1800.0
    late_horizon: Seconds | None = None
    introduce_in_any_state: bool = False
    count_in_flight: bool = False
    shadow: bool = True
    epsilon: Share = 0.0


class DecidingIn(Body):
    """The choice of arms: by a policy; or, if `external`, by the caller.

    The policy then learns from what the caller has chosen; with `shadow` it also records what it
    would have shown.
    """

    policy: PolicyIn = PolicyIn(name=DEFAULT.__name__)
    external: bool = False


class ExperimentIn(DecidingIn, SettingsIn):
    """An experiment to create or change. Arms that it has already stay as they are.

    Rewards are 0 or 1; with a `reward_threshold` they are from 0 to 1, and good from there on.
    """


class ArmsIn(Body):
    """Arms by name."""

    arms: Arms


class PriorIn(Body):
    """Prior counts of one arm."""

    pulls: Amount = 0.0
    successes: Amount = 0.0


class PriorsIn(Body):
    """Prior counts by arm."""

    arms: dict[Name, PriorIn]


class VariantIn(DecidingIn):
    """A variant: its first share of the visits, and its policy.

    If it is `external`, the caller chooses its arms, and the policy learns from them. It learns
    from its "own" visits, or from those of "all" variants.
    """

    share: Share
    learns_from: Literal["own", "all"] = "own"


class GuardrailIn(Body):
    """When a variant is worse than the holdout by more than `margin`, its visits go there.

    With the `action` "stop exploring" it keeps them, and plays only what it knows to be best. The
    test compares the `metric` per visit at level `alpha`; it is sharpest after `planned` visits.
    """

    metric: Literal["reward", "steps", "left"] = "reward"
    margin: Amount = 0.0
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    planned: Annotated[float, Field(ge=1.0, le=1e15, allow_inf_nan=False)] = PLANNED
    action: Literal["holdout", "stop exploring"] = "holdout"


class VariantsIn(SettingsIn):
    """An experiment with variants, by their names; the others are compared with the `holdout`.

    Shares sum to 1. If the experiment exists, its shares stay as they are, and so do its guardrail
    and its window unless they are given. What a visit earns counts for `window` seconds from its
    opening, by default an hour. The other settings apply to all variants.
    """

    variants: Annotated[dict[Name, VariantIn], Field(min_length=2, max_length=MOST_VARIANTS)]
    holdout: Name
    guardrail: GuardrailIn | None = None
    window: Annotated[float, Field(gt=0.0, lt=LONGEST_WINDOW)] | None = None


class SharesIn(Body):
    """New shares of some variants; the holdout gets the rest."""

    shares: Annotated[dict[Name, Share], Field(max_length=MOST_VARIANTS)]


class ExploringIn(Body):
    """Whether some variants explore; those that do not play only what they know to be best."""

    exploring: Annotated[dict[Name, bool], Field(max_length=MOST_VARIANTS)]

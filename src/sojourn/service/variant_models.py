"""The bodies of requests (In) and answers (Out) about variants and their comparison."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ..live.plan import MOST_VARIANTS
from ..stats.sequences import PLANNED
from .models import Amount, Body, DecidingIn, Name, SettingsIn, Share


class VariantIn(DecidingIn):
    """A variant: its share of the visits to begin with, and its policy.

    If it is `external`, the caller chooses its arms, and the policy learns from them. It learns
    from its "own" visits, or from those of "all" variants.
    """

    share: Share
    learns_from: Literal["own", "all"] = "own"


class GuardrailIn(Body):
    """When a variant is worse than the holdout by more than `margin`, its visits go there.

    With the `action` "stop exploring" it keeps them, and plays only what it knows to be best. That
    it is worse is shown at level `alpha`, of the `metric` per visit; best after `planned` visits.
    """

    metric: Literal["reward", "steps", "left"] = "reward"
    margin: Amount = 0.0
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    planned: Annotated[float, Field(ge=1.0, le=1e15, allow_inf_nan=False)] = PLANNED
    action: Literal["holdout", "stop exploring"] = "holdout"


class VariantsIn(SettingsIn):
    """An experiment with variants, by their names; the `holdout` is what others are compared with.

    Shares sum to 1. If the experiment is there, its shares stay as they are; without a `guardrail`
    so does that. The other settings are those of all variants.
    """

    variants: Annotated[dict[Name, VariantIn], Field(min_length=2, max_length=MOST_VARIANTS)]
    holdout: Name
    guardrail: GuardrailIn | None = None


class SharesIn(Body):
    """Other shares of some variants; the holdout has the rest."""

    shares: Annotated[dict[Name, Share], Field(max_length=MOST_VARIANTS)]


class ExploringIn(Body):
    """Whether some variants explore; those that do not play only what they know to be best."""

    exploring: Annotated[dict[Name, bool], Field(max_length=MOST_VARIANTS)]


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

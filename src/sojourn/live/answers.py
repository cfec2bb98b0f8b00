"""What the calls of an experiment take and return, in the process and over HTTP alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from math import inf
from typing import Any, NamedTuple, TypedDict

from .. import validation
from ..registry import described
from ..validation import InputError
from .names import Id, as_text, check_name, check_names

LEARNED, SAME, TOO_LATE = "learned", "same", "late"  # the outcomes of a reward
NOT_SENT = "not sent"  # and in a client whose service is away


class OtherSettings(TypedDict, total=False):
    """Settings of an experiment besides its policy and user; see `sojourn.Experiment`."""

    reward_threshold: float | None
    default_reward: float
    reward_wait: float | None
    idle_timeout: float
    late_horizon: float | None
    introduce_in_any_state: bool
    count_in_flight: bool
    external: bool
    shadow: bool
    epsilon: float


@dataclass(frozen=True, slots=True)
class Logged:
    """The arm that the caller's own recommender shows, and its propensity if it is known.

    >>> Logged("news", propensity=0.25)
    Logged(arm='news', propensity=0.25)
    """

    arm: str
    propensity: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "arm", check_name("logged.arm", as_text(self.arm)))
        if self.propensity is not None:
            propensity = validation.number("logged.propensity", self.propensity, 0, 1)
            object.__setattr__(self, "propensity", propensity)

    @classmethod
    def of(cls, given: "Logged | Id | None") -> "Logged | None":
        """Also makes one from an arm alone.

        >>> Logged.of("news")
        Logged(arm='news', propensity=None)
        """
        return given if given is None or isinstance(given, Logged) else cls(as_text(given))


@dataclass(frozen=True, slots=True)
class Opening:
    """The user of a visit, and its first state if it is not the start of the user model.

    `epoch` is the number of the shares by which the visit was assigned to a variant, and `window`
    how many seconds of it are compared.
    """

    user: str | None = None
    state: float | None = None
    epoch: int = 0
    window: float = 0.0

    def __post_init__(self) -> None:
        if self.user is not None:
            object.__setattr__(self, "user", check_name("user", as_text(self.user)))
        if self.state is not None:
            object.__setattr__(self, "state", validation.number("state", self.state, 0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for a decision: what is known, and what may be chosen.

    `reward` is the reward of the pending step. The same `request` as that of the visit's last
    decision gets the same answer and changes nothing, so that a call whose answer was lost can be
    repeated. If the number of the `step` is given too, that holds for all decisions of the visit; a
    number that is neither the next one nor one decided for this request raises `Conflict`.

    With an `opening`, a visit that does not exist is opened in the same write.

    `logged` is what the caller's own recommender shows. In an `external` experiment or variant it
    is required; it is recorded and returned, with the arm that the policy would have shown
    (`Decision.shadow_arm`). Elsewhere the policy chooses, and `logged` is ignored.

    With `candidates`, the policy chooses among these arms (in stock, allowed here, not seen yet)
    as if there were no others, and the propensity is that among them.

    >>> Ask(reward=1, request="r2").reward
    1.0
    """

    reward: float | None = None
    request: str | None = None
    step: int | None = None
    opening: Opening | None = None
    logged: Logged | None = None
    candidates: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.reward is not None:
            object.__setattr__(self, "reward", reward_of(self.reward))
        if self.request is not None:
            check_name("request", self.request)
        if self.step is not None:
            object.__setattr__(self, "step", validation.whole("step", self.step, 1))
        if self.candidates is not None:
            candidates = tuple(check_names("candidates", self.candidates))
            object.__setattr__(self, "candidates", candidates)
        for name, kind in (("opening", Opening), ("logged", Logged)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                known = kind.__name__
                raise InputError(f"{name} = {value!r} is not allowed: it must be {known}(...)")


@dataclass(frozen=True, slots=True)
class Decision:
    """An arm for one step of a visit, and the variant of the visit if the experiment has variants.

    `shadow_arm` is what the policy would have shown where the caller chose. `id` is the visit and
    the step, unique within the experiment.
    """

    id: str = field(init=False)
    visit: str
    step: int
    arm: str
    state: float
    propensity: float | None
    variant: str | None = None
    shadow_arm: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{self.visit}:{self.step}")

    @property
    def fallback(self) -> bool:
        """Whether a client chose the arm without the service, which has no step for it."""
        return self.step == 0


@dataclass(frozen=True, slots=True)
class VisitInfo:
    """A visit: `step` decisions so far, the last one still without a result if `pending_arm`.

    `variant` is the variant of the visit, if the experiment has variants. If `external`, the caller
    chooses the arms.
    """

    id: str
    user: str | None
    status: str
    step: int
    state: float
    pending_arm: str | None
    variant: str | None = None
    external: bool = False


class Choice(NamedTuple):
    """A decision with what the policy knew when it took it.

    `optimism` is that of the state (None: the policy has none), `pulls` and `successes` are those
    of the arm. `new`: the arm was shown for the first time. `best` was the arm of greatest mean. If
    not `exploring`, the policy played what it knew to be best.
    """

    at: float
    visit: str
    step: int
    arm: str
    state: float
    optimism: float | None
    pulls: float
    successes: float
    t: float
    new: bool
    best: str | None
    exploring: bool = True


def shallow(record: Any) -> dict[str, Any]:
    """The fields of a slotted dataclass by name, not copied.

    >>> shallow(Logged("news"))
    {'arm': 'news', 'propensity': None}
    """
    return {name: getattr(record, name) for name in record.__slots__}


def ranked(arms: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The active arms by a lower bound of their means, 1 / sqrt(pulls) below; untried ones last.

    For when the policy cannot be asked. Everybody then gets the first arm, so one lucky pull must
    not put an arm there.

    >>> ranked([{"name": "a", "pulls": 1, "mean": 1.0, "retired": False},
    ...         {"name": "b", "pulls": 900, "mean": 0.5, "retired": False}])
    ('b', 'a')
    """

    def lower_bound(arm: Mapping[str, Any]) -> float:
        return float(arm["mean"] - arm["pulls"] ** -0.5) if arm["pulls"] else -inf

    active = [arm for arm in arms if not arm["retired"]]
    return tuple(arm["name"] for arm in sorted(active, key=lower_bound, reverse=True))


def reward_of(value: Any, name: str = "reward") -> float:
    """A reward as a number from 0 to 1; True and False are allowed."""
    return validation.number(name, float(value) if isinstance(value, bool) else value, 0, 1)


def policy_data(policy: Any) -> dict[str, Any]:
    """A policy as plain data: its name, and its parameters, policies among them."""
    name, parameters = described(policy)
    nested = {key: policy_data(p) for key, p in parameters.items() if is_policy(p)}
    return {"name": name, "parameters": parameters | nested}


def is_policy(value: Any) -> bool:
    """Whether it can choose: clients must not import `Policy`, which brings the compiler."""
    return is_dataclass(value) and hasattr(type(value), "choose")

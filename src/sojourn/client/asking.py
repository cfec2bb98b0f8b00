"""Experiments and visits as calls to the service; `client` puts threads or asyncio around it."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypedDict

from ..live import Conflict, Decision, Settings
from ..live.enrolment import check_name
from ..live.visit import reward_of
from ..policies import Policy
from ..users import User
from .calls import Steps, call, insisting


class Further(TypedDict, total=False):
    """Settings of an experiment besides its policy and user; see `Experiment`."""

    default_reward: float
    reward_wait: float | None
    idle_timeout: float
    introduce_in_any_state: bool
    count_in_flight: bool


SETTINGS = tuple(field.name for field in fields(Settings))


class ExperimentCalls:
    """What can be asked about one experiment; its arms in use and its settings, as last seen."""

    def __init__(self, name: str, retries: int) -> None:
        self.name, self._retries = check_name("name", name), retries
        self.arms: tuple[str, ...] = ()
        self.settings = Settings()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _ask(self, method: str, *path: str, **body: Any) -> Steps:
        wanted = call(method, "experiments", self.name, *path, **body)
        return (yield from insisting(wanted, self._retries))

    def _asking_for_arms(self, method: str, *path: str, **body: Any) -> Steps:
        """Ask, then see which arms are in use."""
        yield from self._ask(method, *path, **body)
        yield from self._looking()

    def _looking(self) -> Steps:
        self._see((yield from self._ask("GET")))

    def _entering(self, arms: Sequence[str], settings: Mapping[str, Any]) -> Steps:
        """Make the experiment or bring it up to date; with nothing given, see that it is there."""
        body = json.loads(Settings(**settings).to_json())
        del body["bins"]
        if not arms:
            yield from self._looking()
        if arms or settings:
            body["arms"] = list(arms or self.arms)
            wanted = call("PUT", "experiments", self.name, **body)._replace(slow=True)
            self._see((yield from insisting(wanted, self._retries)))

    def _see(self, answer: Any) -> None:
        self.arms = tuple(arm["name"] for arm in answer["arms"] if not arm["retired"])
        self.settings = Settings.from_json(json.dumps({name: answer[name] for name in SETTINGS}))

    def _adding(self, arm: str) -> Steps:
        return self._asking_for_arms("PUT", "arms", check_name("arm", arm))

    def _retiring(self, arm: str) -> Steps:
        return self._asking_for_arms("DELETE", "arms", check_name("arm", arm))

    def _warming(self, prior: Mapping[str, tuple[float, float]]) -> Steps:
        arms = {name: {"pulls": n, "successes": s} for name, (n, s) in prior.items()}
        return self._ask("PUT", "prior", arms=arms)


class VisitCalls:
    """One stay of one user, as far as this process knows it.

    It is opened with its first decision. What is known of its steps goes along with every call, so
    that a call that was delayed on its way can do no harm when it arrives after its repetition.
    """

    def __init__(
        self,
        experiment: ExperimentCalls,
        id: str | None = None,
        opening: dict[str, Any] | None = None,
    ) -> None:
        self._experiment = experiment
        self._opening = opening
        self._step = 0 if id is None else None
        self._unanswered: tuple[Any, str] | None = None
        self.id = uuid.uuid4().hex if id is None else check_name("id", id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._experiment.name!r}, {self.id!r})"

    def _ask(self, method: str, *path: str, **body: Any) -> Steps:
        return (yield from self._experiment._ask(method, "visits", self.id, *path, **body))

    def _deciding(self, reward: float | None, request: str | None, step: int | None) -> Steps:
        reward = None if reward is None else reward_of(reward)
        if step is None and self._step is not None:
            step = self._step + 1
        request = request or self._request_for((reward, step))
        kind = "decisions" if reward is None else "step"
        body = {"request_id": request, "step": step, "open": self._opening, "reward": reward}
        try:
            answer = yield from self._ask("POST", kind, **body)
        except Conflict:
            self._step = self._unanswered = None  # somebody else went on with this visit
            raise
        self._opening = self._unanswered = None
        self._step = answer["step"]
        return Decision(*(answer[name] for name in Decision._fields))

    def _request_for(self, what: Any) -> str:
        """A new id; or, if the same call got no answer before, the id it had then."""
        if self._unanswered is None or self._unanswered[0] != what:
            self._unanswered = what, uuid.uuid4().hex
        return self._unanswered[1]

    def _rewarding(self, value: float, step: int | None) -> Steps:
        value = reward_of(value)
        if step is None:
            step = self._step or (yield from self._ask("GET"))["step"]
        answer = yield from self._ask("PUT", "decisions", str(step), "reward", value=value)
        return answer["outcome"]

    def _ending(self, reward: float | None) -> Steps:
        if self._opening is not None:
            yield from self._ask("PUT", **self._opening)
            self._opening = None
        reward = None if reward is None else reward_of(reward)
        return (yield from self._ask("PUT", "end", reward=reward))["ended"]


def opening_of(user: str | None, state: float | None) -> dict[str, Any]:
    """The body that opens a visit."""
    given = {"user": user, "state": state}
    return {name: value for name, value in given.items() if value is not None}


def given(policy: Policy | None, user: User | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those settings that were given."""
    named = {"policy": policy, "user": user}
    return {**settings, **{name: value for name, value in named.items() if value is not None}}

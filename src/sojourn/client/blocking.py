"""`Client`: the service from threads."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from ..live import Decision
from ..policies import Policy
from ..users import User
from .asking import ExperimentCalls, Further, VisitCalls, given, opening_of
from .calls import RETRIES, TIMEOUT, Lost, Steps


class Client:
    """A service at `url`; `key` is an API key, if it wants one.

    A call that gets no answer within `timeout` seconds, or the answer "not now", is repeated up to
    `retries` times with growing pauses. Nothing is counted twice by that.

    >>> def first_two(url: str) -> list[str]:
    ...     with Client(url) as client:
    ...         shorts = client.experiment("shorts", arms=["dance", "cooking", "news"])
    ...         visit = shorts.visit(user="u42")
    ...         return [visit.choose(), visit.step(1)]

    Errors are those of `sojourn.live` (`Busy`, `Unavailable`, `Conflict`, `Ended`, `NotFound`),
    `Refused` if the key will not do, and ValueError for what is not allowed.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        self._retries = retries
        from .over_httpx import Httpx  # all else in this package does without it

        self._carrier = Httpx(url, key, timeout)

    def experiment(
        self,
        name: str,
        arms: Sequence[str] = (),
        policy: Policy | None = None,
        user: User | None = None,
        **settings: Unpack[Further],
    ) -> "Experiment":
        """The experiment of this name, made or brought up to date if arms or settings are given.

        They are those of `Experiment`. With the name alone: `NotFound` if there is none.
        """
        found = Experiment(name, self._retries)
        found._client = self
        self._run(found._entering(arms, given(policy, user, settings)))
        return found

    def _run(self, steps: Steps) -> Any:
        try:
            wanted = next(steps)
            while True:
                if isinstance(wanted, float):
                    time.sleep(wanted)
                    wanted = next(steps)
                    continue
                try:
                    answer = self._carrier.send(wanted)
                except Lost as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(answer)
        except StopIteration as done:
            return done.value

    def close(self) -> None:
        """Let go of the connections."""
        self._carrier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Experiment(ExperimentCalls):
    """One experiment behind the service; see `Experiment`."""

    _client: Client

    def visit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> "Visit":
        """A visit, which is opened with its first decision; an `id` that is known goes on."""
        return Visit(self, id, opening_of(user, state))

    def get(self, id: str) -> "Visit":
        """A visit that was opened before; a call on it raises `NotFound` if it was not."""
        return Visit(self, id)

    def add_arm(self, name: str) -> None:
        """Take an arm into use, for the first time or again."""
        self._client._run(self._adding(name))

    def retire_arm(self, name: str) -> None:
        """Choose an arm no longer; what is known of it stays."""
        self._client._run(self._retiring(name))

    def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Counts from elsewhere, (pulls, successes) by arm; given again, they replace."""
        self._client._run(self._warming(prior))


class Visit(VisitCalls):
    """One stay of one user; see `sojourn.live.Visit`. A call returns when it is durable."""

    _experiment: Experiment

    def choose(self) -> str:
        """The arm to show next."""
        return self.decide().arm

    def step(self, reward: float) -> str:
        """The reward of the pending arm, and the arm to show next, in one round trip."""
        return self.decide(reward).arm

    def decide(
        self, reward: float | None = None, *, request: str | None = None, step: int | None = None
    ) -> Decision:
        """`step` or, without a reward, `choose`.

        If it raises `Unavailable`, call it again: it gets the answer that was kept, or is done now.
        `Conflict` says that somebody else went on with this visit; the next call goes on there.
        """
        decision: Decision = self._experiment._client._run(self._deciding(reward, request, step))
        return decision

    def reward(self, value: float, *, step: int | None = None) -> str:
        """The reward of a step, the last one unless said otherwise: "learned", "same" or "late"."""
        outcome: str = self._experiment._client._run(self._rewarding(value, step))
        return outcome

    def end(self, reward: float | None = None) -> bool:
        """The user has left, perhaps after a last reward. False if that was known."""
        ended: bool = self._experiment._client._run(self._ending(reward))
        return ended

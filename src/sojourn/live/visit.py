"""A visit, and what its calls return."""

import uuid
from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from .answers import Ask, Decision, Logged, Opening, VisitInfo
from .journal import Journal, Steps
from .names import check_name
from .records import Row


class Choice(NamedTuple):
    """A decision with what the policy knew when it took it.

    `optimism` is that of the state (None: the policy has none), `pulls` and `successes` are those
    of the arm; `new` says that it was given out for the first time; `best` was the arm of greatest
    mean; not `exploring`, it played what it knew to be best.
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


class Operating(Protocol):
    """The operations on visits, as generators for `Journal.run`."""

    def opening(self, visit: str, opening: Opening) -> Steps[VisitInfo | None]: ...

    def deciding(self, visit: str, ask: Ask) -> Steps[Decision]: ...

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps[str]: ...

    def ending(self, visit: str, reward: float | None) -> Steps[bool]: ...

    def looking_up(self, visit: str) -> Steps[VisitInfo]: ...

    def fetch(self, visit: str) -> Row: ...


class Serving(ABC):
    """Whatever has visits: an experiment, or one with variants."""

    name: str

    @property
    @abstractmethod
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""

    @property
    @abstractmethod
    def _operations(self) -> Operating: ...

    def visit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> "Visit":
        """Open a visit, in `state` or at the model's start; or go on with the one of this `id`."""
        return self.journal.run(self._visiting(user, id, state))

    async def avisit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> "Visit":
        return await self.journal.arun(self._visiting(user, id, state))

    def _visiting(self, user: str | None, id: str | None, state: float | None) -> Steps["Visit"]:
        visit = str(uuid.uuid4()) if id is None else check_name("id", id)
        opened = yield from self._operations.opening(visit, Opening(user, state))
        return Visit(self, visit, opened=opened)

    def decide(self, id: str, ask: Ask) -> Decision:
        """`Visit.decide` by id."""
        return self.journal.run(self._operations.deciding(id, ask))

    async def adecide(self, id: str, ask: Ask) -> Decision:
        return await self.journal.arun(self._operations.deciding(id, ask))

    def get(self, id: str) -> "Visit":
        """A visit that was opened before; a call on it raises `NotFound` if it was not."""
        return Visit(self, check_name("id", id))


class Visit:
    """One stay of one user. A call returns when what it did is durable.

    `opened` is what is known of it if the call that returned this visit has opened it, else None.
    `decide`, `reward`, `end` and `info` have twins for asyncio: `adecide` and so on.

    >>> import sojourn as sj
    >>> with sj.Experiment("shorts", ["dance", "news"], compiled=False, seed=1) as experiment:
    ...     visit = experiment.visit(user="u1")
    ...     visit.choose(), visit.choose(1), visit.end(0)
    ('dance', 'news', True)
    """

    def __init__(self, experiment: Serving, id: str, *, opened: VisitInfo | None = None) -> None:
        self.experiment, self.id, self.opened = experiment, id, opened

    def __repr__(self) -> str:
        return f"Visit({self.experiment.name!r}, {self.id!r})"

    def choose(self, reward: float | None = None, *, logged: Logged | str | None = None) -> str:
        """The arm to show next, after the reward of the pending step, in one write.

        Without a reward, a pending step gets the default reward. For `logged` see `Ask`.
        """
        return self.decide(Ask(reward=reward, logged=Logged.of(logged))).arm

    def decide(self, ask: Ask | None = None) -> Decision:
        """The next decision, with its state and propensity: `choose` with all of `Ask`."""
        return self.experiment.decide(self.id, ask or Ask())

    async def adecide(self, ask: Ask | None = None) -> Decision:
        return await self.experiment.adecide(self.id, ask or Ask())

    def reward(self, value: float, *, step: int | None = None) -> str:
        """The reward of a step, by default the last one.

        Returns "learned"; or "same" if this reward is known; or "late" if the step was resolved
        without it, longer ago than `late_horizon`: then it is kept in the log, but not learned.
        Another value than the one known raises `Conflict`.
        """
        return self.experiment.journal.run(self._operations.rewarding(self.id, value, step))

    async def areward(self, value: float, *, step: int | None = None) -> str:
        return await self.experiment.journal.arun(self._operations.rewarding(self.id, value, step))

    def end(self, reward: float | None = None) -> bool:
        """The user has left, perhaps after a last reward. False if the visit had ended."""
        return self.experiment.journal.run(self._operations.ending(self.id, reward))

    async def aend(self, reward: float | None = None) -> bool:
        return await self.experiment.journal.arun(self._operations.ending(self.id, reward))

    def info(self) -> VisitInfo:
        return self.experiment.journal.run(self._operations.looking_up(self.id))

    async def ainfo(self) -> VisitInfo:
        return await self.experiment.journal.arun(self._operations.looking_up(self.id))

    @property
    def row(self) -> Row:
        return self._operations.fetch(self.id)

    @property
    def _operations(self) -> Operating:
        return self.experiment._operations

"""A visit, and its calls."""

from typing import TYPE_CHECKING

from .answers import Ask, Decision, Logged, VisitInfo
from .records import Row

if TYPE_CHECKING:
    from .experiment import Experiment
    from .routing import Routing


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

    def __init__(
        self, experiment: "Experiment", id: str, *, opened: VisitInfo | None = None
    ) -> None:
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
    def _operations(self) -> "Routing":
        return self.experiment._operations

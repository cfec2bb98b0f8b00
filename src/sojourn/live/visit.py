"""A visit, and what its calls return."""

from typing import TYPE_CHECKING, NamedTuple

from .. import checks
from .answers import Decision
from .names import check_name
from .records import Row

if TYPE_CHECKING:
    from .experiment import Experiment
    from .operations import Operations


class Opening(NamedTuple):
    """The user of a visit, and its first state if it is not the user model's."""

    user: str | None = None
    state: float | None = None

    def checked(self) -> "Opening":
        user = None if self.user is None else check_name("user", self.user)
        state = None if self.state is None else checks.number("state", self.state, 0, 1)
        return Opening(user, state)


class VisitInfo(NamedTuple):
    """A visit: `step` decisions so far, the last one still without a result if `pending_arm`."""

    id: str
    user: str | None
    status: str
    step: int
    state: float
    pending_arm: str | None


class Choice(NamedTuple):
    """A decision with what the policy knew when it took it.

    `optimism` is that of the state (None: the policy has none), `pulls` and `successes` are those
    of the arm; `new` says that it was given out for the first time; `best` was the arm of greatest
    mean.
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


class Visit:
    """One stay of one user. A call returns when what it did is durable.

    `opened` is what is known of it if the call that returned this visit has opened it, else None.
    `decide`, `reward`, `end` and `info` have twins for asyncio: `adecide` and so on.

    >>> import sojourn as sj
    >>> with sj.Experiment("shorts", ["dance", "news"], compiled=False, seed=1) as experiment:
    ...     visit = experiment.visit(user="u1")
    ...     visit.choose(), visit.step(1), visit.end(0)
    ('dance', 'news', True)
    """

    def __init__(
        self, experiment: "Experiment", id: str, *, opened: VisitInfo | None = None
    ) -> None:
        self.experiment, self.id, self.opened = experiment, id, opened

    def __repr__(self) -> str:
        return f"Visit({self.experiment.name!r}, {self.id!r})"

    def choose(self) -> str:
        """The arm to show next; a pending step gets the default reward."""
        return self.decide().arm

    def step(self, reward: float) -> str:
        """The reward of the pending step, and the arm to show next, in one write."""
        return self.decide(reward).arm

    def decide(
        self, reward: float | None = None, *, request: str | None = None, step: int | None = None
    ) -> Decision:
        """`step` or, without a reward, `choose`.

        The same `request` as that of the visit's last decision gets the same answer and changes
        nothing, so that a call whose answer was lost can be repeated. With the number of the `step`
        wanted that holds for all decisions of the visit, and a number that is neither the next nor
        one decided for this request raises `Conflict`.
        """
        return self.experiment.decide(self.id, reward, request=request, step=step)

    async def adecide(
        self, reward: float | None = None, *, request: str | None = None, step: int | None = None
    ) -> Decision:
        return await self.experiment.adecide(self.id, reward, request=request, step=step)

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
    def _operations(self) -> "Operations":
        return self.experiment._operations

"""A visit and its calls, and the branch of the experiment that does them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from .answers import Ask, Decision, Logged, Opening, VisitInfo
from .branch import Branch
from .errors import NotFound
from .journal import Steps
from .names import Id, check_name
from .operations import Operations
from .rollout.allocation import Allocation, hash_scores, unit_of
from .stores.base import find_visit

if TYPE_CHECKING:
    from .experiment import Experiment

T = TypeVar("T")
Act = Callable[[Operations, Opening | None], Steps[T]]


class Visit:
    """One stay of one user. A call returns when what it did is durable.

    `opened` has what is known of it if the call that returned this visit opened it, else None.
    `decide`, `reward`, `end` and `info` have asyncio twins: `adecide` and so on.

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

    def choose(self, reward: float | None = None, *, logged: Logged | Id | None = None) -> str:
        """The arm to show next, after the reward of the pending step, in one write.

        Without a reward, a pending step gets the default reward. For `logged` see `Ask`.
        """
        return self.decide(Ask(reward=reward, logged=Logged.of(logged))).arm

    def decide(self, ask: Ask | None = None) -> Decision:
        """The next decision, with its state and propensity: `choose` with all options of `Ask`."""
        return self.experiment.decide(self.id, ask or Ask())

    async def adecide(self, ask: Ask | None = None) -> Decision:
        return await self.experiment.adecide(self.id, ask or Ask())

    def reward(self, value: float, *, step: int | None = None) -> str:
        """The reward of a step, by default the last one.

        Returns "learned"; "same" if this reward is known already; or "late" if the step was
        resolved without it longer ago than `late_horizon`: then it is logged, but not learned. A
        value that differs from the known one raises `Conflict`.
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
    def _operations(self) -> "Routing":
        return self.experiment._operations


class Routing:
    """Finds the branch of a visit, and lets it do the operation, as a generator for `Journal.run`.

    With a single branch there is nothing to find. Else a visit stays where it was opened. It is
    looked for in the memory of this process, then in the store: by its id alone in all variants,
    and by its user in those to which the shares of some epoch assign it, of which there is hardly
    ever more than one.
    """

    def __init__(
        self, name: str, branches: Mapping[str, Branch], allocation: Callable[[], Allocation]
    ) -> None:
        self.name, self.branches, self._allocation = name, branches, allocation
        self._only = next(iter(branches.values())) if len(branches) == 1 else None

    def opening(self, visit: str, opening: Opening) -> Steps[VisitInfo | None]:
        variant, opened = yield from self._routed(
            visit, lambda at, opening: at.opening(visit, opening or Opening()), opening
        )
        return opened and replace(opened, variant=variant or None)

    def deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        if self._only is not None:
            return self._only.operations.deciding(visit, ask)
        return self._deciding(visit, ask)

    def _deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        variant, made = yield from self._routed(
            visit,
            lambda at, opening: at.deciding(visit, replace(ask, opening=opening)),
            ask.opening,
        )
        return replace(made, variant=variant)

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps[str]:
        routed = self._routed(visit, lambda at, _: at.rewarding(visit, reward, step))
        return (yield from routed)[1]

    def ending(self, visit: str, reward: float | None) -> Steps[bool]:
        return (yield from self._routed(visit, lambda at, _: at.ending(visit, reward)))[1]

    def looking_up(self, visit: str) -> Steps[VisitInfo]:
        variant, found = yield from self._routed(visit, lambda at, _: at.looking_up(visit))
        return replace(found, variant=variant or None)

    def _routed(
        self, visit: str, act: Act[T], opening: Opening | None = None
    ) -> Steps[tuple[str, T]]:
        """Act on a visit in its variant; the variant, and the result.

        It stays in another variant if another call has just opened it there, by other shares.
        """
        user = shares = None
        if opening is not None:
            user = opening.user
            check_name("id", visit)
            if self._only is None:
                shares = self._allocation()
                opening = replace(opening, epoch=shares.epoch, window=shares.window)
        variant = yield from self._finding(visit, user, shares)
        try:
            return variant, (yield from act(self._of(variant), opening))
        except NotFound:
            stored = yield from self._finding(visit)
            if stored == variant:
                raise
            return stored, (yield from act(self._of(stored), opening))

    def _of(self, variant: str) -> Operations:
        return self.branches[variant].operations

    def _finding(
        self, visit: str, user: str | None = None, opens: Allocation | None = None
    ) -> Steps[str]:
        """The variant that has a visit; or, if it `opens` one, the one that is assigned to it."""
        if self._only is not None:
            return next(iter(self.branches))
        for name in self.branches:
            if self._of(name).known(visit) is not None:
                return name
        scores = hash_scores(self.name, tuple(self.branches), unit_of(visit, user))
        likely = (opens or self._allocation()).assigned(scores)
        for name in dict.fromkeys([*likely, *self.branches]) if opens is None else likely[1:]:
            branch = self.branches[name]
            if (yield partial(find_visit, branch.journal.store, branch.name, visit)) is not None:
                return name
        if opens is None:
            raise NotFound(f"there is no visit {visit!r} in {self.name!r}")
        return likely[0]

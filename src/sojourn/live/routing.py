"""The operations on visits of an experiment: each is done by the branch of the visit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from .answers import Ask, Decision, Opening, VisitInfo
from .assignment import hash_scores, unit_of
from .branch import Branch
from .errors import NotFound
from .journal import Steps
from .names import check_name
from .operations import Operations
from .plan import Allocation
from .records import Row


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
        if self._only is not None:
            return self._only.operations.opening(visit, opening)
        return self._opening(visit, opening)

    def _opening(self, visit: str, opening: Opening) -> Steps[VisitInfo | None]:
        variant, opening = yield from self._entering(visit, opening)
        opened = yield from self._of(variant).opening(visit, opening)
        return None if opened is None else replace(opened, variant=variant)

    def deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        if self._only is not None:
            return self._only.operations.deciding(visit, ask)
        return self._deciding(visit, ask)

    def _deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        if ask.opening is None:
            variant = yield from self._finding(visit)
        else:
            variant, opening = yield from self._entering(visit, ask.opening)
            ask = replace(ask, opening=opening)
        made = yield from self._of(variant).deciding(visit, ask)
        return replace(made, variant=variant)

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps[str]:
        variant = yield from self._finding(visit)
        return (yield from self._of(variant).rewarding(visit, reward, step))

    def ending(self, visit: str, reward: float | None) -> Steps[bool]:
        variant = yield from self._finding(visit)
        return (yield from self._of(variant).ending(visit, reward))

    def looking_up(self, visit: str) -> Steps[VisitInfo]:
        variant = yield from self._finding(visit)
        found = yield from self._of(variant).looking_up(visit)
        return replace(found, variant=variant or None)

    def fetch(self, visit: str) -> Row:
        for branch in self.branches.values():
            row = branch.journal.store.visit(branch.name, visit)
            if row is not None:
                return row
        raise self._unknown(visit)

    def _of(self, variant: str) -> Operations:
        return self.branches[variant].operations

    def _unknown(self, visit: str) -> NotFound:
        return NotFound(f"there is no visit {visit!r} in {self.name!r}")

    def _remembered(self, visit: str) -> str | None:
        """The variant in which this process has the visit in memory."""
        for name in self.branches:
            if self._of(name).known(visit) is not None:
                return name
        return None

    def _stored(self, visit: str, among: list[str]) -> Steps[str | None]:
        """The variant in which the store has the visit."""
        for name in among:
            branch = self.branches[name]
            if (yield partial(branch.journal.store.visit, branch.name, visit)) is not None:
                return name
        return None

    def _finding(self, visit: str) -> Steps[str]:
        """The variant of a visit of which nothing is known but the id."""
        if self._only is not None:
            return next(iter(self.branches))
        found = self._remembered(visit)
        if found is None:
            likely = self._allocation().assigned(self._scores(visit, None))
            among = list(dict.fromkeys([*likely, *self.branches]))
            found = yield from self._stored(visit, among)
        if found is None:
            raise self._unknown(visit)
        return found

    def _entering(self, visit: str, opening: Opening) -> Steps[tuple[str, Opening]]:
        """The variant of a visit that may be new, and how it is opened there."""
        check_name("id", visit)
        allocation = self._allocation()
        found = self._remembered(visit)
        if found is None:
            likely, *others = allocation.assigned(self._scores(visit, opening.user))
            found = (yield from self._stored(visit, others)) or likely
        return found, replace(opening, epoch=allocation.epoch)

    def _scores(self, visit: str, user: str | None) -> dict[str, float]:
        return hash_scores(self.name, tuple(self.branches), unit_of(visit, user))

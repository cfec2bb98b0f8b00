"""The operations on visits of an experiment with variants: each is done by the visit's variant."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from .answers import Ask, Decision, Opening, VisitInfo
from .assignment import races, unit_of
from .errors import NotFound
from .experiment import Experiment
from .journal import Steps
from .names import check_name
from .plan import Plan
from .records import Row


class Routing:
    """Finds the variant of a visit, and lets it do the operation.

    A visit stays where it was opened. It is looked for in the memory of this process, then in the
    store: by its id alone in all variants, and by its user in those to which the shares of some
    epoch assign it, of which there is hardly ever more than one.
    """

    def __init__(
        self, name: str, variants: Mapping[str, Experiment], plan: Callable[[], Plan]
    ) -> None:
        self.name, self.variants, self._plan = name, variants, plan

    def opening(self, visit: str, opening: Opening) -> Steps[VisitInfo | None]:
        variant, opening = yield from self._entering(visit, opening)
        opened = yield from self.variants[variant]._operations.opening(visit, opening)
        return None if opened is None else replace(opened, variant=variant)

    def deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        if ask.opening is None:
            variant = yield from self._finding(visit)
        else:
            variant, opening = yield from self._entering(visit, ask.opening)
            ask = replace(ask, opening=opening)
        made = yield from self.variants[variant]._operations.deciding(visit, ask)
        return replace(made, variant=variant)

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps[str]:
        variant = yield from self._finding(visit)
        return (yield from self.variants[variant]._operations.rewarding(visit, reward, step))

    def ending(self, visit: str, reward: float | None) -> Steps[bool]:
        variant = yield from self._finding(visit)
        return (yield from self.variants[variant]._operations.ending(visit, reward))

    def looking_up(self, visit: str) -> Steps[VisitInfo]:
        variant = yield from self._finding(visit)
        found = yield from self.variants[variant]._operations.looking_up(visit)
        return replace(found, variant=variant)

    def fetch(self, visit: str) -> Row:
        for variant in self.variants.values():
            row = variant.journal.store.visit(variant.name, visit)
            if row is not None:
                return row
        raise self._unknown(visit)

    def _unknown(self, visit: str) -> NotFound:
        return NotFound(f"there is no visit {visit!r} in {self.name!r}")

    def _remembered(self, visit: str) -> str | None:
        """The variant in which this process has the visit in memory."""
        for name, variant in self.variants.items():
            if variant._operations.known(visit) is not None:
                return name
        return None

    def _stored(self, visit: str, among: list[str]) -> Steps[str | None]:
        """The variant in which the store has the visit."""
        for name in among:
            experiment = self.variants[name]
            if (yield partial(experiment.journal.store.visit, experiment.name, visit)) is not None:
                return name
        return None

    def _finding(self, visit: str) -> Steps[str]:
        """The variant of a visit of which nothing is known but the id."""
        found = self._remembered(visit)
        if found is None:
            likely = self._plan().homes(self._races(visit, None))
            among = list(dict.fromkeys([*likely, *self.variants]))
            found = yield from self._stored(visit, among)
        if found is None:
            raise self._unknown(visit)
        return found

    def _entering(self, visit: str, opening: Opening) -> Steps[tuple[str, Opening]]:
        """The variant of a visit that may be new, and how it is opened there."""
        check_name("id", visit)
        plan = self._plan()
        found = self._remembered(visit)
        if found is None:
            home, *others = plan.homes(self._races(visit, opening.user))
            found = (yield from self._stored(visit, others)) or home
        return found, replace(opening, epoch=plan.epoch)

    def _races(self, visit: str, user: str | None) -> dict[str, float]:
        return races(self.name, tuple(self.variants), unit_of(visit, user))

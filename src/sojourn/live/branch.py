"""`Branch`: one policy that decides, with its settings, its visits, and what it has learned."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Self

from .. import validation
from ..engine.calls import Mode
from ..policies import Policy
from .answers import Choice
from .enrolment import check_served
from .errors import Conflict, NotFound
from .executors import PerProcess
from .journal import Journal
from .learner import Learner
from .names import Id, as_text, one_or_many
from .operations import Operations
from .records import Arm, Bucket, Counts
from .settings import Settings
from .stores.base import Stored, counters, one_of_its_own, save


class Learned:
    """Properties of a branch, and of an experiment that has only one."""

    if TYPE_CHECKING:

        @property
        def operations(self) -> Operations: ...

    @property
    def settings(self) -> Settings:
        return self.operations.settings

    @property
    def policy(self) -> Policy:
        return self.operations.settings.policy

    @property
    def mode(self) -> Mode:
        """Whether the policy runs compiled, or interpreted; or interpreted while it is compiled."""
        return self.operations.learner.runner.mode

    @property
    def memory(self) -> Any:
        """What the policy has learned, as this process has it."""
        return self.operations.learner.memory

    @property
    def all_arms(self) -> tuple[Arm, ...]:
        """All arms with their prior counts, retired ones included."""
        return tuple(self.operations.arms)

    def counts(self) -> Counts:
        """The counters of all processes, from the store; see `records.tally` and `following`."""
        return counters(self.operations.journal.store, self.operations.name)


class Branch(Learned):
    """The inside of an experiment: a policy, its arms, and its visits in the store.

    An experiment without variants has one branch, of its own name. With variants it has one for
    each, named `experiment:variant`. While the branch is not `exploring`, it plays only the arm
    that its policy estimates to be best. After `dropped`, calls raise `NotFound`.

    >>> from sojourn.live import Experiment
    >>> with Experiment("shorts", ["dance", "news"], compiled=False) as shorts:
    ...     shorts.branch.name, shorts.branch.arms
    ('shorts', ('dance', 'news'))
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        journal: Journal,
        *,
        seed: int | None = None,
        run: int = 0,
        compiled: bool = True,
    ) -> None:
        self.name, self.exploring, self.dropped = name, True, False
        self._seed = seed
        self._learner = partial(Learner, run=run, compiled=compiled)
        operations = self._operate(settings, journal)

        def reopen() -> Operations:
            here = journal.here()
            made = self._operate(operations.settings, here)
            here.enter(self)
            return made

        self._processes = PerProcess(operations, reopen)
        journal.enter(self)

    @classmethod
    def open(cls, name: str, journal: Journal, *, compiled: bool = True) -> Self:
        """Open a branch that the store has, with its stored settings."""
        stored = one_of_its_own(journal.store, name)
        settings = Settings.from_json(stored.settings)
        check_served(settings, stored.arms)
        return cls(name, settings, journal, compiled=compiled)

    def _operate(self, settings: Settings, journal: Journal) -> Operations:
        seed = secrets.randbits(62) if self._seed is None else self._seed
        make = partial(self._learner, seed=seed)
        operations = Operations(self.name, settings, journal, make, lambda: self.exploring)
        operations.reload()
        return operations

    @property
    def operations(self) -> Operations:
        """What can be done with its visits, in this process."""
        return self._processes.get()

    @property
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""
        return self.operations.journal

    @property
    def arms(self) -> tuple[str, ...]:
        """The active arms."""
        return tuple(arm.name for arm in self.operations.arms if not arm.retired)

    def add_arms(self, names: Id | Sequence[Id]) -> None:
        """Activate one arm or many, for the first time or again."""
        known = {arm.name: arm for arm in self.all_arms}
        arms = [known.get(name, Arm(0, name)) for name in one_or_many("arms", names)]
        self._change([arm._replace(retired=0) for arm in arms])

    def retire_arms(self, names: Id | Sequence[Id]) -> None:
        """Stop choosing one arm or many; their counts stay. `Conflict` if no arm would be left."""
        retired = [self._known(name)._replace(retired=1) for name in one_or_many("arms", names)]
        if {arm.name for arm in retired}.issuperset(self.arms):
            raise Conflict(f"not all arms of {self.name!r} can be retired: one has to stay")
        self._change(retired)

    def _change(self, arms: Sequence[Arm]) -> None:
        check_served(self.settings, self.all_arms, arms)
        self._save(arms)

    def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Prior (pulls, successes) by arm, beside those counted here; they replace earlier ones."""
        arms = []
        for name, (pulls, successes) in prior.items():
            n = validation.number(f"pulls of {name!r}", pulls, 0, inf)
            s = validation.number(f"successes of {name!r}", successes, 0, n)
            arms.append(self._known(as_text(name))._replace(pulls=n, successes=s))
        self._save(arms)

    def _known(self, name: str) -> Arm:
        for arm in self.operations.arms:
            if arm.name == name:
                return arm
        raise NotFound(f"there is no arm {name!r} in {self.name!r}")

    def _save(self, arms: Sequence[Arm]) -> None:
        save(self.journal.store, self.name, self.settings.to_json(), arms)
        self.operations.reload()

    @property
    def conflicts(self) -> int:
        """Changes rejected because another process updated the visit first; each was retried."""
        return self.operations.conflicts

    def compile(self) -> None:
        """Compile the policy now, in this process."""
        self.operations.learner.runner.compile()

    def timeline(self, since: float, width: float) -> list[Bucket]:
        """Visits that ended since then, in buckets of `width` seconds."""
        return self.journal.store.series(Bucket, self.name, since=since, width=width)

    def recent(self) -> list[Choice]:
        """A sample of this process's decisions and what the policy knew then, the latest first."""
        return list(self.operations.noted)[::-1]

    def sweep(self) -> int:
        """Resolve steps and end visits that are overdue; how many visits were changed."""
        return self.operations.sweep()

    def refresh(self, stored: Stored | None = None) -> None:
        """Add what other processes have counted."""
        try:
            self.operations.refresh(stored)
        except NotFound:  # another process has dropped it
            self.leave()

    def leave(self) -> None:
        """Another process, or a call, has dropped it."""
        self.dropped = True
        self.journal.leave(self)

    def close(self) -> None:
        """Stop its upkeep; visits stay open in the store."""
        operations = self._processes.opened
        if operations is not None:  # else forked, and not used since
            operations.journal.leave(self)

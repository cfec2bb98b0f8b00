"""`Split`: an experiment with variants, to which its visits are assigned by shares."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self

from .comparing import Comparison, compare
from .errors import Conflict, NotFound
from .experiment import Experiment
from .journal import Journal
from .learner import Learner
from .plan import Guardrail, Plan, names_of
from .records import News
from .routing import Routing
from .settings import Settings
from .stores.base import loaded
from .variants import Given, Variant, enrol_variants, plan_of
from .visit import Serving

TRIES = 50


class Split(Serving):
    """An experiment with variants, which share its visits and are compared.

    >>> old, new = Variant("old", 0.9, external=True), Variant("new", 0.1)
    >>> with Split("shorts", ["dance", "news"], [old, new], "old", compiled=False) as shorts:
    ...     visit = shorts.visit(user="u42")
    ...     arm = visit.choose(own="news")
    ...     shorts.ramp({"new": 0.5})
    ...     visit.info().variant, arm, shorts.shares
    ('old', 'news', {'old': 0.5, 'new': 0.5})

    A visit is in the variant that a hash of its user says, or of its own id without a user; it
    stays there when shares change (`ramp`, `roll_back`). Each variant is an experiment of its own,
    named `shorts:old` and `shorts:new` here, and learns from its own visits; arms, user model and
    the other settings of `Experiment` are those of all. The `holdout` is what others are compared
    with (`compare`), and where the visits of a variant go that a `guardrail` stops.

    One that the store knows goes on: with the shares that it has there, whatever those of the
    variants given are, and with the guardrail there unless one is given. The names of the variants
    and the holdout cannot change.
    """

    def __init__(
        self,
        name: str,
        arms: Sequence[str] = (),
        variants: Sequence[Variant] = (),
        holdout: str | None = None,
        *,
        guardrail: Guardrail | None = None,
        store: str | Journal = "memory://",
        compiled: bool = True,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        own = not isinstance(store, Journal)
        journal = Journal(store) if isinstance(store, str) else store.here()
        given = Given(arms, variants, holdout, guardrail, settings)
        try:
            learner = partial(Learner, seed=0, compiled=compiled)
            plan, each, _ = enrol_variants(journal.store, name, given, learner)

            def make(variant: str, child: str) -> Experiment:
                kept = {f.name: getattr(each[variant], f.name) for f in fields(Settings)}
                return Experiment(child, store=journal, compiled=compiled, seed=seed, **kept)

            self._begin(name, plan, journal, make, own=own)
        except BaseException:
            if own:
                journal.close()
            raise

    def _begin(
        self,
        name: str,
        plan: Plan,
        journal: Journal,
        make: Callable[[str, str], Experiment],
        *,
        own: bool,
    ) -> None:
        """Open the experiments of the variants by `make(variant, name)`, and serve them."""
        self.name, self._plan, self._text = name, plan, plan.to_json()
        self._own, self._journal, self._entered = own, journal, journal
        names = names_of(name, plan.variants)
        self.variants = {variant: make(variant, child) for variant, child in names.items()}
        self._routing = Routing(name, self.variants, lambda: self._plan)
        self.dropped = False
        journal.enter(self)

    @classmethod
    def open(
        cls,
        name: str,
        store: str | Journal,
        make: Callable[[str], Experiment] | None = None,
        **options: Any,
    ) -> Self:
        """One that the store knows; `make` opens the experiments of its variants by their names."""
        journal = Journal(store) if isinstance(store, str) else store
        split = cls.__new__(cls)
        make = make or (lambda child: Experiment.open(child, journal, **options))
        try:
            plan = plan_of(journal.store, name)
            split._begin(
                name, plan, journal, lambda _, child: make(child), own=journal is not store
            )
        except BaseException:
            if journal is not store:
                journal.close()
            raise
        return split

    @property
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""
        here = self._journal.here()
        if here is not self._entered:  # the process was forked
            self._entered = here
            here.enter(self)
        return here

    @property
    def _operations(self) -> Routing:
        return self._routing

    @property
    def plan(self) -> Plan:
        """Variants, shares over time, guardrail and alarm, as this process knows them."""
        return self._plan

    @property
    def shares(self) -> dict[str, float]:
        """The shares now."""
        return dict(self._plan.shares)

    @property
    def conflicts(self) -> int:
        """0: those of the variants are counted by their experiments."""
        return 0

    def ramp(self, shares: Mapping[str, float]) -> None:
        """Change the shares of some variants; the holdout has the rest.

        Visits that are open stay where they are. `Conflict` after the guardrail has acted.
        """
        self.change(lambda plan: plan.ramped(shares, self.now()))

    def roll_back(self) -> None:
        """Send all new visits to the holdout."""
        self.change(lambda plan: plan.rolled_back(self.now()))

    def undo(self) -> None:
        """Take back what the guardrail has done: the shares before it.

        The guardrail stays, and counts evidence from now on. `Conflict` if it has not acted.
        """
        self.change(lambda plan: plan.undone(self.now()))

    def guard(self, guardrail: Guardrail | None) -> None:
        """Set another guardrail, or none; its evidence is that since it was first set."""
        self.change(lambda plan: replace(plan, guardrail=guardrail))

    def change(self, changed: Callable[[Plan], Plan]) -> None:
        """Replace the plan by what it becomes, also if other processes change it meanwhile."""
        store = self.journal.store
        for _ in range(TRIES):
            text = loaded(store, self.name)[0]
            plan = changed(Plan.from_json(text))
            if self._exchanged(text, plan):
                return
        raise Conflict(f"the plan of {self.name!r} was changed by others {TRIES} times in a row")

    def _exchanged(self, text: str, plan: Plan) -> bool:
        """Whether the plan took the place of this text, in the store and here."""
        after = plan.to_json()
        if after != text and not self.journal.store.exchange(self.name, text, after):
            return False
        self._plan, self._text = plan, after
        return True

    def compare(self, **how: Any) -> Comparison:
        """The variants compared, by what all processes have recorded: see `live.compare`."""
        return compare(self.journal.store, self.name, **how)

    def now(self) -> float:
        """The time by the clock of the store, in seconds since 1970."""
        return self.journal.store.now()

    def refresh(self, news: News | None = None) -> None:
        """Take over the plan that another process has changed; a thread does so all the time."""
        shared = self.journal.store.shared
        if shared and news is None:
            news = self.journal.store.news([self.name]).get(self.name)
        if shared and news is None:
            self._leave()
        elif news is not None and news.settings != self._text:
            self._plan, self._text = Plan.from_json(news.settings), news.settings

    def sweep(self) -> int:
        """Nothing: the visits are those of the variants."""
        return 0

    def drop(self) -> None:
        """Delete the experiment, its variants, and all they have; archived files stay."""
        for variant in self.variants.values():
            with suppress(NotFound):
                variant.drop()
        self.journal.store.drop(self.name)
        self._leave()

    def _leave(self) -> None:
        self.dropped = True
        self.journal.leave(self)

    def close(self) -> None:
        """Write what is queued; visits stay open in the store."""
        self._entered.leave(self)
        for variant in self.variants.values():
            variant.close()
        if self._own:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

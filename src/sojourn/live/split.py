"""`Split`: an experiment with variants, to which its visits are assigned by shares."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, Self

from .comparing import Comparison, compare
from .errors import Conflict, NotFound
from .experiment import Experiment
from .guarding import Guard
from .journal import Journal
from .learner import Learner
from .looking import History, history
from .plan import Guardrail, Plan, names_of
from .records import News
from .routing import Routing
from .settings import Settings
from .variants import Given, Variant, check_guardrail, check_settles, enrol_variants, stored_plan
from .visit import Serving

TRIES = 50


class Split(Serving):
    """An experiment with variants, which share its visits and are compared.

    >>> old, new = Variant("old", 0.9, external=True), Variant("new", 0.1)
    >>> with Split("shorts", ["dance", "news"], [old, new], "old", compiled=False) as shorts:
    ...     visit = shorts.visit(user="u42")
    ...     arm = visit.choose(logged="news")
    ...     shorts.ramp({"new": 0.5})
    ...     visit.info().variant, arm, shorts.shares
    ('old', 'news', {'old': 0.5, 'new': 0.5})

    A visit is in the variant that a hash of its user says, or of its own id without a user; it
    stays there when shares change (`ramp`, `roll_back`). Each variant is an experiment of its own,
    named `shorts:old` and `shorts:new` here, and learns from its own visits; arms, user model and
    the other settings of `Experiment` are those of all. The `holdout` is what others are compared
    with (`compare`), and where the visits of a variant go that a `guardrail` stops (or it stops
    exploring: `explore` does so by hand); of that the `webhook` is told, by a POST to this address.

    One that the store knows goes on: with the shares that it has there, whatever those of the
    variants given are, and with the guardrail there unless one is given. The names of the variants
    and the holdout cannot change.
    """

    _known: tuple[str, Plan]  # the text in the store, and what it says

    def __init__(
        self,
        name: str,
        arms: Sequence[str] = (),
        variants: Sequence[Variant] = (),
        holdout: str | None = None,
        *,
        guardrail: Guardrail | None = None,
        webhook: str | None = None,
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
            each = enrol_variants(journal.store, name, given, learner).settings

            def make(variant: str, child: str) -> Experiment:
                kept = {f.name: getattr(each[variant], f.name) for f in fields(Settings)}
                return Experiment(child, store=journal, compiled=compiled, seed=seed, **kept)

            self._begin(name, journal, make, own, webhook)
        except BaseException:
            if own:
                journal.close()
            raise

    def _begin(
        self,
        name: str,
        journal: Journal,
        make: Callable[[str, str], Experiment],
        own: bool,
        webhook: str | None,
    ) -> None:
        """Open the experiments of the variants by `make(variant, name)`, and serve them."""
        self.guarding = Guard(self, webhook)
        self.name, self._own = name, own
        self._journal = self._entered = journal
        self.variants: dict[str, Experiment] = {}
        self.reload()
        names = names_of(name, self.plan.variants)
        self.variants = {variant: make(variant, child) for variant, child in names.items()}
        self._take(*self._known)
        self._routing = Routing(name, self.variants, lambda: self.plan)
        self.dropped = False
        journal.enter(self)

    @classmethod
    def open(
        cls,
        name: str,
        store: str | Journal,
        make: Callable[[str], Experiment] | None = None,
        *,
        webhook: str | None = None,
        **options: Any,
    ) -> Self:
        """One that the store knows; `make` opens the experiments of its variants by their names."""
        journal = Journal(store) if isinstance(store, str) else store
        split = cls.__new__(cls)
        make = make or (lambda child: Experiment.open(child, journal, **options))
        try:
            own = journal is not store
            split._begin(name, journal, lambda _, child: make(child), own, webhook)
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
        return self._known[1]

    @property
    def shares(self) -> dict[str, float]:
        """The shares now."""
        return dict(self.plan.shares)

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

    def explore(self, exploring: Mapping[str, bool]) -> None:
        """Stop exploring in some variants, or go on with it.

        A variant that does not explore plays only what its policy knows to be best
        (`Policy.greedy_values`). `Conflict` if the guardrail has stopped it: `undo` that.
        """
        for name, flag in exploring.items():
            if name in self.variants and not flag:
                check_settles(name, self.variants[name].settings)
        self.change(lambda plan: plan.exploring(exploring, self.now()))

    def undo(self) -> None:
        """Take back what the guardrail has done: what was before it.

        The guardrail stays, and counts evidence from now on. `Conflict` if it has not acted.
        """
        self.change(lambda plan: plan.undone(self.now()))

    def guard(self, guardrail: Guardrail | None) -> None:
        """Set another guardrail, or none."""
        settings = {name: each.settings for name, each in self.variants.items()}
        check_guardrail(self.plan.guarded(guardrail), settings)
        self.change(lambda plan: plan.guarded(guardrail))

    def change(self, changed: Callable[[Plan], Plan]) -> None:
        """Replace the plan by what it becomes, also if other processes change it meanwhile."""
        for _ in range(TRIES):
            self.reload()
            plan = self.plan
            if self.exchange(plan, changed(plan)):
                return
        raise Conflict(f"the plan of {self.name!r} was changed by others {TRIES} times in a row")

    def exchange(self, before: Plan, after: Plan) -> bool:
        """Whether one plan took the place of the other, which this process had, in the store."""
        if after == before:
            return True
        (known, plan), text = self._known, after.to_json()
        if plan is not before or not self.journal.store.exchange(self.name, known, text):
            return False
        self._take(text, after)
        return True

    def compare(self, **how: Any) -> Comparison:
        """The variants compared, by what all processes have recorded: see `live.compare`."""
        return compare(self.journal.store, self.name, **how)

    def history(self) -> History:
        """What the comparison has said over time: see `live.history`."""
        return history(self.journal.store, self.name)

    def now(self) -> float:
        """The time by the clock of the store, in seconds since 1970."""
        return self.journal.store.now()

    def refresh(self, news: News | None = None) -> None:
        """Take over the plan that another process has changed; a thread does so all the time."""
        shared = self.journal.store.shared
        if shared and news is None:
            news = self.journal.store.news([self.name]).get(self.name)
        if shared and news is None:
            self.leave()
            return
        if news is not None and news.settings != self._known[0]:
            self._take(news.settings, Plan.from_json(news.settings))
        self.guarding.look_in_time()

    def watch(self) -> bool:
        """Let the guardrail look, now; whether it acted. A thread does so every few seconds."""
        return self.guarding.look()

    def reload(self) -> None:
        """Take over the plan that the store has."""
        self._take(*stored_plan(self.journal.store, self.name))

    def _take(self, text: str, plan: Plan) -> None:
        """The plan from now on; variants are told whether they explore."""
        self._known = text, plan
        for name, variant in self.variants.items():
            variant.exploring = name not in plan.settled

    def sweep(self) -> int:
        """Nothing: the visits are those of the variants."""
        return 0

    def drop(self) -> None:
        """Delete the experiment, its variants, and all they have; archived files stay."""
        for variant in self.variants.values():
            with suppress(NotFound):
                variant.drop()
        self.journal.store.drop(self.name)
        self.leave()

    def leave(self) -> None:
        """It is no more: another process, or a call, has dropped it."""
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

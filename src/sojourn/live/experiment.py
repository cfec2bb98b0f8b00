"""`Experiment`: policies that decide for live visits, every step durable."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Self, Unpack

from .. import validation
from ..policies import DEFAULT, Policy
from ..users import User
from ..validation import InputError
from .answers import Ask, Decision, Opening, OtherSettings
from .branch import Branch, Learned
from .enrolment import (
    Given,
    Variant,
    check_guardrail,
    check_settles,
    children_in,
    enrol,
    enrol_variants,
)
from .errors import NotFound
from .journal import Journal, Steps
from .learner import Learner
from .names import Id, as_text, check_name, check_names
from .operations import Operations
from .rollout.allocation import Allocation, Guardrail, names_of
from .rollout.comparison import Comparison, History, compare, history
from .rollout.guardrail import Rollout
from .settings import Settings
from .stores.base import has_variants, loaded
from .visit import Routing, Visit


class ExperimentSettings(OtherSettings, total=False):
    """`OtherSettings`, and the experiments from which the policy learns as well."""

    learns_from: Sequence[str]


ONLY = ""
"""The key of the branch of an experiment without variants."""


class Experiment(Learned):
    """One experiment: arms by name, a policy that learns from visits, and a store.

    >>> with Experiment("shorts", ["dance", "cooking"], seed=1, compiled=False) as experiment:
    ...     visit = experiment.visit(user="u42")
    ...     first = visit.choose()
    ...     second = visit.choose(1)
    ...     left = visit.end()
    >>> first, second
    ('dance', 'cooking')

    The state of a visit follows its rewards as the `user` model says, by default `LastReward()`.
    Rewards are 0 or 1. With a `reward_threshold` they are graded, from 0 to 1, and good from the
    threshold on; only that counts in the state of other user models, and in what is learned of
    departures. A step without a reward gets the `default_reward` at the next decision, at the end
    of the visit, or after `reward_wait` seconds. A visit without a sign of life for `idle_timeout`
    seconds has ended. A later reward is logged but not learned, unless it comes within
    `late_horizon` seconds of the decision: then it replaces the default one.

    A new arm is introduced only to users in a state of positive optimism, unless
    `introduce_in_any_state`. With `count_in_flight`, pulls without a result narrow confidence
    bounds where optimism is positive. That is better for late rewards; no theorem covers it. With
    `epsilon` that share of decisions is any arm, so that every propensity is above 0.

    In an `external` experiment the caller chooses the arms and says which one was shown (`logged`
    of `Ask`); the policy learns from what happens then. With `shadow` each decision records what
    the policy would have shown: see `shadow` of `sojourn.live`. With `learns_from` the policy also
    learns from the counters of other experiments of the store. These are the `settings`.

    With `variants`, visits are divided among them by shares, and the variants are compared:

    >>> old, new = Variant("old", 0.9, external=True), Variant("new", 0.1)
    >>> both = {"variants": [old, new], "holdout": "old", "compiled": False}
    >>> with Experiment("shorts", ["dance", "news"], **both) as shorts:
    ...     visit = shorts.visit(user="u42")
    ...     arm = visit.choose(logged="news")
    ...     shorts.ramp({"new": 0.5})
    ...     visit.info().variant, arm, shorts.allocation.shares
    ('old', 'news', {'old': 0.5, 'new': 0.5})

    A visit is assigned to a variant by a hash of its user, or of its own id without a user, and
    stays there when shares change (`ramp`, `roll_back`). Each variant is a `Branch` that learns
    from its own visits; arms, user model and other settings are those of all. The others are
    compared with the `holdout` (`compare`). When the `guardrail` stops a variant, its visits go to
    the holdout, or it stops exploring (`explore` does so by hand); the `webhook` gets a POST. What
    a visit earns counts for a `window` of seconds from its opening, by default an hour.

    Policies run interpreted until a child process has compiled them; decisions are the same. One
    that a child cannot import, such as that of a notebook, stays interpreted until `compile` is
    called; with `compiled` False all do.

    `store` is memory://, sqlite:///file, postgresql://..., or a `Journal` that several experiments
    share. If the store knows the experiment, it continues: new arms are added and settings
    replaced; shares stay, and so does the guardrail unless one is given. The names of variants and
    the holdout cannot change. `seed` fixes the random draws of the policy; they are then those of
    the simulator. After a fork the child's first call opens the experiment again if the store is
    PostgreSQL; otherwise calls raise `Forked`.
    """

    variants: Mapping[str, Branch]
    """The branches by variant; without variants the only one, under the name ""."""

    def __init__(
        self,
        name: str,
        arms: Sequence[Id] = (),
        policy: Policy | None = None,
        user: User | None = None,
        *,
        variants: Sequence[Variant] = (),
        holdout: str | None = None,
        guardrail: Guardrail | None = None,
        window: float | None = None,
        webhook: str | None = None,
        store: str | Journal = "memory://",
        seed: int | None = None,
        run: int = 0,
        compiled: bool = True,
        **settings: Unpack[ExperimentSettings],
    ) -> None:
        check_name("name", name)
        if seed is not None:
            seed = validation.whole("seed", seed, 0, 2**63 - 1)
        options: dict[str, Any] = {"seed": seed, "run": run, "compiled": compiled}
        make = partial(Learner, seed=0, run=run, compiled=compiled)
        common: dict[str, Any] = {"user": user, **settings}
        if variants:
            common |= {} if policy is None else {"policy": policy}
            given = Given(arms, variants, holdout, guardrail, window, common)
        else:
            of_variants = {"holdout": holdout, "guardrail": guardrail, "webhook": webhook}
            for what, value in {**of_variants, "window": window}.items():
                if value is not None:
                    raise InputError(f"{what} is not allowed without variants")
            names = check_names("arms", arms)
            alone = Settings(policy=DEFAULT() if policy is None else policy, **common)

        def opened(journal: Journal) -> dict[str, Branch]:
            if not variants:
                enrol(journal.store, name, alone, names, make)
                return {ONLY: Branch(name, alone, journal, **options)}
            each, _ = enrol_variants(journal.store, name, given, make)
            children = names_of(name, tuple(each))
            return {v: Branch(children[v], each[v], journal, **options) for v in each}

        self._begin(name, store, opened, webhook)

    @classmethod
    def open(
        cls,
        name: str,
        store: str | Journal,
        *,
        webhook: str | None = None,
        branch: Callable[[str], Branch] | None = None,
        compiled: bool = True,
    ) -> Self:
        """Open an experiment that the store knows, with its stored settings.

        `branch` opens the branches of variants.
        """
        experiment = cls.__new__(cls)

        def opened(journal: Journal) -> dict[str, Branch]:
            make = partial(Branch.open, journal=journal, compiled=compiled)
            text = loaded(journal.store, name).settings
            if not has_variants(text):
                return {ONLY: make(name)}
            return {v: (branch or make)(child) for v, child in children_in(text, name).items()}

        experiment._begin(name, store, opened, webhook)
        return experiment

    def _begin(
        self,
        name: str,
        store: str | Journal,
        opened: Callable[[Journal], dict[str, Branch]],
        webhook: str | None,
    ) -> None:
        self.name, self._owns_journal = name, not isinstance(store, Journal)
        self._journal = journal = store.here() if isinstance(store, Journal) else Journal(store)
        try:
            self.variants = opened(journal)
            self._rollout = None
            if ONLY not in self.variants:
                self._rollout = Rollout(name, journal, self.variants, webhook)
        except BaseException:
            if self._owns_journal:
                journal.close()
            raise
        self._operations = Routing(name, self.variants, lambda: self._divided.allocation)

    @property
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""
        return self.branch.journal if self._rollout is None else self._rollout.journal

    @property
    def branch(self) -> Branch:
        """The only branch; InputError if the experiment has variants."""
        if ONLY in self.variants:
            return self.variants[ONLY]
        raise InputError(
            f"experiment {self.name!r} has variants: use one of {', '.join(self.variants)}"
        )

    @property
    def operations(self) -> Operations:
        """Operations of the only branch, which `settings`, `policy` and `counts` speak for, too."""
        return self.branch.operations

    @property
    def arms(self) -> tuple[str, ...]:
        """The active arms, of all branches together."""
        return tuple(dict.fromkeys(arm for branch in self._branches for arm in branch.arms))

    def add_arms(self, names: Id | Sequence[Id]) -> None:
        """Activate one arm or many, for the first time or again."""
        for branch in self._branches:
            branch.add_arms(names)

    def retire_arms(self, names: Id | Sequence[Id]) -> None:
        """Stop choosing one arm or many; their counts stay. `Conflict` if no arm would be left."""
        for branch in self._branches:
            branch.retire_arms(names)

    def compile(self) -> None:
        """Compile policies now, in this process, and return when decisions are compiled ones."""
        for branch in self._branches:
            branch.compile()

    def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Prior (pulls, successes) by arm, beside those counted here; they replace earlier ones."""
        for branch in self._branches:
            branch.warm_start(prior)

    @property
    def _branches(self) -> tuple[Branch, ...]:
        return tuple(self.variants.values())

    def visit(
        self, user: Id | None = None, id: str | None = None, state: float | None = None
    ) -> Visit:
        """Open a visit, in `state` or at the model's start; or continue the one with this `id`."""
        return self.journal.run(self._visiting(user, id, state))

    async def avisit(
        self, user: Id | None = None, id: str | None = None, state: float | None = None
    ) -> Visit:
        return await self.journal.arun(self._visiting(user, id, state))

    def _visiting(self, user: Id | None, id: str | None, state: float | None) -> Steps[Visit]:
        visit = str(uuid.uuid4()) if id is None else check_name("id", id)
        opened = yield from self._operations.opening(visit, Opening(as_text(user), state))
        return Visit(self, visit, opened=opened)

    def decide(self, id: str, ask: Ask) -> Decision:
        """`Visit.decide` by id."""
        return self.journal.run(self._operations.deciding(id, ask))

    async def adecide(self, id: str, ask: Ask) -> Decision:
        return await self.journal.arun(self._operations.deciding(id, ask))

    def get(self, id: str) -> Visit:
        """A visit that was opened before; a call on it raises `NotFound` if it was not."""
        return Visit(self, check_name("id", id))

    @property
    def allocation(self) -> Allocation | None:
        """Shares by epoch, guardrail and alarm, as this process knows them; None: no variants."""
        return None if self._rollout is None else self._rollout.allocation

    @property
    def _divided(self) -> Rollout:
        if self._rollout is None:
            raise InputError(f"experiment {self.name!r} has no variants")
        return self._rollout

    def ramp(self, shares: Mapping[str, float]) -> None:
        """Change the shares of some variants; the holdout gets the rest.

        Visits that are open stay where they are. `Conflict` after the guardrail has acted.
        """
        self._divided.change(lambda known: known.ramped(shares, self.now()))

    def roll_back(self) -> None:
        """Send all new visits to the holdout."""
        self._divided.change(lambda known: known.rolled_back(self.now()))

    def explore(self, exploring: Mapping[str, bool]) -> None:
        """Stop or resume exploration in some variants.

        A variant that does not explore plays the arm that its policy estimates to be best
        (`Policy.greedy_values`). `Conflict` if the guardrail has stopped it: `undo` that.
        """
        rollout = self._divided
        for name, flag in exploring.items():
            if name in self.variants and not flag:
                check_settles(name, self.variants[name].settings)
        rollout.change(lambda known: known.exploring(exploring, self.now()))

    def undo(self) -> None:
        """Restore what was before the guardrail acted.

        The guardrail stays, and counts evidence only from now on. `Conflict` if it has not acted.
        """
        self._divided.change(lambda known: known.undone(self.now()))

    def guard(self, guardrail: Guardrail | None) -> None:
        """Set another guardrail, or none."""
        rollout = self._divided
        settings = {name: branch.settings for name, branch in self.variants.items()}
        check_guardrail(rollout.allocation.guarded(guardrail), settings)
        rollout.change(lambda known: known.guarded(guardrail))

    def compare(self, **how: Any) -> Comparison:
        """Compare the variants, by what all processes have recorded: see `live.compare`."""
        return compare(self._divided.journal.store, self.name, **how)

    def history(self) -> History:
        """The results of the comparison over time: see `live.history`."""
        return history(self._divided.journal.store, self.name)

    def now(self) -> float:
        """The time by the clock of the store, in seconds since 1970."""
        return self.journal.store.ping()

    def sweep(self) -> int:
        """Resolve steps and end visits that are overdue, now; a thread does so every second."""
        return sum(branch.sweep() for branch in self._branches)

    def refresh(self) -> None:
        """Add what other processes have changed, now; a thread does so five times per second."""
        for branch in self._branches:
            branch.refresh()
        if self._rollout is not None:
            self._rollout.refresh()

    @property
    def dropped(self) -> bool:
        """Whether a call, or another process, has dropped the experiment."""
        return (self._rollout or self.branch).dropped

    def drop(self) -> None:
        """Delete the experiment with all its visits, events and counters; archived files stay.

        Calls on its visits raise `NotFound` from now on. In PostgreSQL the name is free again a
        minute later, when no process can be writing to it any more.
        """
        store = self.journal.store
        if self._rollout is not None:
            for branch in self._branches:
                with suppress(NotFound):
                    store.drop(branch.name)
                    branch.leave()
        store.drop(self.name)
        self._leave()

    def _leave(self) -> None:
        (self._rollout or self.branch).leave()

    def _reload(self) -> None:
        (self._rollout or self.operations).reload()

    def close(self) -> None:
        """Write what is queued; visits stay open in the store."""
        for branch in self._branches:
            branch.close()
        if self._rollout is not None:
            self._rollout.close()
        if self._owns_journal:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""`Experiment`: a policy that decides for live visits, every step durable."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from math import inf
from typing import Any, Self

from .. import validation
from ..policies import Policy, VisitIMED
from ..users import User
from ..validation import InputError
from .enrolment import check_served, enrol
from .errors import NotFound
from .forks import PerProcess
from .journal import Journal
from .learner import Learner
from .names import check_name, check_names
from .operations import Operations
from .records import Arm, Bucket, Counts, News, added
from .settings import IDLE_TIMEOUT, Settings
from .stores.base import one_of_its_own
from .visit import Choice, Serving


class Experiment(Serving):
    """One experiment: arms by name, a policy that learns from visits, and a store.

    >>> with Experiment("shorts", arms=["dance", "cooking", "news"], compiled=False) as experiment:
    ...     visit = experiment.visit(user="u42")
    ...     first = visit.choose()
    ...     second = visit.choose(1)
    ...     left = visit.end()
    >>> first, second
    ('dance', 'cooking')

    The state of a visit follows its rewards as `user` says: `LastReward()` unless said otherwise,
    `MovingAverage(theta)`, or a user model of the package. Rewards are 0 or 1. With a
    `reward_threshold` they are graded, from 0 to 1: means and moving averages are those of the
    rewards themselves, and from the threshold on a reward is good where only that counts, in the
    state of other users and in what is learned of departures. A step that gets no reward has the
    `default_reward` when the next decision is asked for, when the visit ends, or after
    `reward_wait` seconds; a visit without a sign of life for `idle_timeout` seconds has ended. A
    reward that comes later is logged and not learned, unless it comes within `late_horizon` seconds
    of its decision: then it takes the place of the default one.

    A new arm is introduced only to users in a state of positive optimism, unless
    `introduce_in_any_state`. With `count_in_flight`, pulls that have no result yet narrow
    confidence bounds where optimism is positive: better when rewards come late, not covered by
    theorems.

    Of an `external` experiment the caller chooses the arms, by a recommender of its own, and says
    which one was shown (`logged` of `Ask`); the policy learns from what happens then. With
    `shadow` it says at each decision what it would have shown, which changes nothing: see `shadow`
    of `sojourn.live`. It learns as well from the counters of other experiments of the store, if
    `learns_from` names some.

    `store` is memory://, sqlite:///file, postgresql://..., or a `Journal` that several experiments
    share. An experiment that the store knows goes on: new arms are added, settings replaced. `seed`
    fixes the coin flips of the policy, which are then those of the simulator. After a fork it is
    opened again by the child's first call, if the store is PostgreSQL; else calls raise `Forked`.
    """

    def __init__(
        self,
        name: str,
        arms: Sequence[str] = (),
        policy: Policy | None = None,
        user: User | None = None,
        *,
        reward_threshold: float | None = None,
        default_reward: float = 0.0,
        reward_wait: float | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
        late_horizon: float | None = None,
        introduce_in_any_state: bool = False,
        count_in_flight: bool = False,
        external: bool = False,
        shadow: bool = True,
        learns_from: Sequence[str] = (),
        store: str | Journal = "memory://",
        seed: int | None = None,
        run: int = 0,
        compiled: bool = True,
    ) -> None:
        self.name = check_name("name", name)
        self.exploring = True  # `Split` says otherwise, while exploring is stopped in a variant
        names = check_names("arms", arms)
        settings = Settings(
            policy=VisitIMED() if policy is None else policy,
            user=user,  # type: ignore[arg-type]
            reward_threshold=reward_threshold,
            default_reward=default_reward,
            reward_wait=reward_wait,
            idle_timeout=idle_timeout,
            late_horizon=late_horizon,
            introduce_in_any_state=introduce_in_any_state,
            count_in_flight=count_in_flight,
            external=external,
            shadow=shadow,
            learns_from=tuple(learns_from),
        )
        self._seed = None if seed is None else validation.whole("seed", seed, 0, 2**63 - 1)
        self._learner = partial(Learner, run=run, compiled=compiled)
        self._own = not isinstance(store, Journal)
        journal = store.here() if isinstance(store, Journal) else Journal(store)
        try:
            make = partial(self._learner, seed=0)
            settings = enrol(journal.store, name, settings, names, make).settings
            operations = self._operate(settings, journal)
        except BaseException:
            if self._own:
                journal.close()
            raise
        self.dropped = False

        def reopen() -> Operations:
            here = journal.here()
            made = self._operate(operations.settings, here)
            here.enter(self)
            return made

        self._processes = PerProcess(operations, reopen)
        journal.enter(self)

    def _operate(self, settings: Settings, journal: Journal) -> Operations:
        seed = secrets.randbits(62) if self._seed is None else self._seed
        make = partial(self._learner, seed=seed)
        operations = Operations(self.name, settings, journal, make, lambda: self.exploring)
        operations.reload()
        return operations

    @property
    def _operations(self) -> Operations:
        return self._processes.get()

    @property
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""
        return self._operations.journal

    @classmethod
    def open(cls, name: str, store: str | Journal, **options: Any) -> Self:
        """An experiment that the store knows, with the settings it has there."""
        if isinstance(store, Journal):
            settings = Settings.from_json(one_of_its_own(store.store, name)[0])
            kept = {f.name: getattr(settings, f.name) for f in fields(settings)}
            return cls(name, store=store, **{**kept, **options})
        journal = Journal(store)
        try:
            experiment = cls.open(name, journal, **options)
        except BaseException:
            journal.close()
            raise
        experiment._own = True
        return experiment

    @property
    def settings(self) -> Settings:
        return self._operations.settings

    @property
    def policy(self) -> Policy:
        return self._operations.settings.policy

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in use."""
        return tuple(arm.name for arm in self._operations.arms if not arm.retired)

    def add_arm(self, name: str) -> None:
        """Take an arm into use, for the first time or again."""
        self._change_arm(check_name("arm", name), retired=0)

    def retire_arm(self, name: str) -> None:
        """Never choose an arm again; its counts stay."""
        if self.arms == (name,):
            raise InputError(f"arm = {name!r} is not allowed: the last arm cannot be retired")
        self._known(name)
        self._change_arm(name, retired=1)

    def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Prior (pulls, successes) by arm, beside those counted here; they replace earlier ones."""
        arms = []
        for name, (pulls, successes) in prior.items():
            n = validation.number(f"pulls of {name!r}", pulls, 0, inf)
            s = validation.number(f"successes of {name!r}", successes, 0, n)
            arms.append(self._known(name)._replace(pulls=n, successes=s))
        self._save(arms)

    def _known(self, name: str) -> Arm:
        for arm in self._operations.arms:
            if arm.name == name:
                return arm
        raise NotFound(f"there is no arm {name!r} in {self.name!r}")

    def _change_arm(self, name: str, *, retired: int) -> None:
        known = {arm.name: arm for arm in self._operations.arms}
        arm = known.get(name, Arm(0, name))
        if name not in known or arm.retired != retired:
            changed = [arm._replace(retired=retired)]
            check_served(self.settings, self._operations.arms, changed)
            self._save(changed)

    def _save(self, arms: Sequence[Arm]) -> None:
        self.journal.store.save(self.name, self.settings.to_json(), arms)
        self.reload()

    @property
    def all_arms(self) -> tuple[Arm, ...]:
        """All arms with their prior counts, retired ones too."""
        return tuple(self._operations.arms)

    def recent(self) -> list[Choice]:
        """A sample of this process's decisions with what the policy knew, the latest first."""
        return list(self._operations.noted)[::-1]

    def now(self) -> float:
        """The time by the clock of the store, in seconds since 1970."""
        return self.journal.store.now()

    def timeline(self, since: float, width: float) -> list[Bucket]:
        """Visits that ended since then, in buckets of `width` seconds."""
        return self.journal.store.timeline(self.name, since, width)

    def sweep(self) -> int:
        """Resolve steps and end visits that are overdue, now; a thread does so every second."""
        return self._operations.sweep()

    def refresh(self, news: News | None = None) -> None:
        """Add what other processes have counted, now; a thread does so five times a second."""
        try:
            self._operations.refresh(news)
        except NotFound:  # another process has dropped it
            self.leave()

    def drop(self) -> None:
        """Delete the experiment with all its visits, events and counters; archived files stay.

        Calls on its visits raise `NotFound` from now on. In PostgreSQL the name is free again a
        minute later, when no process can be writing to it any more.
        """
        self.journal.store.drop(self.name)
        self.leave()

    def leave(self) -> None:
        """It is no more: another process, or a call, has dropped it."""
        self.dropped = True
        self.journal.leave(self)

    def reload(self) -> None:
        self._operations.reload()

    @property
    def memory(self) -> Any:
        """What the policy has learned, as this process has it."""
        return self._operations.learner.memory

    @property
    def conflicts(self) -> int:
        """Changes rejected because another process updated the visit first; each was retried."""
        return self._operations.conflicts

    def counts(self) -> Counts:
        """The counters of all processes, from the store; see `records.tally` and `following`."""
        return added(*self.journal.store.counts(self.name))

    def close(self) -> None:
        """Write what is queued; visits stay open in the store."""
        operations = self._processes.opened
        if operations is None:  # forked, and not used since
            return
        operations.journal.leave(self)
        if self._own:
            operations.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

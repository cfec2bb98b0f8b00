"""`Bandit`: a policy behind live visits, which loses nothing."""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from math import inf
from types import TracebackType
from typing import Any, Self

from .. import checks
from ..policies import LearnedIMED, Policy
from ..users import User
from .engine import Engine
from .errors import NotFound
from .journal import Journal, arun, run
from .learner import Learner
from .records import Arm, Counts
from .settings import IDLE_TIMEOUT, Settings
from .stores.sql import added
from .visit import Visit

LONGEST_NAME = 200


class Bandit:
    """One experiment: arms by name, a policy that learns from visits, and a store.

    >>> with Bandit("shorts", arms=["dance", "cooking", "news"], compiled=False) as bandit:
    ...     visit = bandit.visit(user="u42")
    ...     first = visit.choose()
    ...     second = visit.step(1)
    ...     left = visit.end()
    >>> first, second
    ('dance', 'cooking')

    The state of a visit follows its rewards as `user` says: `LastReward()` unless said otherwise,
    `MovingAverage(theta)`, or a user model of the package. A step that gets no reward has the
    `default_reward` when the next decision is asked for, when the visit ends, or after
    `reward_wait` seconds; a visit without a sign of life for `idle_timeout` seconds has ended.

    A new arm is introduced only to users in a state of positive optimism, unless
    `introduce_in_any_state`. With `count_in_flight`, pulls that have no result yet narrow
    confidence bounds where optimism is positive: better when rewards come late, not covered by
    theorems.

    `store` is memory://, sqlite:///file, postgresql://..., or a `Journal` that several bandits
    share. An experiment that the store knows goes on: new arms are added, settings replaced. `seed`
    fixes the coin flips of the policy, which are then those of the simulator.
    """

    def __init__(
        self,
        name: str,
        arms: Sequence[str] = (),
        policy: Policy | None = None,
        user: User | None = None,
        *,
        default_reward: float = 0.0,
        reward_wait: float | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
        introduce_in_any_state: bool = False,
        count_in_flight: bool = False,
        store: str | Journal = "memory://",
        seed: int | None = None,
        run: int = 0,
        compiled: bool = True,
    ) -> None:
        self.name = check_name("name", name)
        names = _check_arms(arms)
        settings = Settings(
            policy=LearnedIMED() if policy is None else policy,
            user=user,  # type: ignore[arg-type]
            default_reward=default_reward,
            reward_wait=reward_wait,
            idle_timeout=idle_timeout,
            introduce_in_any_state=introduce_in_any_state,
            count_in_flight=count_in_flight,
        )
        seed = secrets.randbits(62) if seed is None else checks.whole("seed", seed, 0, 2**63 - 1)
        self._own = not isinstance(store, Journal)
        self.journal = store if isinstance(store, Journal) else Journal(store)
        try:
            self._enter(settings, names)
            learner = Learner(
                settings.policy, seed, run=run, compiled=compiled, count_in_flight=count_in_flight
            )
            self.engine = Engine(name, settings, self.journal, learner)
            self.engine.reload()
        except BaseException:
            if self._own:
                self.journal.close()
            raise
        self.journal.enter(self)

    @classmethod
    def open(cls, name: str, store: str | Journal, **options: Any) -> Self:
        """An experiment that the store knows, with the settings it has there."""
        own = not isinstance(store, Journal)
        journal = store if isinstance(store, Journal) else Journal(store)
        try:
            found = journal.store.load(name)
            if found is None:
                raise NotFound(f"there is no experiment {name!r} in the store")
            settings = Settings.from_json(found[0])
            kept = {k: v for k, v in vars(settings).items() if k not in options}
            bandit = cls(name, **kept, **options, store=journal)
        except BaseException:
            if own:
                journal.close()
            raise
        bandit._own = own
        return bandit

    def _enter(self, settings: Settings, names: Sequence[str]) -> None:
        """Make the experiment known to the store, or see that it is the one that is known."""
        store, text = self.journal.store, settings.to_json()
        found = store.load(self.name)
        known = {} if found is None else {arm.name: arm for arm in found[1]}
        if found is not None:
            _check_same(self.name, json.loads(found[0]), json.loads(text))
        new = [Arm(0, arm) for arm in names if arm not in known]
        if not new and all(arm.retired for arm in known.values()):
            raise ValueError("arms is not allowed: give at least one arm")
        settings.policy.check_arms(len(new) + sum(not arm.retired for arm in known.values()))
        if found is None or new or found[0] != text:
            store.save(self.name, text, new)

    @property
    def settings(self) -> Settings:
        """What was said about the experiment."""
        return self.engine.settings

    @property
    def policy(self) -> Policy:
        """The policy as it is served."""
        return self.engine.settings.policy

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in use."""
        return tuple(arm.name for arm in self.engine.arms if not arm.retired)

    def visit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> Visit:
        """Open a visit; an `id` that is known goes on with that visit.

        It starts in `state`, or where the user model says.
        """
        visit = self._new(user, id, state)
        run(self.engine.opening(*visit))
        return Visit(self, visit[0])

    async def avisit(
        self, user: str | None = None, id: str | None = None, state: float | None = None
    ) -> Visit:
        """`visit` for asyncio."""
        visit = self._new(user, id, state)
        await arun(self.engine.opening(*visit))
        return Visit(self, visit[0])

    def _new(
        self, user: str | None, id: str | None, state: float | None
    ) -> tuple[str, str | None, float | None]:
        if user is not None:
            check_name("user", user)
        if state is not None:
            state = checks.number("state", state, 0, 1)
        return str(uuid.uuid4()) if id is None else check_name("id", id), user, state

    def get(self, id: str) -> Visit:
        """A visit that was opened before; a call on it raises `NotFound` if it was not."""
        return Visit(self, check_name("id", id))

    def add_arm(self, name: str) -> None:
        """Take an arm into use, for the first time or again."""
        self._change_arm(check_name("arm", name), retired=0)

    def retire_arm(self, name: str) -> None:
        """Choose an arm no longer; what is known of it stays."""
        if self.arms == (name,):
            raise ValueError(f"arm = {name!r} is not allowed: the last arm cannot be retired")
        self._known(name)
        self._change_arm(name, retired=1)

    def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Counts from elsewhere, (pulls, successes) by arm, added to what was counted here.

        Given again, they replace the ones given before.
        """
        arms = []
        for name, (pulls, successes) in prior.items():
            n = checks.number(f"pulls of {name!r}", pulls, 0, inf)
            s = checks.number(f"successes of {name!r}", successes, 0, n)
            arms.append(self._known(name)._replace(pulls=n, successes=s))
        self._save(arms)

    def _known(self, name: str) -> Arm:
        for arm in self.engine.arms:
            if arm.name == name:
                return arm
        raise NotFound(f"there is no arm {name!r} in {self.name!r}")

    def _change_arm(self, name: str, *, retired: int) -> None:
        known = {arm.name: arm for arm in self.engine.arms}
        arm = known.get(name, Arm(0, name))
        if name not in known or arm.retired != retired:
            self._save([arm._replace(retired=retired)])

    def _save(self, arms: Sequence[Arm]) -> None:
        self.journal.store.save(self.name, self.settings.to_json(), arms)
        self.engine.reload()

    def sweep(self) -> int:
        """End visits that are overdue, now; a thread does it every second."""
        return self.engine.sweep()

    def refresh(self) -> None:
        """Add what other processes have counted, now; a thread does it all the time."""
        self.engine.refresh()

    def counts(self) -> Counts:
        """The counters of all processes, as the store has them; `records.tally` names them."""
        return added(*self.journal.store.counts(self.name))

    def close(self) -> None:
        """Write what is queued; visits stay open in the store."""
        self.journal.leave(self)
        if self._own:
            self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_name(what: str, value: Any) -> str:
    """A name or an id: text that any store can keep.

    >>> check_name("id", "")
    Traceback (most recent call last):
    ValueError: id = '' is not allowed: it must be 1 to 200 printable characters
    """
    if isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME and value.isprintable():
        return value
    raise ValueError(
        f"{what} = {value!r} is not allowed: it must be 1 to {LONGEST_NAME} printable characters"
    )


def _check_arms(arms: Any) -> list[str]:
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise ValueError(f"arms = {arms!r} is not allowed: give a list of names")
    names = [check_name("arms", arm) for arm in arms]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1000 else []
    if twice or len(set(names)) < len(names):
        raise ValueError(f"arms has the name {(twice or ['?'])[0]!r} twice")
    return names


def _check_same(name: str, known: dict[str, Any], given: dict[str, Any]) -> None:
    """States and their bins are in the counters: they cannot change."""
    for what in ("user", "bins"):
        if known[what] != given[what]:
            raise ValueError(
                f"{what} = {given[what]!r} is not allowed: experiment {name!r} has "
                f"{known[what]!r}, which cannot change; give another name"
            )

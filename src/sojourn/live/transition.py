"""One change of one visit: its events, in order, and their counts.

What is counted is at once absorbed by the policy's memory; the same counts go to the store.
"""

import os
import random
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from . import records
from .learner import Learner
from .records import Change, Event, Key, Row, Step, following, tally
from .settings import Settings

VERSIONS = random.Random()
"""A generator of our own: a caller may seed the global one, and a fork would repeat ours."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=VERSIONS.seed)

ENDED = {records.END: "left", records.TIMEOUT: "timed out"}


class Transition:
    """Collects the events of one change and their counts, which the learner absorbs at once."""

    def __init__(
        self, row: Row, settings: Settings, learner: Learner, *, exploring: bool = True
    ) -> None:
        self.row, self.base = row, row.version
        self.settings, self.learner, self.exploring = settings, learner, exploring
        self.events: list[Event] = []
        self.counts: defaultdict[Key, float] = defaultdict(float)
        self.touch = True
        self.shadow_arm: int | None = None  # of the policy, where the caller chose

    def _add(self, kind: str, step: int | None = None, **values: Any) -> None:
        row = self.row
        event = Event(row.experiment, row.id, row.step if step is None else step, kind, **values)
        self.events.append(event)
        self._count(tally(event, self.settings.bins))

    def _count(self, amounts: Iterable[tuple[Key, float]]) -> None:
        counts = dict(amounts)
        self.learner.absorb(counts)
        for key, amount in counts.items():
            self.counts[key] += amount

    def open(self) -> None:
        state = self.settings.user.experience(self.row.state)
        self._add(records.OPEN, state=state, user=self.row.user)

    def resolve(self, reward: float | None, cause: str) -> None:
        """The pending step has its reward, or the default one."""
        row, user = self.row, self.settings.user
        value = self.settings.default_reward if reward is None else reward
        cause = records.REWARD if reward is not None else cause
        state = user.next_state(row.before, self.settings.felt(value))
        seen, after = user.experience(row.before), user.experience(state)
        self._add(records.RESOLVE, arm=row.arm, state=seen, reward=value, after=after, cause=cause)
        gained = row.gained + value
        self.row = row._replace(state=state, reward=value, gained=gained, cause=cause, pending=0)

    def _follow(self, *, left: bool) -> None:
        """Count and learn what the user did after the last resolved step, if there is one."""
        row, user = self.row, self.settings.user
        if row.step == 0:
            return
        assert row.arm is not None
        assert row.reward is not None
        seen, after = user.experience(row.before), user.experience(row.state)
        step = Step(row.step, seen, row.arm, row.reward, after)
        split = self.settings.bins, self.settings.reward_threshold or 0.0
        self._count(following(step, left, *split))
        self.learner.follow(step, left=left)

    def decide(
        self,
        reward: float | None,
        request: str | None,
        shown: tuple[int, float | None] | None = None,
        among: Collection[int] | None = None,
    ) -> None:
        """The user is still there: resolve what is pending, and choose.

        The choice is `among` these arms. If the caller has `shown` an arm, with its propensity, the
        choice is what the policy would have shown.
        """
        if self.row.pending:
            self.resolve(reward, records.NEXT)
        self._follow(left=False)
        step, state = self.row.step + 1, self.row.state
        seen = self.settings.user.experience(state)
        choose = partial(self.learner.choose, seen, step, among, exploring=self.exploring)
        arm, propensity = shown or choose()
        if shown is not None and self.settings.shadow:
            self.shadow_arm, _ = choose()
        self.row = self.row._replace(
            step=step, arm=arm, pending=1, before=state, reward=None, cause=None,
            request=request, propensity=propensity,
        )  # fmt: skip
        self._add(
            records.DECIDE, arm=arm, state=seen, request=request, propensity=propensity,
            shadow_arm=self.shadow_arm, candidates=None if among is None else self._eligible(among),
        )  # fmt: skip

    def _eligible(self, among: Collection[int]) -> str | None:
        """The arms in use among these, as an event has them; None: all are."""
        positions = self.learner.positions
        columns = self.learner.columns(among)
        if len(columns) == len(positions):
            return None
        return ",".join(str(positions[column]) for column in columns)

    def leave(self, reward: float | None, cause: str) -> None:
        """The user is gone."""
        if self.row.pending:
            self.resolve(reward, cause)
        self._follow(left=True)
        self._add(records.LEAVE, reward=self.row.gained, cause=cause)
        self.row = self.row._replace(status=ENDED[cause])

    def late(self, step: int, reward: float) -> None:
        """A reward for a step that was resolved without it: logged, not learned."""
        self._add(records.LATE, step, reward=reward)

    def learn_late(self, resolved: Event, reward: float) -> None:
        """Take back the reward with which a step was resolved, and count the late one.

        The visit went on from the state that the default reward led to, so that states and
        departures stay as they were counted.
        """
        assert resolved.reward is not None
        step, there = resolved.step, {"arm": resolved.arm, "state": resolved.state}
        self._add(records.RETRACT, step, **there, reward=resolved.reward)
        self._add(records.LATE, step, **there, reward=reward, cause=records.REWARD)
        self.row = self.row._replace(gained=self.row.gained + reward - resolved.reward)

    def change(self) -> Change:
        row = self.row._replace(base=self.base, version=VERSIONS.getrandbits(62) + 1)
        wait = self.settings.wait if row.pending else self.settings.idle_timeout
        return Change(row, tuple(self.events), dict(self.counts), self.touch, wait)

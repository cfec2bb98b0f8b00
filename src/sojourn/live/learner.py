"""What a policy has learned from live visits, and its next choice.

The policy's memory has a column for every arm in use. It is made from the counters of the store,
and then follows the events of this process; what other processes count is added now and then.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.calls import calls_for, pupil_of
from ..engine.steps import level_of
from ..engine.streams import STARTS, Stream, draw, policy_stream, stream_key
from ..policies import Index
from ..policies.base import Array, count
from .records import DECIDE, LEAVE, RESOLVE, Arm, Counts, Event, Step, told
from .settings import Settings

COUNTED, FOLLOWED, ISSUED = "counted", "followed", "issued"
Told = tuple[str, tuple[Any, ...]]
"""What a learner was told, and with which arguments."""


class View(NamedTuple):
    """What a policy knew when it chose an arm.

    Its optimism, the arm's pulls and successes, t, whether it is the arm's first time, and the
    position of the arm of greatest mean.
    """

    optimism: float | None
    pulls: float
    successes: float
    t: float
    new: bool
    best: int | None


class Learner:
    """The memory of one policy, and the stream of its coin flips."""

    def __init__(
        self, settings: Settings, *, seed: int, run: int = 0, compiled: bool = True
    ) -> None:
        policy = self.policy = settings.policy
        self.pupil = pupil_of(policy)
        self.plays_each_once = isinstance(self.pupil, Index)
        self.count_in_flight = settings.count_in_flight and self.plays_each_once
        self.calls = calls_for(policy, compiled)
        self.rng: Stream = policy_stream(seed, run)
        self.begun = 0
        self._starts = np.uint64(stream_key(seed, run, STARTS))
        self.forget([])

    @property
    def from_counters(self) -> bool:
        """Whether the memory is a function of counters; else it takes the events to make it."""
        return self.calls.counts

    def forget(self, arms: Sequence[Arm]) -> None:
        """Begin anew with the arms in use, knowing their prior counts only."""
        using = [arm for arm in arms if not arm.retired]
        self.column = {arm.position: column for column, arm in enumerate(using)}
        self.positions = [arm.position for arm in using]
        self.memory = self.policy.memory(len(using))
        self.issued, self.resolved = np.zeros(len(using)), np.zeros(len(using))
        self.waiting: set[int] = set()
        if self.from_counters:
            for arm in arms:
                self._add_pulls(arm.position, arm.pulls, arm.successes)

    def _add_pulls(self, position: int, pulls: float, successes: float) -> None:
        """Count; retired arms count for the clock only."""
        memory, column = self.memory, self.column.get(position)
        memory.clock[0] += pulls
        if column is not None:
            memory.pulls[column] += pulls
            memory.successes[column] += successes

    def absorb(self, counts: Counts) -> None:
        """Add counters, as a store has them, to the memory."""
        successes = {key[1:3]: n for key, n in counts.items() if key[0] == "successes"}
        for (what, i, j, k), n in counts.items():
            if what == "pulls":
                self._add_pulls(i, n, 0.0)
            elif what == "moves" and hasattr(self.memory, "moves"):
                self.memory.moves[i, j, k] += n
            elif what == "gone" and hasattr(self.memory, "gone"):
                self.memory.gone[i, j] += n
            if what in ("issued", "pulls") and i in self.column:
                (self.issued if what == "issued" else self.resolved)[self.column[i]] += n
        for (position, _), n in successes.items():
            self._add_pulls(position, 0.0, n)
        flying = (self.issued > 0.0) & (self.memory.pulls == 0.0)
        self.waiting = set(np.flatnonzero(flying).tolist())

    def conclude(self, earlier: Any = None) -> None:
        """Bring a learned optimism up to date; what was concluded `earlier` stands until due."""
        if hasattr(self.memory, "agenda"):
            if earlier is not None:
                self.memory.stance[:] = earlier.stance
                self.memory.agenda[:] = earlier.agenda
            assert self.calls.think is not None
            self.calls.think(self.pupil, self.memory)

    def replay(self, events: Iterable[Event]) -> None:
        """Learn from a whole log."""
        for event, previous in told(events):
            if previous is not None:
                self.follow(previous, left=event.kind == LEAVE)
            if event.kind == DECIDE:
                self.issue(event.arm)
            elif event.kind == RESOLVE:
                self.count(event.arm, event.reward)

    def take_back(self, told: Iterable[Told]) -> bool:
        """Forget what was told; False if that cannot be done, and memory must be made again."""
        for what, arguments in told:
            if what == ISSUED:
                self._withdraw(*arguments)
            elif not self.from_counters:
                return False
            elif what == COUNTED:
                self._uncount(*arguments)
            elif hasattr(self.memory, "moves"):
                self._unfollow(*arguments)
        return True

    def _withdraw(self, position: int) -> None:
        column = self.column.get(position)
        if column is not None:
            self.issued[column] -= 1.0
            if self.issued[column] == 0.0:
                self.waiting.discard(column)

    def _uncount(self, position: int, reward: float) -> None:
        self._add_pulls(position, -1.0, -reward)
        column = self.column.get(position)
        if column is not None:
            self.resolved[column] -= 1.0
            if self.memory.pulls[column] == 0.0:
                self.waiting.add(column)

    def _unfollow(self, step: Step, left: bool) -> None:
        memory, bins = self.memory, self.memory.stance.size
        b, r = level_of(step.state, bins), int(step.reward > 0.0)
        memory.moves[b, r, level_of(step.after, bins)] -= 1.0
        memory.gone[b, r] -= float(left)

    def view(self, position: int, state: float) -> View:
        """What the policy has in view when it chooses an arm in a state, to explain the choice."""
        memory, column = self.memory, self.column[position]
        pupil: Any = self.pupil
        optimism = pupil.optimism_now(memory, state) if isinstance(pupil, Index) else None
        if not self.from_counters:
            t = float(self.resolved.sum()) + 1.0
            return View(optimism, 0.0, 0.0, t, bool(self.issued[column] == 1.0), None)
        pulls, successes = memory.pulls, memory.successes
        best = None
        if pulls.any():
            means = np.where(pulls > 0.0, successes / np.maximum(pulls, 1.0), -1.0)
            best = self.positions[int(np.argmax(means))]
        new = bool(self.issued[column] == 1.0 and pulls[column] == 0.0)
        known = float(pulls[column]), float(successes[column]), float(memory.clock[0]) + 1.0
        return View(optimism, *known, new, best)

    def begin(self) -> float:
        """A draw for the state in which the next visit starts."""
        self.begun += 1
        return float(draw(self._starts, self.begun))

    def choose(self, state: float, step: int) -> tuple[int, float | None]:
        """The position of the arm to play, and its propensity if the policy can tell.

        An arm that was given out for the first time and has no result yet is not given out again
        as if it were new, nor can it be compared: it waits, unless all arms do.
        """
        if not self.positions:
            raise ValueError("there is no arm to choose: all are retired")
        memory, columns = self.memory, None
        if self.count_in_flight:
            memory = self._with_flights(memory, state)
        if self.waiting and self.plays_each_once:
            rest = [c for c in range(len(self.positions)) if c not in self.waiting]
            if not rest:
                return self.positions[int(np.argmin(self.issued))], 1.0
            columns = np.array(rest)
            memory = memory._replace(
                pulls=memory.pulls[columns], successes=memory.successes[columns]
            )
        if hasattr(memory, "step"):
            memory.step[0] = step - 1.0
        calls, chances = self.calls, None
        if calls.chances is not None:
            chances = calls.chances(self.policy, memory, state)
        column = int(calls.choose(self.policy, memory, state, self.rng))
        known = chances is not None and len(chances) > 0
        propensity = float(chances[column]) if known else None  # type: ignore[index]
        if columns is not None:
            column = int(columns[column])
        return self.positions[column], propensity

    def _with_flights(self, memory: Any, state: float) -> Any:
        """Pulls without a result narrow the bounds, means unchanged, if optimism is positive."""
        flying: Array = self.issued - self.resolved
        policy: Any = self.pupil
        if not flying.any() or policy.optimism_now(memory, state) <= 0.0:
            return memory
        played = memory.pulls > 0.0
        share = np.where(played, 1.0 + flying / np.where(played, memory.pulls, 1.0), 1.0)
        return memory._replace(pulls=memory.pulls * share, successes=memory.successes * share)

    def issue(self, position: int | None) -> None:
        """An arm is given out."""
        column = self.column.get(position)  # type: ignore[arg-type]
        if column is not None:
            self.issued[column] += 1.0
            if self.from_counters and self.memory.pulls[column] == 0.0:
                self.waiting.add(column)

    def count(self, position: int | None, reward: float | None) -> None:
        """A step is resolved."""
        column = self.column.get(position)  # type: ignore[arg-type]
        if column is not None:
            self.resolved[column] += 1.0
            self.waiting.discard(column)
            if self.from_counters:
                count(self.memory, column, 1, float(reward or 0.0))
        elif self.from_counters:
            self.memory.clock[0] += 1.0

    def follow(self, step: Step, *, left: bool) -> None:
        """It is known whether the user left after a resolved step."""
        column = self.column.get(step.arm)
        if self.calls.follow is None or (column is None and not self.from_counters):
            return
        if hasattr(self.memory, "step"):
            self.memory.step[0] = step.step - 1.0
        self.calls.follow(
            self.pupil, self.memory, step.state, column or 0, step.reward, left, step.after
        )

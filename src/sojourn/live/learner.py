"""What a policy has learned from live visits, and its next choice.

The memory of most policies is a fold of counters: its arrays are sums of what the store counts
under the same names. It is made from the store's counters; then every change of a visit adds its
counts (`Learner.absorb`), and a change that the store rejects has them subtracted again. The
memory of the others (Q-learning) is made by replaying the log, and cannot take anything back.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..engine.calls import Calls, Runner
from ..engine.faults import no_such_arm
from ..engine.streams import STARTS, Stream, draw, draw_uniform, policy_stream, stream_key
from ..policies.base import Array, Policy, by_means
from ..policies.explorer import Explorer
from ..policies.reasons import explainer
from ..policies.wrapper import base_policy, plays_each_once
from ..validation import InputError
from .records import LEAVE, NO_ARM, Arm, Counts, Event, Key, Step, added, told
from .settings import Settings
from .stores.base import Store

BY_ARM = {
    "pulls": ("pulls", "tried"),
    "successes": ("successes", "earned"),
    "grades": ("grades",),
    "seen": ("seen",),
    "left": ("left",),
}
BY_BIN = ("moves",)
CLOCK = "clock"
COUNTERS = (*(name for names in BY_ARM.values() for name in names), *BY_BIN, CLOCK)
"""Arrays of a memory that are sums of counters; the clock is the sum of all pulls.

An array by arm that has one row more than there are arms has the sums of retired arms in it.
"""


class Learner:
    """The memory of one policy, and the stream of its coin flips."""

    def __init__(
        self, settings: Settings, *, seed: int, run: int = 0, compiled: bool = True
    ) -> None:
        policy = self.policy = settings.policy
        self.base_policy = base_policy(policy)
        self.plays_each_once = plays_each_once(policy)
        self.count_in_flight = settings.count_in_flight and isinstance(self.base_policy, Explorer)
        self.runner = Runner(policy, compiled)
        self.from_counters = self.calls.counts  # else the memory is made by replaying events
        self.rng: Stream = policy_stream(seed, run)
        self.begun = 0
        self._axes = _by_arm_axes(policy)
        self._starts = np.uint64(stream_key(seed, run, STARTS))
        self.forget([])

    @property
    def calls(self) -> Calls:
        """The functions of the policy: interpreted until they are compiled."""
        return self.runner.calls

    def forget(self, arms: Sequence[Arm]) -> None:
        """Start over with these arms and their prior counts."""
        using = [arm for arm in arms if not arm.retired]
        self.column = {arm.position: column for column, arm in enumerate(using)}
        self.positions = [arm.position for arm in using]
        self.memory = self.policy.memory(len(using))
        self.issued, self.resolved = np.zeros(len(using)), np.zeros(len(using))
        self.waiting: set[int] = set()
        held = {name: getattr(self.memory, name) for name in getattr(self.memory, "_fields", ())}
        sums = held if self.from_counters else {}
        self._step: Array | None = held.get("step")
        self._clock: Array = sums.get(CLOCK, np.zeros(1))
        self._by_bin: dict[str, Array] = {name: sums[name] for name in BY_BIN if name in sums}
        self._by_arm = {name: [sums[name]] for name in BY_ARM if name in sums}
        for arm in arms:
            at = arm.position, 0, 0
            self.absorb({("pulls", *at): arm.pulls, ("successes", *at): arm.successes})
        for what, names in BY_ARM.items():  # prior counts are of no state
            self._by_arm[what] = [sums[name] for name in names if name in sums]
        self._by_arm["pulls"].append(self.resolved)  # and were not given out here
        self._by_arm["issued"] = [self.issued]

    def absorb(self, counts: Counts) -> None:
        """Add counters, as a store has them.

        Retired arms count for the clock, and in arrays that have a row for them.
        """
        for (what, i, j, k), n in counts.items():
            if what in self._by_arm:
                if what == "pulls":
                    self._clock[0] += n
                column = self.column.get(i, len(self.column))
                for array in self._by_arm[what]:
                    if column < len(array):
                        array[(column, j, k)[: array.ndim]] += n
                if column < len(self.column):
                    self._see_whether_waiting(column)
            elif what in self._by_bin:
                array = self._by_bin[what]
                array[(i, j, k)[: array.ndim]] += n

    def _see_whether_waiting(self, column: int) -> None:
        """An arm waits from when it is first given out until it has a result."""
        if self.plays_each_once:
            results = self.memory.pulls if self.from_counters else self.resolved
            waits = self.issued[column] > 0.0 and results[column] == 0.0
            (self.waiting.add if waits else self.waiting.discard)(column)

    def retract(self, counts: Counts) -> bool:
        """Subtract what was absorbed; False if `follow` has learned more, so replay the log."""
        self.absorb({key: -n for key, n in counts.items()})
        return self.from_counters or not any(what == "moves" for what, *_ in counts)

    def follow(self, step: Step, *, left: bool) -> None:
        """Learn whether the user left after a resolved step, whose counts are absorbed."""
        if self.from_counters:
            self.conclude()
        elif step.arm in self.column:
            if self._step is not None:
                self._step[0] = step.step - 1.0
            assert self.calls.follow is not None
            column = self.column[step.arm]
            self.calls.follow(
                self.base_policy, self.memory, step.state, column, step.reward, left, step.after
            )

    def conclude(self, earlier: "Learner | None" = None) -> None:
        """Draw conclusions from the counters if they are due; until then those of `earlier` hold.

        All that is no counter in a memory is a conclusion, such as a learned optimism. Those that
        are about arms do not hold for others.
        """
        if self.calls.think is None or not self.positions:
            return
        memory = self.memory
        if earlier is not None:
            names = set(memory._fields) - set(COUNTERS)
            if earlier.positions == self.positions or names.isdisjoint(self._axes):
                for name in names:
                    getattr(memory, name)[:] = getattr(earlier.memory, name)
        due = getattr(memory, "due", None)  # by arm, for policies that look at each
        looks = due is not None and bool((memory.pulls >= due).any())
        if looks or memory.clock[0] >= memory.next_refit[0]:
            self.calls.think(self.base_policy, memory)

    def replay(self, events: Iterable[Event]) -> None:
        for event, previous in told(events):
            if previous is not None:
                self.follow(previous, left=event.kind == LEAVE)

    def view(self, position: int, state: float) -> dict[str, Any]:
        """The policy's knowledge of an arm in a state, as in `Choice`; `best` is a position."""
        memory, column = self.memory, self.column[position]
        known = {"optimism": explainer(self.policy).optimism_in(memory, state), "best": None}
        new = bool(self.issued[column] == 1.0)
        if not hasattr(memory, "pulls"):
            t = float(self.resolved.sum()) + 1.0
            return {**known, "pulls": 0.0, "successes": 0.0, "t": t, "new": new}
        pulls, successes = float(memory.pulls[column]), float(memory.successes[column])
        if memory.pulls.any():
            known["best"] = self.positions[int(np.argmax(by_means(memory)))]
        t = float(memory.clock[0]) + 1.0
        return {
            **known,
            "pulls": pulls,
            "successes": successes,
            "t": t,
            "new": new and pulls == 0.0,
        }

    def begin(self) -> float:
        """A draw for the state in which the next visit starts."""
        self.begun += 1
        return float(draw(self._starts, self.begun))

    def choose(
        self,
        state: float,
        step: int,
        among: Collection[int] | None = None,
        *,
        exploring: bool = True,
    ) -> tuple[int, float | None]:
        """The position of the arm to play, and its propensity if the policy can tell.

        If only those `among` these positions may be played, it is as if there were no others. An
        arm that was given out for the first time and has no result yet is not given out again as if
        it were new, nor can it be compared: it waits, unless all arms do. The share of a mixture
        that is any arm may be such an arm too, so that every arm always has a chance.
        """
        if not self.positions:
            raise InputError("there is no arm to choose: all are retired")
        able: Sequence[int] = range(len(self.positions))
        if among is not None:
            able = self.columns(among)
        if self._step is not None:
            self._step[0] = step - 1.0
        if not exploring:
            return self._best_known(state, able)
        share, rng = self.calls.share, self.rng
        anything = share > 0.0 and draw_uniform(rng) < share
        column = able[int(draw_uniform(rng) * len(able))] if anything else None
        column, chance = self._decide(state, able, column)
        if chance is not None:
            chance = share / len(able) + (1.0 - share) * chance
        return self.positions[column], chance

    def _decide(
        self, state: float, able: Sequence[int], column: int | None
    ) -> tuple[int, float | None]:
        """The policy's choice, or the `column` given, with the chance that the policy gives it."""
        rest = [c for c in able if c not in self.waiting] if self.waiting else able
        if not rest:
            own = min(able, key=self.issued.__getitem__)
            column = own if column is None else column
            return column, float(column == own)
        calls, memory = self.calls, self.memory
        if self.count_in_flight:
            memory = self._with_flights(memory, state)
        if len(rest) < len(self.positions):
            memory = self._only(memory, rest)
        chances: Any = () if calls.chances is None else calls.chances(calls.policy, memory, state)
        sure = int(np.argmax(chances)) if len(chances) else 0
        if column is None and len(chances) and chances[sure] == 1.0:
            column = rest[sure]  # `choose` would only score all arms once more
        elif column is None:
            chosen = int(calls.choose(calls.policy, memory, state, self.rng))
            if not 0 <= chosen < len(rest):
                raise no_such_arm(calls.policy, chosen, len(rest))
            column = rest[chosen]
        if not len(chances):
            return column, None
        return column, float(chances[rest.index(column)]) if column in rest else 0.0

    def _best_known(self, state: float, able: Sequence[int]) -> tuple[int, float]:
        """The arm of greatest known worth; any of them if several are, or none was ever shown."""
        memory = self.memory if len(able) == len(self.positions) else self._only(self.memory, able)
        worth = self.policy.greedy_values(memory, state)
        tied = np.flatnonzero(worth == worth.max())
        chosen = tied[int(draw_uniform(self.rng) * len(tied)) if len(tied) > 1 else 0]
        return self.positions[able[chosen]], 1.0 / len(tied)

    def columns(self, positions: Collection[int]) -> list[int]:
        """The places in the memory of those arms that are active; InputError if none is."""
        found = sorted({self.column[p] for p in positions if p in self.column})
        if not found:
            raise InputError("candidates is not allowed: none of them is an active arm")
        return found

    def _only(self, memory: Any, columns: Sequence[int]) -> Any:
        """The memory as if there were no other arms."""
        kept = {}
        for name, axis in self._axes.items():
            array = getattr(memory, name)
            others = range(len(self.positions), array.shape[axis])
            kept[name] = array.take([*columns, *others], axis)
        if self.calls.among is None:
            return memory._replace(**kept)
        shared = {n: a.copy() for n, a in memory._asdict().items() if n not in kept}
        memory = memory._replace(**kept, **shared)
        self.calls.among(self.calls.policy, memory)
        return memory

    def _with_flights(self, memory: Any, state: float) -> Any:
        """Pulls without a result narrow the bounds, means unchanged, if optimism is positive."""
        flying: Array = self.issued - self.resolved
        if not flying.any() or (explainer(self.policy).optimism_in(memory, state) or 0.0) <= 0.0:
            return memory
        played = memory.pulls > 0.0
        share = np.where(played, 1.0 + flying / np.where(played, memory.pulls, 1.0), 1.0)
        return memory._replace(pulls=memory.pulls * share, successes=memory.successes * share)


def _by_arm_axes(policy: Policy) -> dict[str, int]:
    """The arrays of a memory that have an entry for each arm, and along which of their axes."""
    one, two = policy.memory(1), policy.memory(2)
    shapes = {
        n: (getattr(one, n).shape, getattr(two, n).shape) for n in getattr(one, "_fields", ())
    }
    return {
        name: next(axis for axis, (n, m) in enumerate(zip(*both, strict=True)) if n != m)
        for name, both in shapes.items()
        if both[0] != both[1]
    }


OF_ARMS = (*BY_ARM, "issued")


def counted_by(store: Store, experiments: Sequence[str], arms: Sequence[Arm]) -> Counts:
    """The sums of what these experiments count, as the store has them, that a policy learns from.

    Arms are found by name; what others count of an arm that is not here is nobody's, as that of a
    retired one. Prior counts of theirs are not counted, nor is one that was dropped.
    """
    here = {arm.name: arm.position for arm in arms}
    total: defaultdict[Key, float] = defaultdict(float)
    for stored in store.read(experiments).values():
        place = {arm.position: here.get(arm.name, NO_ARM) for arm in stored.arms}
        for (what, i, j, k), n in added(stored.own, stored.others).items():
            if what in OF_ARMS:
                total[what, place.get(i, NO_ARM), j, k] += n
            elif what in BY_BIN:
                total[what, i, j, k] += n
    return dict(total)


def more(now: Counts, before: Counts) -> Counts:
    """The difference between counters now and before.

    >>> more({("pulls", 0, 0, 0): 3.0}, {("pulls", 0, 0, 0): 1.0, ("pulls", 1, 0, 0): 2.0})
    {('pulls', 0, 0, 0): 2.0, ('pulls', 1, 0, 0): -2.0}
    """
    found = {key: now.get(key, 0.0) - before.get(key, 0.0) for key in {**now, **before}}
    return {key: n for key, n in found.items() if n}

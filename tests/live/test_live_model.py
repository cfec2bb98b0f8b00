"""A state machine: anything may happen to visits, and a dictionary knows what must be true."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import sojourn as sj
from sojourn.live import (
    Ask,
    Conflict,
    Decision,
    Ended,
    Experiment,
    Journal,
    NotFound,
    Opening,
    SqliteStore,
    verify,
)

IDLE, WAIT, DEFAULT = 100.0, 30.0, 0.0
VISITS = st.sampled_from(["v0", "v1", "v2"])
REWARDS = st.sampled_from([0.0, 1.0])


class Model:
    """A visit as a dictionary would have it."""

    def __init__(self, now: float) -> None:
        self.steps: list[dict[str, Any]] = []
        self.open, self.touched = True, now
        self.request: str | None = None

    @property
    def pending(self) -> bool:
        return bool(self.steps) and self.steps[-1]["by"] is None

    def resolve(self, reward: float | None, by: str) -> None:
        if self.pending:
            value = DEFAULT if reward is None else reward
            self.steps[-1].update(by="reward" if reward is not None else by, reward=value)

    def expect(self, value: float, step: int) -> str | type[Exception]:
        """The answer to a reward."""
        if not 1 <= step <= len(self.steps):
            return NotFound
        known = self.steps[step - 1]
        if known["by"] is None:
            return "learned"
        if known["by"] != "reward":
            return "late"
        return "same" if known["reward"] == value else Conflict


class Visits(RuleBasedStateMachine):
    """Every call against the model; after each, the store against the model."""

    durable = False

    @initialize()
    def start(self) -> None:
        self.now = 1000.0
        self.folder = tempfile.TemporaryDirectory()
        self.visits: dict[str, Model] = {}
        self.lates: set[tuple[str, int]] = set()
        self.requests = 0
        self.store: Any = None
        self.connect()

    def connect(self) -> None:
        path = Path(self.folder.name) / "live.db"

        def clock() -> float:
            return self.now

        if self.durable or self.store is None:
            self.store = SqliteStore(path, clock) if self.durable else SqliteStore.in_memory(clock)
        self.journal = Journal(self.store, upkeep=False)
        self.experiment = Experiment(
            "e", ["a", "b", "c"], sj.policies.LearnedUCB(bins=2), store=self.journal, seed=1,
            default_reward=DEFAULT, reward_wait=WAIT, idle_timeout=IDLE, compiled=False,
        )  # fmt: skip

    def expire(self) -> None:
        """What a sweep does."""
        for model in self.visits.values():
            if model.open and model.touched + IDLE <= self.now:
                model.resolve(None, "timeout")
                model.open, model.left_by = False, "timeout"  # type: ignore[attr-defined]
            elif model.open and model.pending and model.touched + WAIT <= self.now:
                model.resolve(None, "timeout")

    @rule(visit=VISITS)
    def open(self, visit: str) -> None:
        self.experiment.visit(id=visit, user=f"user of {visit}")
        self.visits.setdefault(visit, Model(self.now))

    @rule(visit=VISITS, which=st.integers(0, 4), right=st.booleans())
    def decide_again(self, visit: str, which: int, right: bool) -> None:
        """Any earlier step, with its own request or with another one."""
        handle, model = self.experiment.get(visit), self.visits.get(visit)
        if model is None or not model.steps:
            return
        step = model.steps[which % len(model.steps)]
        number = step["decision"].step
        if right:
            again = handle.decide(Ask(reward=1.0, request=step["request"], step=number))
            assert again == step["decision"]
            return
        with pytest.raises(Conflict):
            handle.decide(Ask(reward=1.0, request="of nobody", step=number))
        with pytest.raises(Conflict):
            handle.decide(Ask(reward=0.0, request="of nobody", step=len(model.steps) + 2))

    @rule(visit=VISITS, reward=st.none() | REWARDS, repeat=st.booleans(), counted=st.booleans())
    def decide(self, visit: str, reward: float | None, repeat: bool, counted: bool) -> None:
        handle, model = self.experiment.get(visit), self.visits.get(visit)
        if model is None:
            with pytest.raises(NotFound):
                handle.decide(Ask(reward=reward))
            if reward is None:
                self.decide_for_the_first_time(visit)
            return
        if repeat and model.request is not None:
            assert (
                handle.decide(Ask(reward=reward, request=model.request))
                == model.steps[-1]["decision"]
            )
            return
        expected = None
        if reward is not None and not model.pending:
            expected = model.expect(reward, len(model.steps))
            if isinstance(expected, type):
                with pytest.raises(expected):
                    handle.decide(Ask(reward=reward))
                return
            self.note_late(visit, len(model.steps), expected)
        if not model.open:
            with pytest.raises(Ended):
                handle.decide(Ask(reward=reward))
            return
        self.requests += 1
        request = f"r{self.requests}"
        step = len(model.steps) + 1 if counted else None
        decision = handle.decide(Ask(reward=reward, request=request, step=step))
        model.resolve(reward, "next")
        self.note_step(model, decision, request)

    def decide_for_the_first_time(self, visit: str) -> None:
        """The visit is opened by its first decision."""
        self.requests += 1
        request, opening = f"r{self.requests}", Opening(user=f"user of {visit}", state=1.0)
        decision = self.experiment.decide(visit, Ask(request=request, step=1, opening=opening))
        again = self.experiment.decide(visit, Ask(request=request, step=1, opening=opening))
        assert again == decision
        self.visits[visit] = Model(self.now)
        self.note_step(self.visits[visit], decision, request)

    def note_step(self, model: Model, decision: Decision, request: str) -> None:
        step = {"decision": decision, "by": None, "reward": None, "request": request}
        model.steps.append(step)
        assert decision.step == len(model.steps)
        model.request, model.touched = request, self.now

    def note_late(self, visit: str, step: int, answer: str) -> None:
        if answer == "late" and (visit, step) not in self.lates:
            self.lates.add((visit, step))
            self.visits[visit].touched = self.now

    @rule(visit=VISITS, value=REWARDS, back=st.integers(0, 3))
    def reward(self, visit: str, value: float, back: int) -> None:
        handle, model = self.experiment.get(visit), self.visits.get(visit)
        last = len(model.steps) if model else 0
        step = None if back == 0 else last + 1 - back
        expected: Any = NotFound
        if model is not None:
            expected = model.expect(value, last if step is None else step)
        if isinstance(expected, type):
            with pytest.raises(expected):
                handle.reward(value, step=step)
            return
        assert model is not None
        assert handle.reward(value, step=step) == expected
        self.note_late(visit, len(model.steps) if step is None else step, expected)
        if expected == "learned":
            model.resolve(value, "reward")
            model.touched = self.now

    @rule(visit=VISITS, reward=st.none() | REWARDS)
    def end(self, visit: str, reward: float | None) -> None:
        handle, model = self.experiment.get(visit), self.visits.get(visit)
        if model is None:
            with pytest.raises(NotFound):
                handle.end(reward)
            return
        if reward is not None and not model.pending:
            expected = model.expect(reward, len(model.steps))
            if isinstance(expected, type):
                with pytest.raises(expected):
                    handle.end(reward)
                return
            self.note_late(visit, len(model.steps), expected)
        assert handle.end(reward) == model.open
        if model.open:
            model.resolve(reward, "end")
            model.open, model.left_by = False, "end"  # type: ignore[attr-defined]

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0, 99.0, 101.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.expire()
        self.experiment.sweep()
        assert self.experiment.sweep() == 0

    @rule()
    def crash(self) -> None:
        """Everything in memory is gone; the writer is killed in its tracks."""
        self.journal.writer.close()
        if self.durable:
            self.store.close()
        self.connect()

    @precondition(lambda self: "b" in self.experiment.arms)
    @rule()
    def retire(self) -> None:
        self.experiment.retire_arms("b")

    @precondition(lambda self: "b" not in self.experiment.arms)
    @rule()
    def return_(self) -> None:
        self.experiment.add_arms("b")

    @invariant()
    def counters_are_those_of_the_model(self) -> None:
        if not hasattr(self, "visits"):
            return
        assert verify(self.store, "e") == {}
        steps = [s for m in self.visits.values() for s in m.steps]
        counts: dict[str, float] = {}
        for key, n in self.experiment.counts().items():
            counts[key[0]] = counts.get(key[0], 0.0) + n
        resolved = [s for s in steps if s["by"] is not None]
        ended = [m for m in self.visits.values() if not m.open]
        assert counts.get("issued", 0) == len(steps)
        assert counts.get("pulls", 0) == len(resolved)
        assert counts.get("successes", 0) == sum(s["reward"] for s in resolved)
        assert counts.get("open", 0) == len(self.visits)
        assert counts.get("late", 0) == len(self.lates)
        for by in ("reward", "next", "end", "timeout"):
            assert counts.get(f"resolved by {by}", 0) == sum(s["by"] == by for s in resolved)
        assert counts.get("left", 0) == sum(bool(m.steps) for m in ended)
        memory = self.experiment.memory
        assert memory.clock[0] == len(resolved)
        assert memory.left.sum() == counts.get("left", 0)
        assert memory.moves.sum() == counts.get("moves", 0)

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            self.journal.close()
            self.folder.cleanup()


class DurableVisits(Visits):
    durable = True


TestMemory = Visits.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=25)
TestSqlite = DurableVisits.TestCase
TestSqlite.settings = settings(max_examples=25, stateful_step_count=20)

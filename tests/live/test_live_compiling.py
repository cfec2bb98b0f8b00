"""Policies run interpreted until a child process has compiled them, and decide the same."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config

import sojourn as sj
from sojourn.engine import background, calls
from sojourn.live import Experiment
from sojourn.policies import Policy
from sojourn.validation import PolicyError

ARMS = ["a", "b", "c", "d"]

TINY = """
import json
from dataclasses import dataclass
from sojourn.policies import Policy, draw_uniform

print("what a module prints is no answer")

@dataclass(frozen=True)
class Tiny(Policy):
    scale: float = 1.0

    def choose(self, memory, state, rng):
        return int(self.scale * draw_uniform(rng) * memory.pulls.size)

@dataclass(frozen=True)
class Wrong(Tiny):
    def choose(self, memory, state, rng):
        return int(json.loads("0"))
"""


def until(good: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    end = time.monotonic() + 300.0
    while not good():
        assert time.monotonic() < end
        time.sleep(0.02)


def played(policy: Policy, switch: int, visits: int = 60) -> tuple[Any, ...]:
    """Decisions with their chances, the stream and the memory; compiled before visit `switch`."""
    draw, found = np.random.default_rng(7), []
    options: dict[str, Any] = {"reward_threshold": 0.5, "compiled": False, "seed": 5}
    with Experiment("news", ARMS, policy, **options) as experiment:
        for number in range(visits):
            if number == switch:
                experiment.compile()
            visit, reward = experiment.visit(id=f"v{number}"), None
            for _ in range(1 + int(draw.integers(12))):
                decision = visit.decide(sj.live.Ask(reward=reward))
                found.append((decision.arm, decision.propensity))
                mean = 0.3 + 0.1 * ARMS.index(decision.arm)
                reward = float(draw.choice([0.0, 0.25, 1.0], p=[0.7 - mean / 2, 0.3, mean / 2]))
            visit.end(reward)
        assert experiment.mode == ("compiled" if switch < visits else "interpreted")
        learner = experiment.operations.learner
        return found, learner.rng.copy(), [array.copy() for array in learner.memory]


@pytest.mark.parametrize(
    "policy",
    [
        sj.policies.EngagementIndex(),
        sj.policies.LearnedThompson(),
        sj.policies.EpsilonMixture(sj.policies.QLearning(), 0.1),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_switch_in_mid_stream_changes_no_decision(policy: Policy) -> None:
    """Arms and coins are equal to the bit; chances and sums to the last digits."""
    runs = [played(policy, switch) for switch in (0, 30, 60)]  # compiled, both, interpreted
    for decisions, rng, memory in runs[1:]:
        assert [arm for arm, _ in decisions] == [arm for arm, _ in runs[0][0]]
        np.testing.assert_array_equal(rng, runs[0][1])
        known = [chance is not None for _, chance in decisions]
        assert known == [chance is not None for _, chance in runs[0][0]]
        chances = ([p or 0.0 for _, p in each] for each in (decisions, runs[0][0]))
        np.testing.assert_allclose(*chances, rtol=1e-9)
        for one, other in zip(memory, runs[0][2], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module with policies outside of the package, and an empty cache."""
    (tmp_path / "tiny_policies.py").write_text(TINY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(background, "_jobs", {})
    calls._say_once.cache_clear()
    yield __import__("tiny_policies")
    del sys.modules["tiny_policies"]


def test_a_child_process_compiles_once_for_all_of_a_kind(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun, call = threading.Event(), list[bytes](), background._call

    def held(job: bytes) -> str:
        begun.append(job)
        go.wait(60.0)
        return call(job)

    def here(*_: Any) -> None:
        raise AssertionError("compiled in this process")

    monkeypatch.setattr(background, "_call", held)
    one = Experiment("x", ARMS, tiny.Tiny(), seed=1)
    with one, Experiment("y", ARMS, tiny.Tiny(0.5), seed=1) as other:
        modes = {one.mode, other.mode}
        visit = one.visit()
        first = [visit.choose(None if n == 0 else 1.0) for n in range(50)]
        monkeypatch.setattr("numba.core.compiler.compile_extra", here)
        go.set()
        until(lambda: {one.mode, other.mode} == {"compiled"})
        then = [visit.choose(1.0) for _ in range(50)]
    assert modes == {"compiling"} and len(begun) == 1
    with Experiment("x", ARMS, tiny.Tiny(), seed=1, compiled=False) as alone:
        visit = alone.visit()
        assert [visit.choose(None if n == 0 else 1.0) for n in range(100)] == first + then
    with Experiment("z", ARMS, tiny.Tiny()) as again:
        assert again.mode == "compiled" and len(begun) == 1


def test_two_children_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def call(job: bytes) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return ""

    monkeypatch.setattr(background, "_jobs", {})
    monkeypatch.setattr(background, "_call", call)
    made = [background.compile_later(("test", n), print, n) for n in range(6)]
    assert [future.result(60.0) for future in made] == [""] * 6
    assert most[0] == background.AT_ONCE == 2


def test_what_a_child_cannot_import_stays_interpreted_and_one_line_says_so(
    tiny: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny.Tiny, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Tiny", tiny.Tiny, raising=False)
    with Experiment("x", ARMS, tiny.Tiny()) as one, Experiment("y", ARMS, tiny.Tiny()) as other:
        until(lambda: "compiling" not in (one.mode, other.mode))
        assert one.mode == other.mode == "interpreted" and one.visit().choose() in ARMS
        one.compile()
        assert one.mode == "compiled" and one.visit().choose() in ARMS
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("Tiny stays interpreted until compile() is called: Can't get attribute")


def test_what_cannot_be_compiled_is_said_in_one_line_and_raised_by_compile(
    tiny: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Experiment("x", ARMS, tiny.Wrong()) as experiment:
        until(lambda: experiment.mode != "compiling")
        assert experiment.mode == "interpreted"
        with pytest.raises(PolicyError, match=r"Wrong.* cannot be compiled: .*json"):
            experiment.compile()
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("Wrong stays interpreted") and "json" in line


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    """A process is killed while its child would compile for minutes."""
    (tmp_path / "long_work.py").write_text(
        "import os, pathlib, time\n"
        f"def work():\n    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(300)\n"
    )
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import long_work\n"
        "from sojourn.engine.background import compile_later\n"
        "compile_later('x', long_work.work); time.sleep(300)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) as parent:
        place = tmp_path / "pid"
        until(lambda: place.exists() and bool(place.read_text()))
        parent.kill()
    child = Path("/proc") / place.read_text()
    until(lambda: not child.exists() or ") Z " in (child / "stat").read_text())

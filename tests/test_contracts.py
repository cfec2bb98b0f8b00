"""`sj.check`: mistakes in policies and user models of your own, one sentence each."""

import random
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.faults import CannotCompile
from sojourn.users import Space
from sojourn.validation import PolicyError

PROBLEM = sj.Problem([0.7, 0.4], sj.TwoState(0.8, 0.2, 0.2, 0.1))


@dataclass(frozen=True)
class SoonTooFar(sj.Policy):
    """Returns an arm that does not exist once it has a result."""

    def choose(self, memory: sj.policies.Counts, state: float, rng: sj.policies.Stream) -> int:
        return 2 if memory.clock[0] > 0.0 else 0


@dataclass(frozen=True)
class OneTooFar(sj.Policy):
    arm: int = 2

    def choose(self, memory, state, rng):
        return int(self.arm)


@dataclass(frozen=True)
class Lucky(sj.Policy):
    def choose(self, memory, state, rng):
        return int(random.random() * memory.pulls.size)


@dataclass(frozen=True)
class LuckyBelow(sj.Policy):
    def choose(self, memory, state, rng):
        return flip(memory.pulls.size)


@sj.policies.jitable
def flip(arms):
    return np.random.randint(arms)  # noqa: NPY002 - the mistake in question


@dataclass(frozen=True)
class Slip(sj.Policy):
    def choose(self, memory, state, rng):
        best = memory.pulls.argmax()
        return best + memory.wins[0]


@dataclass(frozen=True)
class Wide(sj.Policy):
    def choose(self, memory, state, rng):
        return 0

    def probabilities(self, memory, state):
        return np.array([0.5, 0.6])


class Loose(sj.Policy):
    def choose(self, memory, state, rng):
        return 0


@dataclass(frozen=True)
class Good(sj.Policy):
    title: ClassVar[str] = "Good"

    def choose(self, memory, state, rng):
        return int(sj.policies.draw_uniform(rng) * memory.pulls.size)


@pytest.mark.parametrize("arm", [2, 100, -1])
def test_an_arm_that_does_not_exist_ends_the_simulation(arm: int) -> None:
    with pytest.raises(PolicyError) as refusal:
        sj.simulate(PROBLEM, [OneTooFar(arm)], visits=3, runs=2)
    assert str(refusal.value) == (
        f"OneTooFar.choose returned arm {arm}, and there are 2: it must be a whole number from 0 "
        "to 1"
    )


def test_an_arm_that_does_not_exist_is_not_shown() -> None:
    """Nor by a policy that goes wrong later than when it is tried out."""
    with pytest.raises(sj.InputError, match=r"OneTooFar\.choose returned arm -1, and there are 2"):
        sj.Experiment("e", ["a", "b"], OneTooFar(-1), compiled=False)
    with sj.Experiment("e", ["a", "b"], SoonTooFar(), compiled=False) as experiment:
        visit = experiment.visit()
        assert visit.choose() == "a"
        visit.reward(1)
        with pytest.raises(
            PolicyError, match=r"SoonTooFar\.choose returned arm 2, and there are 2"
        ):
            visit.choose()


@pytest.mark.parametrize(
    ("policy", "what"), [(Lucky(), "choose uses random"), (LuckyBelow(), "choose uses np.random")]
)
def test_draws_that_no_seed_fixes_are_refused(policy: sj.Policy, what: str) -> None:
    with pytest.raises(sj.InputError) as refusal:
        sj.simulate(PROBLEM, [policy], visits=3, runs=2)
    assert str(refusal.value) == (
        f"{type(policy).__name__}.{what}, which the seed of a run does not fix: draw from the "
        "stream that `choose` is given, with sojourn.policies.draw_uniform(rng)"
    )


def test_a_slip_is_told_in_the_line_that_has_it() -> None:
    with pytest.raises(CannotCompile) as refusal:
        sj.simulate(PROBLEM, [Slip()], visits=3, runs=2)
    message = str(refusal.value)
    assert "\n" not in message
    assert message.startswith("Slip with TwoState cannot be compiled: ")
    assert "wins" in message
    line = Slip.choose.__code__.co_firstlineno + 2
    assert message.endswith(f"(test_contracts.py, line {line}: return best + memory.wins[0])"), (
        message
    )


def test_another_number_of_arguments_is_told_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"choose must take the arguments \(self, memory, state"):

        @dataclass(frozen=True)
        class Short(sj.Policy):
            def choose(self, memory, state):
                return 0


def test_check_has_a_sentence_for_each_fault(capsys: pytest.CaptureFixture[str]) -> None:
    faults = {
        OneTooFar(3): "OneTooFar.choose returned 3 in state 0, and there are 3 arms: it must be a "
        "whole number from 0 to 2",
        Lucky(): "Lucky.choose uses random, which the seed of a run does not fix: draw from the "
        "stream that `choose` is given, with sojourn.policies.draw_uniform(rng)",
        Loose(): "Loose must be decorated with @dataclass(frozen=True)",
        sj.Policy(): "Policy has no method choose(self, memory, state, rng), which returns an arm",
    }
    for policy, sentence in faults.items():
        assert sj.check(policy) == [sentence]
        assert capsys.readouterr().out == f"{sentence}\n"
    assert sj.check(OneTooFar()) == [  # there is such an arm only where there are three
        "OneTooFar.choose returned 2 in state 0, and there are 2 arms: it must be a whole number "
        "from 0 to 1"
    ]
    wide = sj.check(Wide(), PROBLEM)
    assert wide[0] == (
        "Wide.probabilities returned [0.5, 0.6] in state 0: it must be empty, or 2 chances that "
        "add up to 1"
    )
    assert sj.check("ULCB") == ["str must inherit from sojourn.Policy or sojourn.User"]


def test_check_finds_nothing_wrong_with_a_good_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert sj.check(Good()) == []
    assert capsys.readouterr().out == "Good keeps the contract of a policy\n"


@dataclass(frozen=True, kw_only=True, repr=False)
class Impatient(sj.User):
    step: float = 0.3
    space: ClassVar[Space] = Space(states=4)
    start: float = 0

    def next_state(self, state, reward):
        return 0.0 if reward > 0.0 else state + 1.0

    def leave_probability(self, state, reward, arm):
        return 0.1 if reward > 0.0 else (state + 1.0) * self.step

    def experience(self, state):
        return 1.0 - state


def test_a_leave_probability_above_1_is_refused_with_the_problem() -> None:
    with pytest.raises(sj.InputError) as refusal:
        sj.Problem([0.7, 0.4], Impatient(step=0.5))
    assert str(refusal.value) == (
        "Impatient.leave_probability(2, 0, 0) = 1.5 is not allowed: it must be a number from 0 to 1"
    )


def test_check_of_a_user_has_a_sentence_for_each_fault() -> None:
    assert sj.check(Impatient()) == [
        "Impatient.experience(2) returned -1.0: it must be a number from 0 to 1",
        "Impatient.experience(3) returned -2.0: it must be a number from 0 to 1",
        "Impatient.leave_probability(3, 0, 0) returned 1.2: it must be a number from 0 to 1",
    ]
    with pytest.raises(ValueError, match=r"next_state\(3, 0\) = 4.0 is not allowed: it must be"):
        sj.Problem([0.7, 0.4], Impatient(step=0.1))
    assert sj.check(sj.users.LastReward()) == [
        "LastReward has no method leave_probability(self, state, reward, arm)"
    ]

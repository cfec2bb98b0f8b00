"""Compiled dataclasses: what compiled code sees of them, and which accelerators speak for them."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numba import njit

import sojourn as sj
from sojourn.engine.coasting import Coaster, TwoStateCoaster, WordCoaster, coaster_for
from sojourn.engine.fingerprint import methods_of
from sojourn.engine.index_leases import HoeffdingLeaser
from sojourn.engine.kernel import Leaser
from sojourn.engine.leases import leaser_for
from sojourn.engine.structs import PYTHON_ONLY, Compiled, interpreted


@dataclass(frozen=True)
class Inner(Compiled):
    weights: np.ndarray
    pair: tuple[float, float]

    def weigh(self, i):
        return self.weights[i] * self.pair[1]


@dataclass(frozen=True)
class Outer(Compiled):
    scale: float
    on: bool
    inner: Inner
    label: str = "text is left out"

    def total(self, extra):
        if not self.on:
            return -1.0
        return extra + self.scale * (self.inner.weigh(0) + self.inner.weigh(1))


@dataclass(frozen=True)
class Child(Outer):
    bonus: float = 0.5

    def twice(self, extra):
        return 2.0 * self.total(extra) + self.bonus


INNER = Inner(np.array([1.0, 2.0]), (0.0, 10.0))


@njit
def fields_of(value):
    return value.scale, value.on, value.inner.pair[1], value.inner.weights[1]


@njit
def total_of(value, extra):
    return value.total(extra)


@njit
def twice_of(value, extra):
    return value.twice(extra)


def test_fields_and_nested_structs() -> None:
    assert fields_of(Outer(3, True, INNER)) == (3.0, True, 10.0, 2.0)
    assert fields_of(Child(4.5, False, INNER)) == (4.5, False, 10.0, 2.0)


def test_methods_own_and_inherited() -> None:
    for on in (True, False):
        outer, child = Outer(3, on, INNER), Child(3, on, INNER, bonus=0.25)
        assert total_of(outer, 1.0) == outer.total(1.0) == (91.0 if on else -1.0)
        assert total_of(child, 1.0) == child.total(1.0)
        assert twice_of(child, 1.0) == child.twice(1.0) == (182.25 if on else -1.75)


@dataclass(frozen=True)
class Block(Compiled):
    numbers: np.ndarray

    def layout(self, at):
        a, item = self.numbers, self.numbers[at[0], at[1], at[2]]
        return item, a.shape, a.strides, a.size, a.itemsize, a.nbytes


@njit
def layout_of(block, at):
    return block.layout(at)


CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("numbers", [CUBE, CUBE.astype(np.int8), CUBE.T, CUBE[:, ::2, 1:]])
def test_arrays_are_whole_after_a_call(numbers: np.ndarray) -> None:
    """Only the address and the shape of those that are contiguous are passed."""
    block, at = Block(numbers), (1, 1, 1)
    assert layout_of(block, at) == block.layout(at)


def test_instances_of_one_class_share_compiled_code() -> None:
    before = len(total_of.overloads)
    for scale in (1, 2.5, np.float64(7)):
        assert total_of(Outer(scale, True, INNER), 0.0) == 30.0 * scale
    assert len(total_of.overloads) <= max(before, 1) + 1
    assert Outer(1, True, INNER)._numba_type_ == Outer(2.5, False, INNER)._numba_type_
    assert Outer(1, True, INNER)._numba_type_ != Child(1, True, INNER)._numba_type_


def test_wrong_argument_names_are_refused() -> None:
    with pytest.raises(TypeError, match="choose must take the arguments") as refusal:

        class Wrong(Compiled):
            def choose(self, memory, experience, rng):
                return 0

    assert "(self, memory, state, rng), not (self, memory, experience, rng)" in str(refusal.value)


def test_private_methods_may_take_anything() -> None:
    class One(Compiled):
        def _help(self, a):
            return a

    class Two(Compiled):
        def _help(self, b, c):
            return b

    assert One()._help(1) == Two()._help(1, 2)


def test_fields_for_python_only_are_no_part_of_the_struct() -> None:
    @dataclass(frozen=True)
    class Noted(Compiled):
        rate: float
        note: object = field(default=None, metadata=PYTHON_ONLY)

    assert Noted(1.0, {"any": "thing"})._numba_type_ == Noted(2.0)._numba_type_
    assert list(Noted(1.0)._numba_type_.members) == ["rate"]


def test_interpreted_methods_are_no_part_of_the_code_nor_are_those_that_override_them() -> None:
    class Base(Compiled):
        @interpreted
        def in_words(self) -> str:
            return "base"

        def value(self) -> float:
            return 1.0

    class Derived(Base):
        def in_words(self) -> str:
            return "derived"

    for cls in (Base, Derived):
        assert [name for name, _ in methods_of(cls)] == ["value"]


# --- accelerators are looked up by type ----------------------------------------------------------


@dataclass(frozen=True)
class Renamed(sj.policies.UCB):
    """The same methods under another name."""


@dataclass(frozen=True)
class Contrary(sj.policies.UCB):
    """Never what UCB plays: its leases would be wrong."""

    def choose(self, memory, state, rng):
        return memory.pulls.size - 1


@dataclass(frozen=True, repr=False)
class Stubborn(sj.TwoState):
    """Leaves by a rule of its own, which 64 steps at a time know nothing of."""

    def leave_probability(self, state, reward, arm):
        return 0.25


def test_an_accelerator_speaks_for_a_class_and_its_heirs_until_they_override_something() -> None:
    assert type(leaser_for(sj.policies.UCB())) is type(leaser_for(Renamed())) is HoeffdingLeaser
    assert type(leaser_for(Contrary())) is Leaser
    assert type(coaster_for(sj.TwoState(1, 1, 1, 1))) is WordCoaster
    assert type(coaster_for(sj.TwoState(1, 1, 1, 1, start={0: 0.5, 1: 0.5}))) is TwoStateCoaster
    assert type(coaster_for(Stubborn(1, 1, 1, 1))) is Coaster


def test_what_is_overridden_is_what_runs() -> None:
    problem = sj.Problem([0.5, 0.4], Stubborn(0.9, 0.9, 0.9, 0.9))
    result = sj.simulate(problem, [Contrary()], visits=20, runs=2)
    pulls = result.pulls.mean[0, -1].sum(axis=0)
    assert pulls[0] == 0.0
    assert pulls[1] > 2.5 * 20  # 4 steps per visit; 1.1 if the table were asked

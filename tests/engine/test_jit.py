"""Compiled dataclasses: what compiled code sees of them, and that it never sees an old one."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from numba import njit
from sojourn.engine.jit import Compiled, fingerprint, package_digest

import sojourn as sj
from sojourn.engine import jit
from sojourn.engine.kernel import kernel_for

SOURCES = Path(sj.__file__).parents[1]


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

    assert "['self', 'memory', 'state', 'rng']" in str(refusal.value)
    assert "['self', 'memory', 'experience', 'rng']" in str(refusal.value)


def test_private_methods_may_take_anything() -> None:
    class One(Compiled):
        def _help(self, a):
            return a

    class Two(Compiled):
        def _help(self, b, c):
            return b

    assert One()._help(1) == Two()._help(1, 2)


def test_package_digest_changes_with_any_source_that_may_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in jit.PACKAGE.rglob("*.py"):
        copy = tmp_path / source.relative_to(jit.PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    digest = package_digest.__wrapped__
    original = digest()
    assert original == digest() == package_digest()
    for copy in sorted(tmp_path.rglob("*.py")):
        text = copy.read_bytes()
        copy.write_bytes(text + b"\n# edited")
        plain = copy.relative_to(tmp_path).with_suffix("").parts[0] in jit.PLAIN
        assert (digest() == original) == plain, copy
        assert not (plain and b"jit" in text), copy
        copy.write_bytes(text)
    assert digest() == original


# --- classes from outside the package ----------------------------------------------------------

MODULE = """
    from dataclasses import dataclass
    import numpy as np
    from sojourn.engine.jit import jitable
    from sojourn.policies import Policy

    FIRST, SECOND, THIRD = 0, 1, 0
    TABLE = np.array([0, 0])
    PAIR = (0, 0)

    @jitable
    def deep(x, more=0):
        return x + THIRD + more

    @jitable
    def helper(x):
        return deep(x) + TABLE[0] + PAIR[1]

    def made(shift):
        @jitable
        def shifted(x):
            return x + shift
        return shifted

    shifted = made(0)

    @dataclass(frozen=True)
    class Base(Policy):
        size: float = 2.0

        def pick(self, x):
            return helper(x) + FIRST * SECOND

    @dataclass(frozen=True)
    class Mine(Base):
        weight: float = 1.0

        def choose(self, memory, state, rng):
            return min(shifted(self.pick(0)), 1)
"""

EDITS = {
    "a constant": ("FIRST, SECOND, THIRD = 0", "FIRST, SECOND, THIRD = 1"),
    "a constant to a value seen before": ("THIRD = 0, 1, 0", "THIRD = 0, 1, 1"),
    "an array": ("np.array([0, 0])", "np.array([1, 0])"),
    "a tuple": ("PAIR = (0, 0)", "PAIR = (0, 1)"),
    "a helper": ("return deep(x) + TABLE", "return deep(x) + 1 + TABLE"),
    "a helper's helper": ("return x + THIRD", "return x + 1 + THIRD"),
    "a default argument": ("more=0", "more=1"),
    "a closure": ("made(0)", "made(1)"),
    "a method": ("self.pick(0)", "self.pick(1)"),
    "an inherited method": ("FIRST * SECOND", "FIRST + SECOND"),
}


def arm_and_print(text: str) -> tuple[int, str]:
    """What the module's policy plays, and its fingerprint."""
    space: dict = {"__name__": "outside"}
    exec(compile(dedent(text), "outside.py", "exec"), space)
    policy = space["Mine"]()
    return policy.choose(None, 1.0, None), fingerprint(type(policy))


@pytest.mark.parametrize("edit", list(EDITS))
def test_fingerprint_sees(edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "outside", sys.modules[__name__])  # dataclass looks it up
    arm, print_ = arm_and_print(MODULE)
    assert (arm, print_) == arm_and_print(MODULE)
    assert arm == 0
    old, new = EDITS[edit]
    assert old in MODULE
    arm, edited = arm_and_print(MODULE.replace(old, new))
    assert arm == 1  # so the edit matters
    assert edited != print_


def test_a_leave_curve_goes_by_its_code() -> None:
    """Not by its address, which another function may have in another process."""

    def name(shift: float) -> str:
        user = sj.Ema(theta=0.5, leave=lambda s: 0.5 - shift * s)
        return user._numba_type_.name

    assert name(0.25) == name(0.25)
    assert name(0.25) != name(0.125)
    assert "0x" not in name(0.25)


SCRIPT = """
    import numpy as np
    import sojourn as sj
    from outside import Mine
    from sojourn.simulation.chunks import chunk
    from sojourn.engine.kernel import kernel_for

    problem = sj.Problem([0.5, 0.4], sj.TwoState(1, 1, 1, 1))
    row = chunk(problem, Mine(), 0, 0, 1, np.array([9]))[0, 0]
    print(int(row[-1]), sum(kernel_for(Mine(), problem.user).stats.cache_hits.values()))
"""


def test_an_edited_class_is_never_served_from_the_cache(tmp_path: Path) -> None:
    """Fresh processes with one cache: a hit when nothing changed, and never an old result."""
    (tmp_path / "main.py").write_text(dedent(SCRIPT))

    def run(text: str) -> tuple[int, int]:
        """Pulls of the second arm in nine visits, and the hits of the cache."""
        (tmp_path / "outside.py").write_text(dedent(text))
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        }
        environment.pop("PYTHONHASHSEED", None)
        done = subprocess.run(
            [sys.executable, "main.py"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        pulls, hits = done.stdout.split()
        return int(pulls), int(hits)

    assert run(MODULE) == (0, 0)
    assert run(MODULE) == (0, 1)
    for edit in ("a constant to a value seen before", "a helper"):
        assert run(MODULE.replace(*EDITS[edit])) == (9, 0)


def test_kernels_of_different_types_share_no_cache_file() -> None:
    """Numba numbers the cache files of a function: two processes would pick the same number."""
    user = sj.TwoState(1, 1, 1, 1)
    kernels = [kernel_for(policy, user) for policy in (sj.UCB(), sj.UCB(c=4), sj.ULCB())]
    assert kernels[0] is kernels[1] is not kernels[2]
    names = [k._cache._cache_file._index_name for k in kernels]
    assert names[0] == names[1] != names[2]

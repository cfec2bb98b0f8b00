"""Compiled code is kept by what it is made of: an edit recompiles what it reaches, no more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import sojourn as sj
from sojourn.engine import fingerprint as fp
from sojourn.engine.calls import _choose
from sojourn.engine.fingerprint import engine_digest, fingerprint
from sojourn.engine.streams import policy_stream
from sojourn.policies.learned import Learned
from sojourn.policies.visit import WholeVisit

SOURCES = Path(sj.__file__).parents[1]

MODULE = """
    from dataclasses import dataclass
    import numpy as np
    from sojourn import Policy
    from sojourn.policies import jitable

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
    from outside import Mine
    from sojourn.engine.calls import _choose
    from sojourn.engine.streams import policy_stream

    mine = Mine()
    arm = _choose(mine, mine.memory(2), 1.0, policy_stream(0, 0))
    print(arm, sum(sum(k.stats.cache_hits.values()) for k in _choose._made.values()))
"""


def test_an_edited_class_is_never_served_from_the_cache(tmp_path: Path) -> None:
    """Fresh processes with one cache: a hit when nothing changed, and never an old result."""
    (tmp_path / "main.py").write_text(dedent(SCRIPT))

    def run(text: str) -> tuple[int, int]:
        """The arm, and the hits of the cache."""
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
        arm, hits = done.stdout.split()
        return int(arm), int(hits)

    assert run(MODULE) == (0, 0)
    assert run(MODULE) == (0, 1)
    for edit in ("a constant to a value seen before", "a helper"):
        assert run(MODULE.replace(*EDITS[edit])) == (1, 0)


def test_kernels_of_different_types_share_no_cache_file() -> None:
    """Numba numbers the cache files of a function: two processes would pick the same number."""
    policies = (sj.policies.UCB(), sj.policies.UCB(c=4), sj.policies.ULCB())
    kernels = [_choose.compiled(p, p.memory(2), 1.0, policy_stream(0, 0)) for p in policies]
    assert kernels[0] is kernels[1] is not kernels[2]
    names = [k._cache._folders[-1]._cache_file._index_name for k in kernels]
    assert names[0] == names[1] != names[2]


# --- what an edit recompiles ---------------------------------------------------------------------


def test_the_engine_digest_is_the_content_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "engine"
    shutil.copytree(fp.FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fp, "FOLDER", copy)
    digest = engine_digest.__wrapped__
    original = digest()
    assert original == digest() == engine_digest()
    for source in sorted(copy.rglob("*.py")):
        text = source.read_bytes()
        source.write_bytes(text + b"\n# edited")
        assert digest() != original, source
        source.write_bytes(text)
    (copy / "new.py").write_text("")
    assert digest() != original


PROBE = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import sojourn as sj
    from sojourn.engine.fingerprint import engine_digest, fingerprint
    print(engine_digest(), *(fingerprint(cls) for cls in (
        *sj.policies.ALL, sj.TwoState, sj.Ema, sj.Chain)))
"""
PLAIN = (
    "logs/synthetic.py", "paper/trials.py", "cli/main.py", "service/app.py", "show/tables.py",
    "live/records.py", "theory/regret.py",
)  # fmt: skip


def test_an_edit_of_a_policy_is_seen_by_its_kernels_and_no_others(tmp_path: Path) -> None:
    """In copies of the package; edits where nothing is compiled are seen by none."""
    copy = tmp_path / "sojourn"
    shutil.copytree(SOURCES / "sojourn", copy, ignore=shutil.ignore_patterns("__pycache__"))

    def prints() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", dedent(PROBE), str(tmp_path)],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        return done.stdout.split()

    before = prints()
    for name in PLAIN:
        path = copy / name
        path.write_text(path.read_text() + "\nEDITED = 1\n")
    explorer = copy / "policies/explorer.py"
    words = '"""The arm to play when there is no newcomer."""'
    assert words in explorer.read_text()
    explorer.write_text(explorer.read_text().replace(words, '"""Edited words."""'))
    assert prints() == before
    departures = copy / "policies/departures.py"
    departures.write_text(departures.read_text().replace("FIRST_LOOK = 16.0", "FIRST_LOOK = 17.0"))
    names = ["engine", *(cls.__name__ for cls in sj.policies.ALL), "TwoState", "Ema", "Chain"]
    changed = {n for n, a, b in zip(names, before, prints(), strict=True) if a != b}
    assert changed == {
        cls.__name__ for cls in sj.policies.ALL if issubclass(cls, Learned | WholeVisit)
    }

"""Bare loops: the draws, the state and the leaving of a user who is shown one arm; no policy.

What a simulator costs is measured against three of them, which count the same things:

* *plain*: straightforward scalar code, compiled by Numba, below;
* *C*: the same in C (bare.c), compiled here if the machine has a compiler;
* *coasting*: the package's own environment with `FixedArm` under a lease.

For the two-state user the first two are written in two forms, of which the faster one counts:
branching is faster where leaving is rare, no branch where it is not.

A row of counts per run: rewards, visits, steps by level of experience.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sojourn import Ema, Problem, TwoState
from sojourn.engine.kernel import BY_LEVEL, REWARD
from sojourn.engine.streams import FIRST_ARM, draw, stream_key
from sojourn.policies import FixedArm
from sojourn.simulation.chunks import chunk
from sojourn.users import LogLeave

Counts = NDArray[np.int64]
Bare = Callable[[Problem, int, int, int, int], Counts]
"""bare(problem, seed, first, runs, visits): counts of the runs first, first + 1, ..."""

SOURCE = Path(__file__).with_name("bare.c")
FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")

compiled = njit(nogil=True, error_model="numpy")


@compiled
def two_state_branching(
    mean: float,
    q00: float,
    q01: float,
    q10: float,
    q11: float,
    start: int,
    owner: int,
    seed: int,
    first: int,
    runs: int,
    visits: int,
    out: Counts,
) -> None:
    """The two-state user; a departure is a branch."""
    not_mean = 1.0 - mean
    leave = np.array([mean + not_mean * q00, mean * q01, mean + not_mean * q10, mean * q11])
    for run in range(runs):
        key = stream_key(seed, first + run, np.uint64(owner))
        n = won = high = ended = 0
        state = start
        while ended < visits:
            n += 1
            u = draw(key, n)
            reward = int(u < mean)
            won += reward
            high += state
            if u < leave[np.uint64(2 * state + reward)]:  # unsigned: an index from the start
                ended += 1
                state = start
            else:
                state = reward
        out[run, 0], out[run, 1], out[run, 2], out[run, 3] = won, ended, n - high, high


@compiled
def two_state_smooth(
    mean: float,
    q00: float,
    q01: float,
    q10: float,
    q11: float,
    start: int,
    owner: int,
    seed: int,
    first: int,
    runs: int,
    visits: int,
    out: Counts,
) -> None:
    """The two-state user; whether they leave is computed for both states, without a branch."""
    not_mean = 1.0 - mean
    leave_00, leave_01 = mean + not_mean * q00, mean * q01
    leave_10, leave_11 = mean + not_mean * q10, mean * q11
    for run in range(runs):
        key = stream_key(seed, first + run, np.uint64(owner))
        n = won = high = ended = 0
        state = start
        while ended < visits:
            n += 1
            u = draw(key, n)
            reward = int(u < mean)
            left_0 = int((u < leave_01) | ((reward == 0) & (u < leave_00)))
            left_1 = int((u < leave_11) | ((reward == 0) & (u < leave_10)))
            left = left_1 if state else left_0
            won += reward
            high += state
            ended += left
            state = start if left else reward
        out[run, 0], out[run, 1], out[run, 2], out[run, 3] = won, ended, n - high, high


@compiled
def ema(
    mean: float,
    theta: float,
    c6: float,
    start: float,
    owner: int,
    seed: int,
    first: int,
    runs: int,
    visits: int,
    out: Counts,
) -> None:
    """The user with a moving average and the paper's leave curve."""
    span = log1p(c6)
    for run in range(runs):
        key = stream_key(seed, first + run, np.uint64(owner))
        steps = np.zeros(4, np.int64)
        n = won = ended = 0
        state = start
        while ended < visits:
            n += 1
            u = draw(key, n)
            reward = int(u < mean)
            onward = (1.0 - theta) * state + theta * reward
            leave = 1.0 - log1p(c6 * onward) / span
            left = u < (mean * leave if reward else mean + (1.0 - mean) * leave)
            steps[min(int(state * 4.0), 3)] += 1
            won += reward
            ended += left
            state = start if left else onward
        out[run, 0], out[run, 1] = won, ended
        out[run, 2:] = steps


PLAIN = {
    "two_state_branching": two_state_branching,
    "two_state_smooth": two_state_smooth,
    "ema": ema,
}


def forms(problem: Problem) -> tuple[str, ...]:
    """The names of the scalar loops that this problem can be played with."""
    user = problem.user
    if len(user.start.states) == 1 and isinstance(user, TwoState):
        return "two_state_branching", "two_state_smooth"
    if len(user.start.states) == 1 and isinstance(user, Ema) and isinstance(user.leave, LogLeave):
        return ("ema",)
    raise ValueError(f"there is no bare loop for {user!r}")


def _about(user: Any) -> tuple[Any, ...]:
    """What the loops need to know of the user."""
    start = user.start.states[0]
    if isinstance(user, TwoState):
        return user.q00, user.q01, user.q10, user.q11, int(start)
    return user.theta, user.leave.c6, start


def _play(
    loop: Callable[..., None], problem: Problem, seed: int, first: int, runs: int, visits: int
) -> Counts:
    out = np.empty((runs, 2 + problem.user.space.bins), np.int64)
    arm = problem.best_arm
    owner = int(FIRST_ARM) + arm
    loop(problem.means[arm], *_about(problem.user), owner, seed, first, runs, visits, out)
    return out


def coasting(problem: Problem, seed: int, first: int, runs: int, visits: int) -> Counts:
    """The package's environment under a lease that never ends."""
    policy = FixedArm.for_problem(problem)
    rows = chunk(problem, policy, seed, first, runs, np.array([visits]))[:, 0]
    levels = problem.user.space.bins
    pulls = rows[:, BY_LEVEL + levels :].reshape(runs, levels, problem.arms).sum(axis=2)
    counts = np.column_stack([rows[:, REWARD], np.full(runs, visits), pulls])
    return counts.astype(np.int64)


def bare_loops(problem: Problem) -> dict[str, list[Bare]]:
    """The bare loops of a problem by name, each in all its forms; without C if there is none."""
    names = forms(problem)
    loops: dict[str, list[Bare]] = {"plain": [partial(_play, PLAIN[name]) for name in names]}
    if why_no_c() is None:
        loops["C"] = [partial(_play, getattr(c_library(), name)) for name in names]
    loops["coasting"] = [coasting]
    return loops


def why_no_c() -> str | None:
    """Why the C loop cannot be had, or None if it can."""
    try:
        c_library()
    except OSError as reason:
        return str(reason)
    return None


@cache
def c_library() -> ctypes.CDLL:
    """bare.c, compiled; raises OSError with the reason where that cannot be done."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("there is no C compiler: cc was not found")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "bare.so"
        command = [compiler, *FLAGS, str(SOURCE), "-lm", "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"cc failed with exit code {done.returncode}")
        library = ctypes.CDLL(str(target))
    real, whole, word = ctypes.c_double, ctypes.c_int64, ctypes.c_uint64
    out = np.ctypeslib.ndpointer(np.int64, ndim=2, flags="C_CONTIGUOUS")
    common = [word, word, whole, whole, whole, out]
    arguments = {
        "two_state_branching": [real] * 5 + [whole, *common],
        "two_state_smooth": [real] * 5 + [whole, *common],
        "ema": [real] * 4 + common,
    }
    for name, types in arguments.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, None
    return library

"""`check`: whether a policy or a user model of your own keeps its contract.

Each check gives at most one sentence. The first faults are those that make the others pointless.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine.coasting import coaster_for
from .engine.fingerprint import check_randomness
from .engine.kernel import Leaser, columns, play
from .engine.steps import next_states
from .engine.streams import policy_stream
from .policies import Policy, Uniform
from .policies.base import arms_in
from .policy_names import policy_of
from .problem import Problem
from .problem_files import problem_of
from .simulation.chunks import NEVER, chunk
from .users import TwoState, User
from .validation import InputError

SEED, GRID = 7, np.array([40], np.int64)
MEANS = (0.7, 0.5, 0.4)
ARMS = (3, 2)
USER_METHODS = {
    "next_state": "next_state(self, state, reward)",
    "leave_probability": "leave_probability(self, state, reward, arm)",
}
REWARDS = (0.0, 1.0)
FAULTS = 3
"""Faults of one kind that are reported, at most."""


def check(value: Policy | User, problem: Problem | str | Path | None = None) -> list[str]:
    """The faults of your own policy or user model, one sentence each; they are also printed.

    A policy is played on `problem`; without one, on three arms and on two, with a two-state user. A
    user model is played by a policy that chooses at random. Compiled must equal interpreted, leases
    must change nothing, the same seed must give the same bits, and the probabilities of a policy
    must be those of its choices. The list is empty if there are no faults.

    >>> from sojourn import TwoState
    >>> from sojourn.policies import ULCB
    >>> check(ULCB())
    ULCB keeps the contract of a policy
    []
    >>> check(TwoState(q00=1, q01=0, q10=0, q11=0))
    TwoState keeps the contract of a user
    []
    """
    if problem is not None:
        problem = problem_of(problem)
    name, found = type(value).__name__, list[str]()
    try:
        found.extend(next(filter(None, map(list, _stages(value, problem))), []))
    except Exception as error:
        found.append(f"{name} fails: {type(error).__name__}: {' '.join(str(error).split())}")
    kind = "user" if isinstance(value, User) else "policy"
    print("\n".join(found) or f"{name} keeps the contract of a {kind}")
    return found


def _stages(value: Any, problem: Problem | None) -> Iterator[Iterable[str]]:
    """The faults of a stage at a time: those of the first that has any are reported."""
    if not isinstance(value, Policy | User):
        yield [f"{type(value).__name__} must inherit from sojourn.Policy or sojourn.User"]
    yield _value_faults(value)
    if isinstance(value, Policy):
        yield _missing(value, {"choose": "choose(self, memory, state, rng), which returns an arm"})
        yield from (_played(value, one) for one in _problems(value, problem))
    else:
        yield _missing(value, USER_METHODS)
        yield _user_faults(value)
        yield _same_faults(value)


def _missing(value: Any, methods: Mapping[str, str]) -> Iterator[str]:
    for name, form in methods.items():
        if not hasattr(value, name):
            yield f"{type(value).__name__} has no method {form}"
            return


def _problems(policy: Policy, problem: Problem | None) -> list[Problem]:
    """Problems to play: those of the usual numbers of arms that the policy supports."""
    if problem is not None:
        return [problem]
    found = list[Problem]()
    for arms in ARMS:
        try:
            policy.check_arms(arms)
        except InputError:
            if arms == ARMS[-1] and not found:
                raise
        else:
            found.append(Problem(MEANS[:arms], TwoState(0.8, 0.2, 0.2, 0.1)))
    return found


def _played(policy: Policy, problem: Problem) -> Iterator[str]:
    """The faults of a policy on one problem."""
    name = type(policy).__name__
    policy_of(policy, problem)  # what `simulate` asks of it
    arms, memory = problem.arms, policy.memory(problem.arms)
    for state in (0.0, 0.5, 1.0):
        arm = policy.choose(memory, state, policy_stream(SEED, 0))
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < arms:
            yield (
                f"{name}.choose returned {arm!r} in state {state:g}, and there are {arms} arms: it "
                f"must be a whole number from 0 to {arms - 1}"
            )
            return
        chances = np.asarray(policy.probabilities(memory, state))
        if chances.size and (chances.shape != (arms,) or abs(chances.sum() - 1.0) > 1e-9):
            yield (
                f"{name}.probabilities returned {chances.tolist()} in state {state:g}: it must be "
                f"empty, or {arms} chances that add up to 1"
            )
        elif chances.size and chances[arm] <= 0.0:
            yield f"{name}.probabilities gives the arm that choose returned, {arm}, no chance"
    if arms_in(memory) != arms:
        yield (
            f"{name}.memory has {arms_in(memory)} arms where {arms} were asked for: the last axis "
            "of its first array must be the arms"
        )
    yield from _run_faults(name, problem, policy)


def _run_faults(name: str, problem: Problem, policy: Policy) -> Iterator[str]:
    stepwise = _chunk(problem, policy, leases=False)
    if not np.array_equal(stepwise, _chunk(problem, policy, leases=False)):
        yield f"{name} is not reproducible: the same seed gave two different runs"
        return
    if not np.array_equal(stepwise, _chunk(problem, policy)):
        yield f"{name} decides differently where the engine leases its choices: please report it"
    if not np.array_equal(stepwise[0], _interpreted(problem, policy)):
        yield (
            f"{name} decides differently when compiled: whole numbers arrive as floats there "
            "(wrap an index in int()), and integer division and overflow differ"
        )


def _chunk(problem: Problem, policy: Policy, leases: bool = True) -> NDArray[np.float64]:
    return chunk(problem, policy, SEED, 0, 2, GRID, leases=leases)


def _interpreted(problem: Problem, policy: Policy) -> NDArray[np.float64]:
    user: Any = problem.user
    out = np.zeros((GRID.size, columns(user.space.bins, problem.arms)))
    play(
        policy, user, Leaser(), coaster_for(user), problem.coins, problem.values.prices,
        user.space.bins, SEED, 0, GRID, False, NEVER, np.zeros(2, np.int64), out,
    )  # fmt: skip
    return out


def _user_faults(user: User) -> Iterator[str]:
    name = type(user).__name__
    whole = user.space.states is not None
    states = np.arange(float(user.space.states or 0)) if whole else np.linspace(0.0, 1.0, 101)
    begun = [float(user.begin(u)) for u in (0.0, 0.25, 0.5, 0.75, 0.999999)]
    wrong = [fault for s in (*states, *begun) for fault in _state_faults(name, user, float(s))]
    yield from list(dict.fromkeys(wrong))[:FAULTS]


def _state_faults(name: str, user: User, state: float) -> Iterator[str]:
    seen = user.experience(state)
    if not 0.0 <= seen <= 1.0:
        yield f"{name}.experience({state:g}) returned {seen!r}: it must be a number from 0 to 1"
    for reward in REWARDS:
        for arm in range(user.space.arms or 1):
            leave = user.leave_probability(state, reward, arm)
            if not 0.0 <= leave <= 1.0:
                asked = f"{name}.leave_probability({state:g}, {reward:g}, {arm})"
                yield f"{asked} returned {leave!r}: it must be a number from 0 to 1"
        for after, chance in next_states(user, state, reward):
            if user.space.states is None:
                good, which = -1e-12 <= after <= 1.0 + 1e-12, "a number from 0 to 1"
            else:
                good = after == int(after) and 0 <= after < user.space.states
                which = f"a state from 0 to {user.space.states - 1}"
            if not good or not 0.0 <= chance <= 1.0:
                asked = f"{name}.next_state({state:g}, {reward:g})"
                yield f"{asked} returned {after!r}: it must be {which}"


def _same_faults(user: User) -> Iterator[str]:
    """Check that it behaves compiled as interpreted."""
    means = np.resize(MEANS, user.space.arms or len(MEANS)).tolist()
    problem, policy = Problem(means, user), Uniform()
    if not np.array_equal(_chunk(problem, policy, leases=False)[0], _interpreted(problem, policy)):
        name = type(user).__name__
        yield f"{name} behaves differently when compiled: whole numbers arrive as floats there"


def _value_faults(value: Any) -> Iterator[str]:
    """Required of both: frozen dataclasses that can be pickled and hashed."""
    cls = type(value)
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if not frozen or cls.__dict__.get("__dataclass_params__") is None:
        yield f"{cls.__name__} must be decorated with @dataclass(frozen=True)"
    tries: dict[str, Callable[[], Any]] = {
        "pickled": lambda: pickle.dumps(value),
        "hashed": lambda: hash(value),
    }
    for what, attempt in tries.items():
        try:
            attempt()
        except Exception as error:
            yield f"{cls.__name__} cannot be {what}: {error}"
    try:
        check_randomness(cls)  # type: ignore[arg-type]
    except InputError as error:
        yield str(error)

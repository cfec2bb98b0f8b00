"""A policy's methods compiled one call at a time, and what it learns when.

In the simulator a step is told to a policy at once: arm, reward, and whether the user left. Live,
the reward comes first, and only the next request or a timeout shows whether the user stayed. So a
step is told in two parts, each exactly once: it is counted when it is resolved, and followed up
(`Calls.follow`) when it is known what the user did next. Where nothing happens in between, the two
together are `Policy.update`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from numba import typeof

from ..policies.base import Policy
from ..policies.index import Index
from ..policies.learned import Learned
from ..policies.mixture import EpsilonMixture
from .jit import kernel, package_digest
from .streams import policy_stream


class Calls(NamedTuple):
    """The functions of one policy.

    choose(policy, memory, state, rng) -> arm
    chances(policy, memory, state) -> the probability of every arm, or nothing
    follow(pupil, memory, state, arm, reward, left, after)
    think(pupil, memory)

    The pupil is the one who learns: see `pupil_of`. An index policy has no `chances`: they are 1,
    or shares of a tie. `counts` says that a step is to be counted when it is resolved; else all of
    it is learned by `follow`. `think` is for those who draw conclusions from time to time.
    """

    choose: Callable[..., Any]
    chances: Callable[..., Any] | None
    counts: bool
    follow: Callable[..., Any] | None = None
    think: Callable[..., Any] | None = None


def pupil_of(policy: Policy) -> Policy:
    """The policy that learns: itself, or the one within a mixture.

    >>> from sojourn import EpsilonMixture, LearnedIMED
    >>> pupil_of(EpsilonMixture(LearnedIMED())).name
    'LearnedIMED'
    """
    return pupil_of(policy.policy) if isinstance(policy, EpsilonMixture) else policy


def calls_for(policy: Policy, compiled: bool) -> Calls:
    """The functions of a policy; if compiled, then now, so that no call has to wait for it."""
    made, pupil = _build(package_digest()), pupil_of(policy)
    memory, state, reward, arm = policy.memory(2), 1.0, 1.0, 0

    def ready(name: str, policy: Policy, *arguments: Any) -> Callable[..., Any]:
        if not compiled:
            return made[name]
        function: Any = kernel(made[name], policy)
        function.compile(tuple(typeof(value) for value in (policy, memory, *arguments)))
        return function  # type: ignore[no-any-return]

    choose = ready("choose", policy, state, policy_stream(0, 0))
    chances = None if isinstance(policy, Index) else ready("chances", policy, state)
    if isinstance(pupil, Learned):
        think = ready("think", pupil)
        return Calls(choose, chances, True, partial(_watch, think), think)
    if type(pupil).update is Policy.update:
        return Calls(choose, chances, True)
    return Calls(choose, chances, False, ready("update", pupil, state, arm, reward, True, state))


def _watch(
    think: Callable[..., Any],
    pupil: Learned,
    memory: Any,
    state: float,
    arm: int,
    reward: float,
    left: bool,
    after: float,
) -> None:
    """Not compiled: to hand a memory to compiled code takes longer than a few additions."""
    pupil.watch(memory, state, reward, left, after)
    if pupil.patience(memory) <= 0.0:
        think(pupil, memory)


def _build(digest: str) -> dict[str, Callable[..., Any]]:
    def choose(policy: Any, memory: Any, state: float, rng: Any) -> int:
        _ = digest
        return policy.choose(memory, state, rng)  # type: ignore[no-any-return]

    def chances(policy: Any, memory: Any, state: float) -> Any:
        _ = digest
        return policy.probabilities(memory, state)

    def think(policy: Any, memory: Any) -> None:
        _ = digest
        policy.tell(memory, 0, 0, 0.0)

    def update(
        policy: Any,
        memory: Any,
        state: float,
        arm: int,
        reward: float,
        left: bool,
        after: float,
    ) -> None:
        _ = digest
        policy.update(memory, state, arm, reward, left, after)

    return {function.__name__: function for function in (choose, chances, think, update)}

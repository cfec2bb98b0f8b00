"""A policy's methods compiled one call at a time, and what it learns when.

In the simulator a step is told to a policy at once: arm, reward, and whether the user left. Live,
the reward comes first, and only the next request or a timeout shows whether the user stayed. So a
step is told in two parts, each exactly once: `count` when it is resolved, `follow` when it is known
what the user did next. Where nothing happens in between, the two together are `Policy.update`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..jit import kernel, package_digest
from .base import Policy
from .base import count as add
from .index import Index
from .learned import Learned
from .mixture import EpsilonMixture


class Calls(NamedTuple):
    """The functions of one policy.

    choose(policy, memory, state, rng) -> arm
    chances(policy, memory, state) -> the probability of every arm, or nothing
    count(pupil, memory, arm, reward)
    follow(pupil, memory, state, arm, reward, left, after)

    The pupil is the one who learns: see `pupil_of`.
    """

    choose: Callable[..., Any]
    chances: Callable[..., Any] | None  # an index policy has nothing to tell: 1, or a tie
    count: Callable[..., Any]
    follow: Callable[..., Any]
    counts: bool  # whether `count` does something: else all is learned by `follow`


def pupil_of(policy: Policy) -> Policy:
    """The policy that learns: itself, or the one within a mixture.

    >>> from sojourn import EpsilonMixture, LearnedIMED
    >>> pupil_of(EpsilonMixture(LearnedIMED())).name
    'LearnedIMED'
    """
    return pupil_of(policy.policy) if isinstance(policy, EpsilonMixture) else policy


def calls_for(policy: Policy, compiled: bool) -> Calls:
    """The functions of a policy, compiled or not."""
    made = _build(package_digest())
    pupil = pupil_of(policy)
    if isinstance(pupil, Learned):
        count, follow = "count", "watch"
    elif type(pupil).update is Policy.update:
        count, follow = "count", "nothing_more"
    else:
        count, follow = "nothing_yet", "update"

    def ready(name: str, policy: Policy) -> Callable[..., Any]:
        function = made[name]
        idle = name.startswith("nothing")
        return kernel(function, policy) if compiled and not idle else function

    return Calls(
        ready("choose", policy),
        None if isinstance(policy, Index) else ready("chances", policy),
        ready(count, pupil),
        ready(follow, pupil),
        count == "count",
    )


def _build(digest: str) -> dict[str, Callable[..., Any]]:
    def choose(policy: Any, memory: Any, state: float, rng: Any) -> int:
        _ = digest
        return policy.choose(memory, state, rng)  # type: ignore[no-any-return]

    def chances(policy: Any, memory: Any, state: float) -> Any:
        _ = digest
        return policy.probabilities(memory, state)

    def count(policy: Any, memory: Any, arm: int, reward: float) -> None:
        _ = digest
        add(memory, arm, 1, reward)

    def watch(
        policy: Any,
        memory: Any,
        state: float,
        arm: int,
        reward: float,
        left: bool,
        after: float,
    ) -> None:
        _ = digest
        policy.watch(memory, state, reward, left, after)
        policy.tell(memory, arm, 0, 0.0)  # counted before; time to think again, perhaps

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

    def nothing_yet(policy: Any, memory: Any, arm: int, reward: float) -> None:
        pass

    def nothing_more(*arguments: Any) -> None:
        pass

    made = (choose, chances, count, watch, update, nothing_yet, nothing_more)
    return {function.__name__: function for function in made}

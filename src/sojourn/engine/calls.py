"""A policy's methods compiled one call at a time, and what it learns when.

In the simulator a step is told to a policy at once: arm, reward, and whether the user left. Live,
the reward comes first, and only the next request or a timeout shows whether the user stayed. So a
step is told in two parts, each exactly once: it is counted when it is resolved, and followed up
when it is known what the user did next. Where nothing happens in between, the two together are
`Policy.update`.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Any, Literal, NamedTuple

from ..policies.base import Counting, Forgetting, Policy
from ..policies.index import Index
from ..policies.learned import Watcher
from ..policies.wrapper import EpsilonMixture, base_policy
from .background import compile_later
from .disk_cache import NotKept
from .loops import Loop, call
from .streams import policy_stream
from .unmanaged import keep_alive, unmanaged

Mode = Literal["compiled", "compiling", "interpreted"]

log = logging.getLogger("sojourn.engine")


class Calls(NamedTuple):
    """The functions of one policy.

    choose(policy, memory, state, rng) -> arm
    chances(policy, memory, state) -> the probability of every arm, or nothing
    follow(learner, memory, state, arm, reward, left, after)
    think(learner, memory)
    among(policy, memory), of some arms only: draw the conclusions as if there were no others

    The policy is the one that decides: of an `EpsilonMixture` the inner one. The caller knows the
    arms, and draws any of them with chance `share`. The learner is the policy that learns
    (`base_policy`). An index policy has no `chances`: they are 1, or shares of a tie. With `counts`
    a step is counted when it is resolved; otherwise all of it is learned by `follow`. `think` is
    for policies that draw conclusions from time to time, and `among` for those whose conclusions
    about an arm depend on the others.
    """

    policy: Policy
    share: float
    choose: Callable[..., Any]
    chances: Callable[..., Any] | None
    counts: bool
    follow: Callable[..., Any] | None = None
    think: Callable[..., Any] | None = None
    among: Callable[..., Any] | None = None


class Runner:
    """The calls of a policy: interpreted until their compiled code is there; decisions are equal.

    Code that is on disk is loaded at once; else a child process compiles it, and `calls` change
    when it is done. Unless `compiled`, they stay interpreted until `compile` is called.
    """

    def __init__(self, policy: Policy, compiled: bool) -> None:
        self.policy, self.calls = policy, calls_for(policy, compiled=False)
        self.mode: Mode = "interpreted"
        if compiled:
            try:
                self.compile(only_kept=True)
            except NotKept:
                self.mode = "compiling"
                key = calls_for, str(policy._numba_type_)
                compile_later(key, calls_for, policy, True).add_done_callback(self._switch)

    def compile(self, *, only_kept: bool = False) -> None:
        """Use compiled code from now on; it may take a minute to make it, in this process."""
        self.calls = calls_for(self.policy, compiled=True, only_kept=only_kept)
        self.mode = "compiled"

    def _switch(self, done: Future[str]) -> None:
        why = done.result()
        try:
            if not why:
                self.compile(only_kept=True)
        except NotKept:
            why = "compiled code cannot be kept: set NUMBA_CACHE_DIR to a folder for it"
        if self.mode == "compiling":
            self.mode = "interpreted"
            _say_once(type(self.policy).__name__, why)


@cache
def _say_once(policy: str, why: str) -> None:
    log.warning("%s stays interpreted until compile() is called: %s", policy, why)


def calls_for(policy: Policy, compiled: bool, *, only_kept: bool = False) -> Calls:
    """The functions of a policy; if compiled, then now, so that no call has to wait for it.

    With `only_kept` it raises `NotKept` instead of compiling.
    """
    learner, memory, state, reward, arm = base_policy(policy), policy.memory(2), 1.0, 1.0, 0
    share = 0.0
    if isinstance(policy, EpsilonMixture):
        share, policy = policy.epsilon, policy.policy

    def ready(function: Loop[..., Any], policy: Any, *more: Any) -> Callable[..., Any]:
        make = function.kept if only_kept else function.compiled
        made: Callable[..., Any] = make(policy, memory, *more) if compiled else function.plain
        return made

    choose = ready(_choose, policy, state, policy_stream(0, 0))
    sure = isinstance(policy, Index) and type(policy).probabilities is Index.probabilities
    chances = None if sure and not share else ready(_chances, policy, state)
    decides = policy, share, choose, chances
    kind = type(learner)
    if getattr(kind, "keep", Forgetting.keep) is Forgetting.keep or kind.counters:
        if isinstance(learner, Watcher) and kind.watch_many is Watcher.watch_many:
            among = ready(_among, policy) if hasattr(policy, "among") else None
            return Calls(*decides, True, think=ready(_think, learner), among=among)
        if kind.update in (Policy.update, Counting.update):
            return Calls(*decides, True)
    return Calls(*decides, False, ready(_update, learner, state, arm, reward, True, state))


@call
def _choose(policy: Any, memory: Any, state: float, rng: Any) -> int:
    arm = policy.choose(unmanaged(memory), state, rng)
    keep_alive(memory)
    return arm  # type: ignore[no-any-return]


@call
def _chances(policy: Any, memory: Any, state: float) -> Any:
    chances = 1.0 * policy.probabilities(unmanaged(memory), state)  # an array of its own
    keep_alive(memory)
    return chances


@call
def _think(policy: Any, memory: Any) -> None:
    policy.tell(unmanaged(memory), 0, 0, 0.0)
    keep_alive(memory)


@call
def _among(policy: Any, memory: Any) -> None:
    policy.among(unmanaged(memory))
    keep_alive(memory)


@call
def _update(
    policy: Any, memory: Any, state: float, arm: int, reward: float, left: bool, after: float
) -> None:
    policy.update(memory, state, arm, reward, left, after)

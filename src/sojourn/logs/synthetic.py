"""Synthetic logs with true propensities, to check estimators against.

The visits are those of the simulator, played in its loop: with users who are all alike, the log of
(seed, run) is step by step what `simulate` plays in that run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..engine.kernel import columns
from ..engine.rewards import coin
from ..engine.streams import Stream
from ..engine.structs import Compiled
from ..engine.unmanaged import merged
from ..policies import Policy
from ..policies.wrapper import Wrapper
from ..policy_names import policy_of
from ..problem import Problem
from ..problem_files import problem_of
from ..simulation.chunks import Stage, play_stages
from ..stats.moments import Array
from ..validation import InputError

Log = dict[str, NDArray[Any]]

NO_LIMIT = 2**62
ROOM = 1.25
"""Rows to begin with, as a multiple of the steps that are expected under the best rule."""


class Rows(NamedTuple):
    """A row for each step, as far as there is room; `logged` says how many steps there are."""

    logged: NDArray[np.int64]
    logged_arm: NDArray[np.int64]
    logged_chance: Array
    logged_state: Array
    logged_reward: Array
    logged_over: NDArray[np.int8]


@dataclass(frozen=True)
class Recorder(Wrapper):
    """A policy that writes down what it sees and does, and the probability of each choice."""

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        chances = self.policy.probabilities(memory, state)
        arm = self.policy.choose(memory, state, rng)
        row = memory.logged[0]
        if row < memory.logged_arm.size and 0 <= arm < chances.size:
            memory.logged_arm[row], memory.logged_state[row] = arm, state
            memory.logged_chance[row] = chances[arm]
        return arm

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.update(memory, state, arm, reward, left, next_state)
        row = memory.logged[0]
        if row < memory.logged_arm.size:
            memory.logged_reward[row], memory.logged_over[row] = reward, left
        memory.logged[0] = row + 1


@dataclass(frozen=True, eq=False)
class OwnRewards(Compiled):
    """Rewards of users who come in turn, in visits that are cut off after `max_steps` steps."""

    means: Array
    rewards: Any
    """`Coins` or `Grades`."""
    own: Array
    """Means by [user, arm]; a single row if all users are alike."""
    max_steps: float
    clock: NDArray[np.int64]
    """The current visit, from 0, and the steps in it so far."""

    def nothing(self) -> NDArray[Any]:
        return self.rewards.nothing()  # type: ignore[no-any-return]

    def counted(self, reward: float) -> float:
        return self.rewards.counted(reward)  # type: ignore[no-any-return]

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        """The outcome for the user of this visit by u: reward, whether it is over, next state."""
        if self.own.shape[0] > 1:
            mean = self.own[self.clock[0] % self.own.shape[0], arm]
            reward, left, after = coin(user, mean, arm, state, u)
        else:
            reward, left, after = self.rewards.outcome(user, arm, state, u)
        self.clock[1] += 1
        over = left or self.clock[1] == self.max_steps
        if over:
            self.clock[0] += 1
            self.clock[1] = 0
        return reward, over, after


def synthetic_log(
    problem: Problem | str | Path,
    policy: Policy | str,
    *,
    visits: int,
    seed: int = 0,
    run: int = 0,
    max_steps: int | None = None,
    users: int | None = None,
    spread: float = 0.0,
) -> Log:
    """The log of `policy` learning from `visits` visits: a row per step, as arrays by column.

    Columns: user, visit (from 0), step (from 1 in each visit), arm, reward, left (the user left
    after this step), censored (the log stops here, but the user did not leave), propensity (the
    chance that this arm had when it was chosen) and state (what the policy saw).

    A visit is censored after `max_steps` steps: the log does not say whether the user left then,
    and to the policy the visit is over. The visits are those of `users` users in turn (of as
    many as there are visits, unless said otherwise). Users differ by `spread`: the logit of all
    means is shifted by a normal deviate of that size, one for each user. Graded rewards have no
    spread.

    >>> import sojourn as sj
    >>> mixed = sj.policies.EpsilonMixture(sj.policies.KLULCB(), epsilon=0.2)
    >>> log = synthetic_log("C", mixed, visits=2, seed=2)
    >>> log["visit"].tolist(), log["left"].tolist()
    ([0, 0, 1, 1, 1], [0, 1, 0, 0, 1])
    >>> log["arm"].tolist(), log["propensity"].tolist()
    ([0, 1, 0, 0, 0], [0.9, 0.9, 0.5, 0.9, 0.9])
    """
    problem = problem_of(problem)
    policy = policy_of(policy, problem)
    visits = validation.whole("visits", visits, 1)
    users = visits if users is None else validation.whole("users", users, 1)
    max_steps = NO_LIMIT if max_steps is None else validation.whole("max_steps", max_steps, 1)
    spread = validation.number("spread", spread, 0, float("inf"))
    seed, run = validation.whole("seed", seed, 0, 2**63 - 1), validation.whole("run", run, 0, 2**62)
    if policy.probabilities(policy.memory(problem.arms), 1.0).size == 0:
        raise InputError(f"policy = {policy!r} is not allowed: it must know its probabilities")
    shift = np.zeros(1)
    if spread > 0.0:
        if problem.graded:
            raise InputError(
                f"spread = {spread!r} is not allowed: it is a shift of the logit of means of "
                "rewards 0 and 1, and these rewards are graded; it must be 0"
            )
        shift = spread * np.random.default_rng([seed, run]).standard_normal(users)
    room = min(int(ROOM * problem.expected_steps(visits)) + 1_000, visits * max_steps)
    rows = _record(problem, policy, shift, seed, run, visits, max_steps, room)
    if (steps := int(rows.logged[0])) > room:
        rows = _record(problem, policy, shift, seed, run, visits, max_steps, steps)
    return _columns(problem, rows, steps, users, max_steps)


def _record(
    problem: Problem, policy: Policy, shift: Array, seed: int, run: int, visits: int,
    max_steps: int, room: int,
) -> Rows:  # fmt: skip
    """Play the visits; of all steps as many as there is room for are written down."""
    clock = np.zeros(2, np.int64)
    stages = []
    for after, own in problem.phases:
        means = np.array(own.means)
        odds = np.exp(shift)[:, None] * means
        rewards = OwnRewards(means, own.coins, odds / (1.0 - means + odds), max_steps, clock)
        stages.append(Stage(after, own.user, rewards, own.values.prices))
    rows = Rows(
        np.zeros(1, np.int64), np.zeros(room, np.int64), np.zeros(room), np.zeros(room),
        np.zeros(room), np.zeros(room, np.int8),
    )  # fmt: skip
    play_stages(
        stages, Recorder(policy), seed, run, np.array([visits]),
        np.zeros((1, columns(problem.user.space.bins, problem.arms))),
        memory=merged(policy.memory(problem.arms), rows),
    )  # fmt: skip
    return rows


def _columns(problem: Problem, rows: Rows, steps: int, users: int, max_steps: int) -> Log:
    over = rows.logged_over[:steps] == 1
    visit = np.cumsum(over) - over
    begins = np.flatnonzero(np.append(True, over[:-1]))
    step = np.arange(over.size) - begins[visit] + 1
    censored = step == max_steps
    reward = rows.logged_reward[:steps]
    return {
        "user": visit % users,
        "visit": visit,
        "step": step,
        "arm": rows.logged_arm[:steps].copy(),
        "reward": reward.copy() if problem.graded else reward.astype(np.int8),
        "left": (over & ~censored).astype(np.int8),
        "censored": censored.astype(np.int8),
        "propensity": rows.logged_chance[:steps].copy(),
        "state": rows.logged_state[:steps].copy(),
    }

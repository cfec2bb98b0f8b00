"""Synthetic logs with true propensities, to check estimators against.

The visits are those of the simulator: with users who are all alike, the log of (seed, run) is
step by step what `simulate` plays in that run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..engine.loops import jitable, loop
from ..engine.rewards import Coins, Grades, coin
from ..engine.streams import FIRST_ARM, STARTS, draw, policy_stream, stream_key
from ..engine.structs import Compiled
from ..policies import Policy
from ..policy_names import policy_of
from ..problem import Problem
from ..problem_files import problem_of
from ..validation import InputError

Log = dict[str, NDArray[Any]]

NO_HORIZON = 2**62
VISIT, STEP, ARM, LEFT, CUT = range(5)
CHANCE, STATE, REWARD = range(3)


@dataclass(frozen=True, eq=False)
class OwnCoins(Compiled):
    """Arms with rewards of 0 and 1, and a row of means for each person."""

    means: NDArray[np.float64]

    def for_person(
        self, person: int, user: Any, arm: int, state: float, u: float
    ) -> tuple[float, bool, float]:
        """What u decides for a person; they come in turn."""
        return coin(user, self.means[person % self.means.shape[0], arm], arm, state, u)


@dataclass(frozen=True, eq=False)
class SameGrades(Compiled):
    """Arms with graded rewards, the same for all."""

    rewards: Grades

    def for_person(
        self, person: int, user: Any, arm: int, state: float, u: float
    ) -> tuple[float, bool, float]:
        return self.rewards.outcome(user, arm, state, u)


def synthetic_log(
    problem: Problem | str | Path,
    policy: Policy | str,
    *,
    visits: int,
    seed: int = 0,
    run: int = 0,
    horizon: int | None = None,
    users: int | None = None,
    spread: float = 0.0,
) -> Log:
    """The log of `policy` learning from `visits` visits: a row per step, as arrays by column.

    Columns: user, visit (from 0), step (from 1 in each visit), arm, reward, left (the user left
    after this step), censored (the log stops here, but the user did not leave), propensity (the
    chance that this arm had when it was chosen) and state (what the policy saw).

    After `horizon` steps a visit is censored: the log does not say whether the user left then, and
    to the policy the visit is over. The visits are those of `users` users in turn (of as
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
    horizon = NO_HORIZON if horizon is None else validation.whole("horizon", horizon, 1)
    spread = validation.number("spread", spread, 0, float("inf"))
    seed, run = validation.whole("seed", seed, 0, 2**63 - 1), validation.whole("run", run, 0, 2**62)
    if policy.probabilities(policy.memory(problem.arms), 1.0).size == 0:
        raise InputError(f"policy = {policy!r} is not allowed: it must know its probabilities")
    world = _people(problem, users, spread, seed, run)
    numbers, chances = write_log(
        policy, problem.user, world, problem.arms, seed, run, visits, horizon
    )
    reward = chances[:, REWARD].copy()
    return {
        "user": numbers[:, VISIT] % users,
        "visit": numbers[:, VISIT].copy(),
        "step": numbers[:, STEP].copy(),
        "arm": numbers[:, ARM].copy(),
        "reward": reward if problem.graded else reward.astype(np.int8),
        "left": numbers[:, LEFT].astype(np.int8),
        "censored": numbers[:, CUT].astype(np.int8),
        "propensity": chances[:, CHANCE].copy(),
        "state": chances[:, STATE].copy(),
    }


def _people(
    problem: Problem, users: int, spread: float, seed: int, run: int
) -> OwnCoins | SameGrades:
    """What arms give, with a row of means for each user, or one row for all."""
    if not isinstance(problem.coins, Coins):
        if spread > 0.0:
            raise InputError(
                f"spread = {spread!r} is not allowed: it is a shift of the logit of means of "
                "rewards 0 and 1, and these rewards are graded; it must be 0"
            )
        return SameGrades(problem.coins)
    means = np.array([problem.means])
    if spread == 0.0:
        return OwnCoins(means)
    shift = spread * np.random.default_rng([seed, run]).standard_normal(users)
    odds = np.exp(shift)[:, None] * means
    return OwnCoins(odds / (1.0 - means + odds))


@jitable
def longer(rows: NDArray[Any]) -> NDArray[Any]:
    """The same rows with room for as many more."""
    more = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    more[: rows.shape[0]] = rows
    return more


@loop
def write_log(
    policy: Any, user: Any, world: Any, arms: int, seed: int, run: int, visits: int, horizon: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One run: whole numbers and, apart, propensities, states and rewards."""
    memory, rng = policy.memory(arms), policy_stream(seed, run)
    starts, pulled = np.uint64(stream_key(seed, run, STARTS)), np.zeros(arms, np.int64)
    numbers, chances = np.empty((1024, 5), np.int64), np.empty((1024, 3), np.float64)
    row = 0
    for visit in range(visits):
        state = user.begin(draw(starts, visit + 1))
        step, over = 0, False
        while not over:
            if row == numbers.shape[0]:
                numbers, chances = longer(numbers), longer(chances)
            before = user.experience(state)
            chance = policy.probabilities(memory, before)
            arm = policy.choose(memory, before, rng)
            pulled[arm] += 1
            own = np.uint64(stream_key(seed, run, FIRST_ARM + np.uint64(arm)))
            u = draw(own, pulled[arm])
            reward, left, state = world.for_person(visit, user, arm, state, u)
            step += 1
            cut = step == horizon
            over = left or cut
            policy.update(memory, before, arm, reward, over, user.experience(state))
            numbers[row, VISIT], numbers[row, STEP], numbers[row, ARM] = visit, step, arm
            numbers[row, LEFT], numbers[row, CUT] = int(left and not cut), int(cut)
            chances[row, CHANCE], chances[row, STATE] = chance[arm], before
            chances[row, REWARD] = reward
            row += 1
    return numbers[:row], chances[:row]

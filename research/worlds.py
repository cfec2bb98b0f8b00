"""Problems with means that depend on the state, graded rewards or hundreds of arms."""

from functools import cache
from math import log
from typing import Any

import numpy as np

from sojourn.problem import Problem
from sojourn.problem_files import SETTINGS
from sojourn.rewards import Beta
from sojourn.users import Levels, TwoState

LONGEST, SHORTEST = 60.0, 1.5
"""Mean steps of visits of problems drawn at random."""

LEAST_Q, APART = 0.01, 0.05
"""The least chance to leave; and how much better the best arm of a state is than the next."""

SAME_ORDER = ((0.45, 0.8), (0.35, 0.7), (0.25, 0.6))
CROSSING = ((0.3, 0.8), (0.4, 0.6), (0.25, 0.6))
"""Means of three arms by state, 0 and 1."""

MOST_ARMS = 5
EDGES = (0.1, 0.9)
CONCENTRATIONS = (2.0, 50.0)


def by_state(means: tuple[tuple[float, ...], ...], q: tuple[float, ...]) -> Problem:
    """Rewards that depend on the state of the user."""
    rows: Any = [list(row) for row in means]
    return Problem(rows, TwoState(*q))


def leaving(rng: np.random.Generator) -> TwoState:
    """Chances to leave, uniform on a logarithmic scale."""
    return TwoState(*np.exp(rng.uniform(np.log(LEAST_Q), 0.0, 4)).tolist())


@cache
def random_by_state(crossing: bool, draws: int, seed: int) -> tuple[Problem, ...]:
    """Two to five arms whose means depend on the state.

    If `crossing`, every mean is uniform from 0.1 to 0.9; else a state adds the same to all arms.
    The best arm of a state is better by 0.05 or more, and the optimum plays it there.

    >>> problem = random_by_state(True, 1, 0)[0]
    >>> problem.rule(0) != problem.rule(1), problem == random_by_state(True, 1, 0)[0]
    (True, True)
    """
    rng, found = np.random.default_rng([seed, int(crossing)]), list[Problem]()
    while len(found) < draws:
        arms = int(rng.integers(2, MOST_ARMS + 1))
        means = rng.uniform(*EDGES, (arms, 2))
        if not crossing:
            means[:, 1] = means[:, 0] + rng.uniform(-0.5, 0.5)
        top = np.sort(means, axis=0)
        inside = EDGES[0] <= means.min() and means.max() <= EDGES[1]
        if not inside or (top[-1] - top[-2]).min() < APART:
            continue
        problem = Problem(means.tolist(), leaving(rng))
        rules, best = [problem.rule(0), problem.rule(1)], means.argmax(axis=0).tolist()
        as_asked = rules == best and (best[0] != best[1]) == crossing
        if as_asked and SHORTEST <= problem.length.mean <= LONGEST:
            found.append(problem)
    return tuple(found)


@cache
def random_graded(draws: int, seed: int) -> tuple[Problem, ...]:
    """Two to five arms with Beta rewards, of which half or more of the whole is good.

    Means are uniform from 0.1 to 0.9, and the two parameters together log-uniform from 2 to 50.

    >>> problem = random_graded(1, 0)[0]
    >>> problem.graded, problem == random_graded(1, 0)[0]
    (True, True)
    """
    rng, found = np.random.default_rng(seed), list[Problem]()
    while len(found) < draws:
        means = rng.uniform(*EDGES, int(rng.integers(2, MOST_ARMS + 1)))
        sizes = np.exp(rng.uniform(log(CONCENTRATIONS[0]), log(CONCENTRATIONS[1]), means.size))
        rewards = [Beta(m * c, (1.0 - m) * c) for m, c in zip(means, sizes, strict=True)]
        problem = Problem(rewards=rewards, user=Levels(leaving(rng), thresholds=(0.5,)))
        top = np.sort(means)
        best = int(means.argmax())
        as_asked = top[-1] - top[-2] >= APART and problem.rule(0) == problem.rule(1) == best
        if as_asked and SHORTEST <= problem.length.mean <= LONGEST:
            found.append(problem)
    return tuple(found)


def catalogue(arms: int, one: float, other: float, seed: int) -> Problem:
    """Arms with means from a Beta distribution; users of setting B.

    >>> catalogue(500, 2, 5, 0).arms
    500
    """
    rng = np.random.default_rng([seed, arms, round(one), round(other)])
    return Problem(rng.beta(one, other, arms).tolist(), SETTINGS["B"].user)

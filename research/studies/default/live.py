"""What is measured on memories as the live half makes them: arms that are added, and times."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import race
from sojourn.live import Settings
from sojourn.live.learner import BY_ARM, BY_BIN, Learner
from sojourn.live.records import Arm, Counts
from sojourn.paper.trials import Trial
from sojourn.policies import Policy
from sojourn.problem import Problem
from sojourn.simulation.chunks import Stage, chunk, play_stages
from sojourn.stats.moments import Array

from ...worlds import catalogue
from .singles import Numbers

AFTER = 200
"""Visits after arms were added, and as many before."""

OTHER_PEOPLE = 1_000_000
"""Added to the number of a run: who comes after arms were added is somebody else."""


def counted(memory: Any) -> Counts:
    """What a store would have counted of a memory that is a fold of counters."""
    found: Counts = {}
    for what, names in BY_ARM.items():
        held = [getattr(memory, name) for name in names if hasattr(memory, name)]
        for array in held[-1:]:  # the most detailed one
            for at in zip(*np.nonzero(array[: memory.pulls.size]), strict=True):
                found[(what, *(int(i) for i in (*at, 0, 0)[:3]))] = float(array[at])  # type: ignore[index]
    for what in BY_BIN:
        if (array := getattr(memory, what, None)) is not None:
            for at in zip(*np.nonzero(array), strict=True):
                found[(what, *(int(i) for i in at))] = float(array[at])  # type: ignore[index]
    return found


def with_arms(policy: Policy, counts: Counts, arms: int) -> Learner:
    """A learner of so many arms that was told these counts, as after a change of arms."""
    learner = Learner(Settings(policy=policy), seed=0)
    learner.runner.compile()
    learner.forget([Arm(i, str(i)) for i in range(arms)])
    learner.absorb(counts)
    learner.conclude()
    return learner


def lost(problem: Problem, policy: Policy, memory: Any, seed: int, run: int, grid: Any) -> Array:
    """Regret at these numbers of visits, of a policy that goes on with this memory."""
    user = problem.user
    stage = Stage(0, user, problem.coins, problem.values.prices)
    rows = np.zeros((len(grid), 3 + user.space.bins * (1 + problem.arms)))
    play_stages([stage], policy, seed, run, np.array(grid), rows, memory=memory)
    return rows[:, 0]


@dataclass(frozen=True)
class AddedTrial(Trial):
    """Reward per visit before and after arms were added: of `total` arms the first `old` run."""

    old: int = 0
    total: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{label}: {when}" for label in self.policies for when in ("before", "after"))

    def run(self, *, quick: bool, **how: Any) -> Any:
        whole = self.make()
        few = Problem(whole.means[: self.old], whole.user)
        runs = self.quick if quick else self.runs
        values = np.array(
            [
                [x for policy in self.build(whole)
                 for x in self._before_and_after(few, whole, policy, how["seed"], run)]
                for run in range(runs)
            ]
        )  # fmt: skip
        return Numbers(whole, runs, values.mean(axis=0), np.cov(values.T) / runs)

    def _before_and_after(
        self, few: Problem, whole: Problem, policy: Policy, seed: int, run: int
    ) -> tuple[float, float]:
        memory = policy.memory(self.old)
        path = lost(few, policy, memory, seed, run, [self.visits - AFTER, self.visits])
        learner = with_arms(policy, counted(memory), self.total)
        more = lost(whole, policy, learner.memory, seed, run + OTHER_PEOPLE, [AFTER])
        before = few.value() - (path[1] - path[0]) / AFTER
        return float(before), float(whole.value() - more[0] / AFTER)


@dataclass(frozen=True)
class TimedTrial(Trial):
    """Nanoseconds of what `jobs` makes of the policies, the best of `runs` rounds in turns."""

    jobs: Callable[[Problem, Policy], Callable[[], float]] = lambda problem, policy: float

    def run(self, *, quick: bool, **how: Any) -> Any:
        problem, rounds = self.make(), self.quick if quick else self.runs
        made = zip(self.labels, self.build(problem), strict=True)
        jobs = {label: self.jobs(problem, policy) for label, policy in made}
        for work in jobs.values():
            work()  # compiled now
        best = race(jobs, rounds, patience=20.0)
        size = len(best)
        return Numbers(problem, rounds, np.array(list(best.values())), np.zeros((size, size)))


def simulating(visits: int) -> Callable[[Problem, Policy], Callable[[], float]]:
    """Plays so many visits, in one run after another."""

    def job(problem: Problem, policy: Policy) -> Callable[[], float]:
        def work() -> float:
            rows = chunk(problem, policy, 0, 0, RUNS, np.array([visits]))
            return float(rows[:, 0, 2].sum())

        return work

    return job


RUNS = 20
"""Of a timed simulation."""


def deciding(arms: int, decisions: int) -> Callable[[Problem, Policy], Callable[[], float]]:
    """Decides so often for people in either state, as a server does for each step."""

    def job(problem: Problem, policy: Policy) -> Callable[[], float]:
        learner = with_arms(policy, usual_counts(problem), arms)

        def work() -> float:
            for step in range(decisions):
                learner.choose(float(step % 2), 2)
            return float(decisions)

        return work

    return job


def usual_counts(problem: Problem, most: int = 100) -> Counts:
    """Counters of arms that were shown up to so often in either state: seen, moved and left."""
    rng, found = np.random.default_rng(0), Counts()
    moves = np.zeros((4, 2, 4))
    user: Any = problem.user
    for arm, mean in enumerate(problem.means):
        for state, b in ((0, 0), (1, 3)):
            n = int(rng.integers(1, most))
            good = int(rng.binomial(n, mean))
            for level, steps in ((0, n - good), (1, good)):
                away = int(rng.binomial(steps, user.leave_probability(state, level, arm)))
                found["seen", arm, b, level] = float(steps)
                found["left", arm, b, level] = float(away)
                moves[b, level, 3 * level] += steps
            for what, count in (("pulls", n), ("successes", good)):
                found[what, arm, b, 0] = float(count)
    found |= {("moves", *map(int, at)): float(moves[at]) for at in np.ndindex(moves.shape)}  # type: ignore[misc]
    return found


ten_thousand = partial(catalogue, 10_000, 2, 5, 0)

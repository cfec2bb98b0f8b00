"""The default policy live: its memory is the log's, propensities are exact, goals are reachable."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import sqrt

import numpy as np
import postgres
import pytest

import sojourn as sj
from sojourn.live import Ask, Conflict, Ended, Experiment, Journal, Settings, verify
from sojourn.live.learner import COUNTERS, Learner
from sojourn.live.records import Arm
from sojourn.policies import DEFAULT, EpsilonMixture

numbers = itertools.count()
MEANS = {"a": 0.9, "b": 0.6, "c": 0.5, "d": 0.4}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    return postgres.database(server, f"default{next(numbers)}")


def sums(experiment: Experiment) -> dict[str, np.ndarray]:
    memory = experiment.memory
    return {name: getattr(memory, name).copy() for name in COUNTERS if name in memory._fields}


def test_it_is_the_default() -> None:
    assert Settings().policy == DEFAULT() == DEFAULT(departures=True)
    mixed = Settings(epsilon=0.1, reward_threshold=0.7)
    assert mixed.policy == EpsilonMixture(DEFAULT(threshold=0.7), 0.1)
    assert Settings.from_json(mixed.to_json()) == mixed
    for wrong in (-0.1, 1.5, "all"):
        with pytest.raises(sj.InputError, match=r"epsilon = .* must be a number from 0 to 1"):
            Settings(epsilon=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("seed", "epsilon"), [(1, 0.0), (2, 0.2)])
def test_whatever_happens_memories_are_those_of_the_log(
    database: str, seed: int, epsilon: float
) -> None:
    """Two writers; graded, late and retracted rewards; prior counts, candidates, retired arms."""
    rng, steps, ends = random.Random(seed), list[tuple[str, int]](), 0
    options = {"late_horizon": 3600.0, "default_reward": 0.25, "epsilon": epsilon, "seed": seed}
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        both = [
            Experiment("news", list(MEANS), reward_threshold=0.5, store=journal, compiled=False,
                       **options)
            for journal in (one, two)
        ]  # fmt: skip
        both[0].warm_start({"a": (10, 4)})
        active, late = set(MEANS), Counter[str]()
        for turn in range(300):
            experiment, name = rng.choice(both), f"v{ends}-{rng.randrange(4)}"
            reward = rng.choice([None, 0.0, 0.3, 0.8, 1.0]) if (name, 1) in steps else None
            if turn % 40 == 39:  # a retired arm comes back
                arm = "d" if "d" not in active else rng.choice(["c", "d"])
                (experiment.add_arms if arm not in active else experiment.retire_arms)(arm)
                active ^= {arm}
                for each in both:
                    each.refresh()
            elif rng.random() < 0.2 and steps:
                visit, step = rng.choice(steps)
                try:
                    late[experiment.get(visit).reward(rng.random(), step=step)] += 1
                except Conflict:
                    late["conflict"] += 1
            elif rng.random() < 0.1:
                experiment.visit(id=name).end(reward)
                ends += 1
            else:
                among = rng.sample(sorted(active), 2) if rng.random() < 0.5 else None
                visit = experiment.visit(id=name)
                try:
                    made = visit.decide(Ask(reward=reward, candidates=among))  # type: ignore[arg-type]
                except (Conflict, Ended):  # it has another reward already
                    continue
                assert made.arm in (among or active)
                assert made.propensity is not None and epsilon / 4 <= made.propensity <= 1.0
                steps.append((name, made.step))
        assert late["learned"] > 10 and sum(each.branch.conflicts for each in both) > 0
        for experiment in both:
            experiment.refresh()
        seen = [sums(experiment) for experiment in both]
        assert seen[0].keys() == {*COUNTERS}
        for experiment in both:
            experiment._reload()
        seen += [sums(experiment) for experiment in both]
        for other in seen[1:]:
            for key, array in seen[0].items():
                np.testing.assert_allclose(array, other[key], atol=1e-9, err_msg=key)
        assert verify(one.store, "news") == {}


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("among", [None, [0, 1, 2], [1, 2], [2]])
def test_arms_are_chosen_as_often_as_their_propensities_say(
    epsilon: float, among: list[int] | None
) -> None:
    """Nothing was shown of three arms, which are tied, and the first one is known to be worse."""
    told, n = Learner(Settings(epsilon=epsilon), seed=3, compiled=False), 1_500
    told.forget(
        [Arm(k, name, 0, *((30.0, 3.0) if k == 0 else ())) for k, name in enumerate("abcd")]
    )
    found, chances = Counter[int](), defaultdict[int, set[float]](set)
    for _ in range(n):
        position, chance = told.choose(1.0, 1, among)
        assert chance is not None
        found[position] += 1
        chances[position].add(chance)
    able = among or range(4)
    best = [k for k in able if k]
    for k in able:
        p = epsilon / len(able) + (1.0 - epsilon) * (k in best) / len(best)
        assert abs(found[k] / n - p) <= 4.5 * sqrt(p * (1.0 - p) / n)
        assert not found[k] or [*chances[k]] == pytest.approx([p])


def test_the_goal_is_among_the_candidates() -> None:
    """Once the best arm of all is known, choices among the others are as good as without it.

    A policy whose candidates have to come close to the best arm of all goes on to try them all:
    `VisitIMED` shows the best of the others in 71 % of steps, and in 98 % without that arm.
    """
    shares = []
    for without in (False, True):
        arms, rng = [*MEANS][without:], random.Random(4)
        with Experiment("news", arms, compiled=False, seed=5) as news:
            found = Counter[str]()
            for number in range(500):
                every = not without and number % 10 == 0
                visit, reward, left = news.visit(), None, False
                while not left:
                    candidates = None if every else ("b", "c", "d")
                    made = visit.decide(Ask(reward=reward, candidates=candidates))
                    reward = float(rng.random() < MEANS[made.arm])
                    left = rng.random() < (0.06 if reward else 0.2)
                    if not every and number >= 250:
                        found[made.arm] += 1
                visit.end(reward)
            shares.append(found["b"] / found.total())
    assert shares[0] > shares[1] - 0.05 and shares[1] > 0.9

"""Policies of other papers against their formulas."""

from math import exp, floor, log, sqrt

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.divergence import bernoulli_kl
from sojourn.engine.streams import policy_stream
from sojourn.policies import UCB, AdaUCB, Counts, Greedy, KLUCBSwitch, LearnedAdaUCB
from sojourn.policies.published import log_plus
from sojourn.simulation.tables import bound_name


def counts(policy: sj.Policy, pulls: list[float], successes: list[float]) -> Counts:
    memory = policy.memory(len(pulls))
    memory.pulls[:], memory.successes[:], memory.clock[0] = pulls, successes, sum(pulls)
    return memory


def moss(mean: float, n: float, phi: float) -> float:
    return mean + sqrt(phi / (2.0 * n))


def test_the_switch_is_where_it_says() -> None:
    policy = KLUCBSwitch()
    memory = counts(policy, [3.0, 4.0, 493.0], [2.0, 2.0, 300.0])
    t, k = 501.0, 3
    assert floor((t / k) ** 0.2) == 2  # so none is below it
    moment = policy.moment(memory, 1.0, 1.0)
    assert moment.target == t / k
    for arm in range(3):
        n = float(memory.pulls[arm])
        x = t / (k * n)
        log_x = max(log(x), 0.0)
        phi = max(log(x * (1.0 + log_x**2)), 0.0) if x > 0 else 0.0
        mean = float(memory.successes[arm] / n)
        score = policy.score(memory, arm, 1.0, 1.0, moment)
        assert score == pytest.approx(moss(mean, n, phi))
    memory.pulls[0], memory.successes[0] = 2.0, 1.0  # now it is
    memory.clock[0] = 499.0
    moment = policy.moment(memory, 1.0, 1.0)
    upper = policy.score(memory, 0, 1.0, 1.0, moment)
    x = moment.target / 2.0
    phi = log(x * (1.0 + log(x) ** 2))
    assert 2.0 * bernoulli_kl(0.5, upper) == pytest.approx(phi, rel=1e-9)
    assert log_plus(0.5) == 0.0 and log_plus(exp(2.0)) == pytest.approx(2.0)


def test_an_arm_with_more_than_its_part_of_the_time_has_its_mean_for_index() -> None:
    policy = KLUCBSwitch()
    memory = counts(policy, [10.0, 90.0], [8.0, 45.0])
    assert policy.score(memory, 1, 1.0, 1.0, policy.moment(memory, 1.0, 1.0)) == 0.5


def test_ada_ucb_is_ucb_where_mistakes_are_cheap_and_greedy_elsewhere() -> None:
    ada = AdaUCB.for_problem(sj.paper.SETTINGS["A"])
    assert (ada.c0, ada.c1, bound_name(ada)) == (0.0, 1.0, None)
    assert AdaUCB.for_problem(sj.paper.SETTINGS["opposite"]) == AdaUCB(c0=1.0, c1=0.0)
    memory = counts(ada, [10.0, 40.0], [6.0, 26.0])
    stream = policy_stream(0, 0)
    rules = {1.0: UCB(), 0.0: Greedy()}
    for state, rule in rules.items():
        assert ada.choose(memory, state, stream) == rule.choose(memory, state, stream)
    assert ada.choose(memory, 1.0, stream) != ada.choose(memory, 0.0, stream)


def test_the_learned_load_is_that_of_the_costs() -> None:
    """Once departures have shown the case, the two differ in nothing but what came before."""
    problem = sj.paper.SETTINGS["A"]
    result = sj.simulate(
        problem, [UCB(), AdaUCB.for_problem(problem), LearnedAdaUCB()],
        visits=1_000, runs=48, seed=1,
    )  # fmt: skip
    ucb, known, learned = result.regret.mean[:, -1]
    error = np.hypot(*(result.regret.half_width[i, -1] / 1.96 for i in (0, 2)))
    assert known < learned + 4.5 * error
    assert ucb - learned > 4.5 * error

"""The priced index: its formula, its prices, and the stopping problem behind it."""

from itertools import pairwise
from math import exp, floor, inf, log, log2, sqrt
from statistics import NormalDist
from typing import Any

import naive
import numpy as np
import pytest
from twins import step_by_step

import sojourn as sj
from sojourn.paper import SETTINGS
from sojourn.policies import priced
from sojourn.policies.departures import mistake_costs
from sojourn.policies.priced import log_ratio_of, nats, patience

Z = NormalDist()
AHEAD, THRIFT = 8.0, 6.0
"""The defaults."""


def waits(surcharge: float) -> float:
    """The x with E max(Z - x, 0) = surcharge x."""
    low, high = 0.0, 12.0
    for _ in range(50):
        x = (low + high) / 2
        more = Z.pdf(x) - x * (1 - Z.cdf(x)) > surcharge * x
        low, high = (x, high) if more else (low, x)
    return low


@pytest.mark.parametrize("surcharge", [5.0, 1.0, 0.3, 0.05, 1e-3, 1e-6])
def test_patience(surcharge: float) -> None:
    x = patience(surcharge)
    assert x == pytest.approx(waits(surcharge), rel=1e-6)
    z = np.linspace(x, x + 12.0, 20_001)
    gains = (z - x) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    assert np.trapezoid(gains, z) == pytest.approx(surcharge * x, rel=1e-5)


def test_patience_has_no_end_where_nothing_is_dearer() -> None:
    assert patience(0.0) == 40.0
    assert all(a > b for a, b in pairwise(patience(s) for s in (0.0, 1e-9, 0.1, 1.0, 1e9)))


@pytest.mark.parametrize("pulls", [2.0, 3.0, 50.0, 1e7])
@pytest.mark.parametrize("thrift", [0.0, 6.0])
@pytest.mark.parametrize("budget", [0.0, 1e-3, 2.0, 30.0])
def test_a_budget_and_what_it_is_the_budget_of(budget: float, thrift: float, pulls: float) -> None:
    """A guess, as leases need it: it is worst for very few pulls and many nats."""
    y = log_ratio_of(budget, pulls, thrift)
    assert nats(y, pulls, thrift) == pytest.approx(budget, rel=0.03 if pulls < 50 else 1e-6)


@pytest.mark.parametrize("thrift", [0.0, 0.5, 6.0, 100.0])
def test_more_pulls_have_a_smaller_budget(thrift: float) -> None:
    """What leases build on: docs/leases.md has the proof."""
    pulls = np.geomspace(2.0, 1e6, 400)
    for ahead in (3.0, 30.0, 1e3, 1e5, 1e9):
        budgets = [nats(log(ahead / n), n, thrift) for n in pulls]
        assert all(a > b or a == b == 0.0 for a, b in pairwise(budgets))


# --- the stopping problem ----------------------------------------------------------------------


def boundaries(lam: float, c: np.ndarray, w: np.ndarray, R: float, N: int) -> dict[int, list]:
    """For each number of pulls and each state: the mean below which the known arm is better.

    One arm has a uniform prior, the other the mean `lam`. A step is in state z with chance w(z) and
    counts c(z)-fold; another follows with chance 1 - 1 / R. After N pulls the better one is kept.
    """
    beta, mean_c, (cheap, costly) = 1 - 1 / R, w @ c, np.argsort(c)
    p = (np.arange(N + 1) + 1) / (N + 2)
    value, found = mean_c * np.maximum(p, lam) / (1 - beta), {}
    for n in range(N - 1, 0, -1):
        p = (np.arange(n + 1) + 1) / (n + 2)
        after = beta * (p * value[1 : n + 2] + (1 - p) * value[: n + 1])
        never = np.full(n + 1, mean_c * lam / (1 - beta))
        here = w[cheap] * (c[cheap] * p + after) + w[costly] * c[costly] * lam
        value = np.max([never, here / (1 - beta * w[costly]), mean_c * p + after], axis=0)
        gains = [c[z] * (p - lam) + after - beta * value for z in (0, 1)]
        found[n] = [float(np.interp(0.0, gain, p)) for gain in gains]
    return found


@pytest.mark.parametrize(
    ("prices", "shares"),
    [
        ((3, 1), (0.3, 0.7)),
        ((1.5, 1), (0.5, 0.5)),
        ((1.05, 1), (0.3, 0.7)),
        ((1, 2), (0.2, 0.8)),
        ((1, 12), (0.15, 0.85)),
        ((1, 50), (0.15, 0.85)),
    ],
)
def test_budgets_are_near_those_of_the_stopping_problem(
    prices: tuple[float, float], shares: tuple[float, float]
) -> None:
    """The costly state's is an upper limit as R grows."""
    c, w, R = np.array(prices, float), np.array(shares), 3e4
    cheap, costly = np.argsort(c)
    found = boundaries(0.5, c, w, R, 1200)
    x = patience(float(w[cheap] * (c[costly] - c[cheap]) / (w @ c)))
    for n in (60, 100, 150):
        behind = (0.5 - found[n][costly]) * 2 * np.sqrt(n + 2)
        assert 0.8 * x < behind < x
        evidence = (n + 2) * naive.kl(found[n][cheap], 0.5)
        budget = nats(log(R * (w @ c) / c[cheap] / (n + 2)), n + 2.0, THRIFT)
        assert 0.75 * budget < evidence < 1.1 * budget


# --- prices ------------------------------------------------------------------------------------


def prices_in(costs: list[float], shares: list[float], arms: int = 2) -> list[float]:
    """A(b) as the docstring has it."""
    mean = sum(w * d for w, d in zip(shares, costs, strict=True))
    return [
        (arms - 1) * sum(w * max(d - e, 0) for w, e in zip(shares, costs, strict=True)) / mean
        for d in costs
    ]


def remember(problem: sj.Problem, steps: tuple[float, float]) -> Any:
    """What so many steps in states 0 and 1 show of the best arm on average."""
    memory = sj.policies.PricedIndex(bins=2).memory(problem.arms)
    arm, mean = problem.best_arm, max(problem.means)
    for s in (0, 1):
        for r, chance in ((0, 1 - mean), (1, mean)):
            n = steps[s] * chance
            memory.moves[s, r, r] = memory.seen[arm, s, r] = n
            memory.left[arm, s, r] = n * problem.user.leave_probability(float(s), float(r), 0)
    memory.pulls[arm] = memory.clock[0] = sum(steps)
    memory.successes[arm] = sum(steps) * mean
    return memory


def price(memory: Any, confidence: float) -> None:
    arms = memory.pulls.size
    costs = priced.mistake_costs(memory, False)
    memory.worth[0] = priced.price(memory, memory.optimism, *costs, confidence, False, arms)


@pytest.mark.parametrize("setting", ["A", "B", "C", "opposite"])
def test_prices_are_those_of_the_model(setting: str) -> None:
    problem, steps = SETTINGS[setting], (2e8, 8e8)
    memory = remember(problem, steps)
    price(memory, 0.0)
    exact = [problem.mistake_cost(0), problem.mistake_cost(1)]
    for found, surcharge in zip(memory.optimism, prices_in(exact, [0.2, 0.8]), strict=True):
        wanted = 1 - exp(-(waits(surcharge) ** 2) / 2) if surcharge > 0 else 1.0
        assert found == pytest.approx(wanted, rel=1e-3)
    times = (0.2 * exact[0] + 0.8 * exact[1]) / min(exact)
    assert memory.worth[0] == pytest.approx(log(2) * floor(log2(times)))


def test_a_step_is_worth_no_more_than_is_known_for_sure() -> None:
    """The standard error of the least cost is added to it: with few steps there is one price."""
    problem, found = sj.Problem([0.7, 0.6], sj.TwoState(0.03, 0.3, 0.3, 0.02)), []
    for steps in (10.0, 1e3, 1e7):
        memory = remember(problem, (0.3 * steps, 0.7 * steps))
        price(memory, 0.0)
        cost, variance = mistake_costs(memory, False)
        cheap = int(np.argmin(cost + np.sqrt(variance)))
        times = (0.3 * cost[0] + 0.7 * cost[1]) / (cost[cheap] + sqrt(variance[cheap]))
        assert memory.worth[0] == log(2.0) * max(floor(log2(times)), 0)
        found.append(memory.worth[0])
    assert found[0] == 0.0 < found[1] <= found[2]


def test_where_nothing_was_seen_or_nothing_differs_there_is_one_price() -> None:
    fresh = sj.policies.PricedIndex(bins=3).memory(2)
    fresh.optimism[:] = 0.5
    price(fresh, 0.0)
    assert fresh.optimism.tolist() == [1, 1, 1]
    neutral = sj.Problem([0.6, 0.5], sj.TwoState(0.2, 0.2, 0.2, 0.2))
    memory = remember(neutral, (1e6, 1e6))
    price(memory, 1.0)
    assert memory.optimism.tolist() == [1, 1]


def test_a_mistake_that_pays_is_as_cheap_as_one_that_costs_nothing() -> None:
    problem = sj.Problem([0.8, 0.7], sj.TwoState(0.1, 0.05, 0.1, 0.6))
    assert problem.mistake_cost(1) < 0 < problem.mistake_cost(0)
    memory = remember(problem, (1e6, 1e6))
    price(memory, 0.0)
    assert memory.optimism[1] == 1.0
    assert memory.optimism[0] == pytest.approx(1 - exp(-(waits(1.0) ** 2) / 2))


# --- the policy --------------------------------------------------------------------------------


def twin(history: list, t: int, state: int, arms: int, visits: int) -> list[float]:
    """The indices from the steps so far, for a user of two states; prices as of step `t`."""
    pulls = [sum(a == arm for _, a, _, _ in history) for arm in range(arms)]
    wins = [sum(r for _, a, r, _ in history if a == arm) for arm in range(arms)]
    cap, worth = inf, 1.0
    if t:
        told = history[:t]
        often = [sum(a == arm for _, a, _, _ in told) for arm in range(arms)]
        top = int(np.argmax(often))
        mean = (sum(r for _, a, r, _ in told if a == top) + 1) / (often[top] + 2)
        n = {(s, r): 0.0 for s in (0, 1) for r in (0, 1)}
        gone = dict(n)
        for s, _, r, left in told:
            n[s, r] += 1
            gone[s, r] += left
        stay = {}
        for r in (0, 1):
            usual = (gone[0, r] + gone[1, r] + 0.5) / (n[0, r] + n[1, r] + 1)
            for s in (0, 1):
                stay[s, r] = 1 - (gone[s, r] + usual) / (n[s, r] + 1)
        chance = {0: 1 - mean, 1: mean}
        onward = np.array([[chance[r] * stay[s, r] for r in (0, 1)] for s in (0, 1)])
        v = np.linalg.solve(np.eye(2) - onward, [mean, mean])
        costs = [max(1 + stay[s, 1] * v[1] - stay[s, 0] * v[0], 0) for s in (0, 1)]
        shares = [(n[s, 0] + n[s, 1]) / t for s in (0, 1)]
        surcharge = prices_in(costs, shares, arms)[state] if min(shares) > 0 else 0.0
        cap = waits(surcharge) ** 2 / 2 if surcharge > 0 else inf
        errors = []
        for s in (0, 1):
            square = 0.0
            for r in (0, 1):
                usual = (gone[0, r] + gone[1, r] + 0.5) / (n[0, r] + n[1, r] + 1)
                square += v[r] ** 2 * usual * (1 - usual) / (n[s, r] + 1)
            errors.append(sqrt(square))
        least = min(c + e for c, e in zip(costs, errors, strict=True))
        worth = sum(w * c for w, c in zip(shares, costs, strict=True)) / least
        if min(shares) == 0:
            worth = 1.0
        worth = 2.0 ** max(floor(log2(worth)), 0) if worth > 0 else 1.0
    steps, ended = len(history), sum(left for *_, left in history)
    times = max(visits - ended, 1) / (ended + 1) if visits else AHEAD
    indices = []
    for N, S in zip(pulls, wins, strict=True):
        m, N = (S + 1) / (N + 2), N + 2
        y = max(log(times * worth * (steps + 1) / (arms * N)), 0.0)
        budget = (1 + (y - 2) / (2 * N)) * y * y / (y + THRIFT)
        indices.append(naive.max_p(m, N, min(budget, cap)))
    return indices


@pytest.mark.parametrize("visits", [0, 60])
@pytest.mark.parametrize("setting", ["B", "D", "opposite"])
def test_it_plays_the_greatest_index(setting: str, visits: int) -> None:
    problem = SETTINGS[setting]
    policy = sj.policies.PricedIndex(bins=2, visits=visits)
    history = step_by_step(problem, policy, 3, 1, 60 if setting != "D" else 4)[:300]
    next_refit, thought = 16.0, 0
    for t, (state, arm, _, _) in enumerate(history):
        if t >= next_refit:
            thought, next_refit = t, max(np.ceil(1.1 * t), t + 1)
        if t < problem.arms:
            assert arm == t
        elif t % 5 == 0:
            indices = twin(history[:t], thought, int(state), problem.arms, visits)
            assert indices[arm] >= max(indices) - 1e-4, (t, indices, arm)


def test_one_price_is_a_plain_upper_bound() -> None:
    """With a floor of 1 the state does not matter: KL bounds of posterior means."""
    policy = sj.policies.PricedIndex(floor=1.0)
    memory = policy.memory(2)
    memory.pulls[:], memory.successes[:], memory.clock[0] = [900, 20], [720, 14], 919
    log_t = log(920)
    extra = policy.extra(memory, log_t)
    assert log_t + extra == pytest.approx(log(AHEAD * 920 / 2))
    for arm, mean, n in ((0, 721 / 902, 902), (1, 15 / 22, 22)):
        y = log(AHEAD * 920 / 2 / n)
        budget = (1 + (y - 2) / (2 * n)) * y * y / (y + THRIFT)
        assert policy.budget(n, log_t, extra, 1.0) == pytest.approx(budget)
        assert policy.record(memory, arm) == (mean, n)
        value = policy.score(memory, arm, 1.0, 1.0, policy.moment(memory, 1.0, 1.0))
        assert value == pytest.approx(naive.max_p(mean, n, budget), abs=1e-9)
    assert policy.probabilities(memory, 0.0).tolist() == [0, 1]


def test_c_lengthens_what_is_ahead() -> None:
    policy = sj.policies.PricedIndex(c=2.0)
    memory = policy.memory(4)
    assert policy.extra(memory, 3.0) == pytest.approx(log(AHEAD / 4) + 2 * log(3))


def test_known_visits_end_exploration() -> None:
    policy = sj.policies.PricedIndex(visits=100)
    memory = policy.memory(2)
    memory.pulls[:], memory.successes[:], memory.clock[0] = [900, 20], [720, 14], 919
    memory.left[0, 0, 0] = 1
    log_t = log(920)
    assert log_t + policy.extra(memory, log_t) == pytest.approx(log(99 * (920 / 2) / 2))
    assert policy.probabilities(memory, 1.0).tolist() == [0, 1]
    memory.left[0, 0, 0] = 99
    assert policy.probabilities(memory, 1.0).tolist() == [1, 0]


def test_it_has_less_regret_than_learned_imed() -> None:
    """Many arms is where it gains most; 4.5 standard errors of the difference."""
    problem = sj.Problem(np.linspace(0.8, 0.2, 12).tolist(), sj.TwoState(0.5, 0.2, 0.2, 0.05))
    result = sj.simulate(
        problem, [sj.policies.LearnedIMED(), sj.policies.PricedIndex()], visits=500, runs=64, seed=2
    )
    gain = result.difference("LearnedIMED", "PricedIndex")
    assert gain.mean[-1] > 4.5 * gain.half_width[-1] / 1.96


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ahead": 0.5}, "ahead = 0.5 is not allowed"),
        ({"ahead": inf}, "ahead = inf is not allowed"),
        ({"thrift": -1}, "thrift = -1 is not allowed"),
        ({"visits": -1}, "visits = -1 is not allowed"),
        ({"visits": 2.5}, "visits = 2.5 is not allowed"),
    ],
)
def test_bad_parameters(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sj.policies.PricedIndex(**parameters)

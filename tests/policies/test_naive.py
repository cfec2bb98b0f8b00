"""The package decides as the paper's pseudo-code does, pull for pull, on the same draws."""

from functools import cache
from typing import NamedTuple

import naive
import numpy as np
import pytest
from twins import HARSH, MEANS, RUNS, USERS, step_by_step

import sojourn as sj
from sojourn.paper import SETTINGS
from sojourn.policies import Policy
from sojourn.registry import described


class Case(NamedTuple):
    setting: str
    index: naive.Index
    policy: Policy
    visits: int


CASES = [
    Case("A", naive.ulcb(-1, 1, 0), sj.policies.ULCB(), 30),
    Case("A", naive.kl_ulcb(1, 1, 0), sj.policies.KLULCB(), 30),
    Case("B", naive.ulcb(1, 1, 0), sj.policies.UCB(), 300),
    Case("B", naive.ulcb(-1, 1, 4), sj.policies.ULCB(c=4), 300),
    Case("B", naive.kl_ucb(0), sj.policies.KLUCB(), 300),
    Case("B", naive.kl_ulcb(1, 1, 4), sj.policies.KLULCB(c=4), 300),
    Case("C", naive.ulcb(-2, 0.5, 0), sj.policies.ULCB(c0=-2, c1=0.5), 400),
    Case("C", naive.kl_ulcb(0.5, 2, 1), sj.policies.KLULCB(c0=-0.5, c1=2, c=1), 400),
    Case("D", naive.ulcb(-1, 1, 0), sj.policies.ULCB(), 30),
    Case("D", naive.kl_ulcb(1, 1, 0), sj.policies.KLULCB(), 20),
    Case("opposite", naive.ulcb(1, -1, 4), sj.policies.ULCB(c=4).opposite(), 400),
    Case("opposite", naive.kl_ulcb_opposite(1, 1, 0), sj.policies.KLULCB().opposite(), 400),
    Case("ema-1000", naive.cont_ulcb(0), sj.policies.ContULCB(), 40),
    Case("ema-1000", naive.cont_kl_ulcb(0), sj.policies.ContKLULCB(), 40),
    Case("ema-1000", naive.disc(4, naive.ulcb(-1, 1, 0)), sj.policies.DiscULCB(n=4), 40),
    Case("ema-1000", naive.disc(3, naive.kl_ulcb(1, 1, 4)), sj.policies.DiscKLULCB(n=3, c=4), 40),
    Case("ema-low", naive.cont_ulcb(4), sj.policies.ContULCB(c=4), 300),
    Case("ema-low", naive.cont_kl_ulcb(4), sj.policies.ContKLULCB(c=4), 300),
]


def label(case: Case) -> str:
    return f"{case.setting}-{type(case.policy).__name__}-{CASES.index(case)}"


@cache
def twin(case: Case, seed: int, run: int, random_ties: bool) -> list[naive.Decision]:
    environment = naive.Environment(MEANS[case.setting], USERS[case.setting], seed, run)
    ties = naive.AtRandom(seed, run) if random_ties else naive.first
    return naive.run(case.index, environment, case.visits, ties)


def with_ties(policy: Policy, random_ties: bool) -> Policy:
    return type(policy)(**{**described(policy)[1], "random_ties": random_ties})


def test_the_problems_are_the_papers() -> None:
    for name, means in MEANS.items():
        problem, user = SETTINGS[name], USERS[name]
        assert problem.means == tuple(means)
        for state in (0.0, 1.0):
            for reward in (0, 1):
                assert problem.user.leave_probability(state, float(reward), 0) == pytest.approx(
                    user.abandons(state, reward), abs=1e-15
                )


@pytest.mark.parametrize(("seed", "run", "random_ties"), RUNS)
@pytest.mark.parametrize("case", CASES, ids=label)
def test_same_decisions(case: Case, seed: int, run: int, random_ties: bool) -> None:
    policy = with_ties(case.policy, random_ties)
    ours = step_by_step(SETTINGS[case.setting], policy, seed, run, case.visits)
    assert ours == twin(case, seed, run, random_ties)


@pytest.mark.parametrize(("seed", "run", "random_ties"), RUNS)
@pytest.mark.parametrize("case", CASES, ids=label)
def test_same_totals(case: Case, seed: int, run: int, random_ties: bool, compiled) -> None:
    problem, policy = SETTINGS[case.setting], with_ties(case.policy, random_ties)
    checkpoints = [1, case.visits // 3, case.visits]
    rows = compiled(problem, policy, seed, run, checkpoints)
    levels, arms = problem.user.space.bins, problem.arms
    user = USERS[case.setting]
    if isinstance(user, naive.TwoStateUser):
        table = naive.two_state_gaps(MEANS[case.setting], user.q)
    else:
        table = None

    totals = {"reward": 0, "steps": 0}
    regret, pulls = np.zeros(levels), np.zeros((levels, arms))
    visit, expected = 0, []
    for state, arm, reward, left in twin(case, seed, run, random_ties):
        level = min(int(state * levels), levels - 1)
        pulls[level, arm] += 1
        regret[level] += table[int(state)][arm] if table else problem.gap(state, arm)
        totals["reward"] += reward
        totals["steps"] += 1
        visit += left
        if left and visit in checkpoints:
            sums = [regret.sum(), totals["reward"], totals["steps"]]
            expected.append(np.concatenate([sums, regret, pulls.ravel()]))
    np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-10)


def test_random_ties_do_happen() -> None:
    """Else the comparisons with random ties would show nothing."""
    case = CASES[1]
    ties = naive.AtRandom(1, 0)
    environment = naive.Environment(MEANS[case.setting], USERS[case.setting], 1, 0)
    assert naive.run(case.index, environment, case.visits, ties) == twin(case, 1, 0, True)
    assert ties.drawn > 3
    assert twin(case, 1, 0, True) != twin(case, 1, 0, False)


def test_naive_gaps_are_the_checked_ones() -> None:
    harsh = naive.two_state_gaps([0.9, 0.8, 0.5], HARSH)
    np.testing.assert_allclose(harsh, [[0, 10, 40], [0, 1, 4]], atol=1e-9)
    low = naive.two_state_gaps([0.6, 0.5], USERS["opposite"].q)
    np.testing.assert_allclose(low, [[0, 0.154153], [0, 0.237780]], atol=1e-6)

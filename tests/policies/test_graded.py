"""Rewards that are not 0 or 1: policies decide as plain twins do, on the same draws."""

from math import log, sqrt

import naive
import naive_graded as twins
import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.kernel import BY_LEVEL, REGRET, REWARD, STEPS, run_chunk
from sojourn.policies import Policy
from sojourn.simulation import chunks

Q = {(0, 0): 0.85, (0, 1): 0.1, (1, 0): 0.1, (1, 1): 0.05}
ARMS: list[twins.Table] = [
    [(0.0, 0.125), (0.25, 0.375), (0.75, 0.25), (1.0, 0.25)],
    [(0.25, 0.25), (0.5, 0.5), (0.75, 0.25)],
    [(0.25, 0.125), (0.5, 0.25), (0.75, 0.5), (1.0, 0.125)],
]
THRESHOLD, VISITS = 0.5, 25
PROBLEM = sj.Problem(
    rewards=[sj.rewards.Discrete(*zip(*table, strict=True)) for table in ARMS],
    user=sj.users.Levels(sj.TwoState(*Q.values()), thresholds=[THRESHOLD]),
)


def by_index(index: naive.Index) -> twins.Twin:
    def scores_of(environment: twins.Environment) -> naive.Scores:
        return lambda S, mu_bar, N, t: [index(S, float(mu_bar[a]), N[a], t) for a in N]

    return scores_of


def learned(environment: twins.Environment) -> naive.Scores:
    return twins.learned_imed(environment, THRESHOLD)


TWINS: list[tuple[Policy, twins.Twin]] = [
    (
        sj.policies.ULCB(),
        by_index(lambda S, m, N, t: m + (1 if S else -1) * sqrt(log(t) / (2 * N))),
    ),
    (sj.policies.KLUCB(), by_index(naive.kl_ucb(0))),
    (sj.policies.IMED(), lambda environment: naive.imed(lambda S: True)),
    (sj.policies.LearnedIMED(threshold=THRESHOLD), learned),
    (
        sj.policies.LearnedEmpiricalIMED(),
        lambda environment: twins.learned_imed(
            environment, THRESHOLD, explorer=twins.empirical_imed(environment)
        ),
    ),
    (sj.policies.EmpiricalKLUCB(), twins.empirical_kl_ucb),
    (sj.policies.EmpiricalIMED(cells=4), twins.empirical_imed),
]


def totals(decisions: list[naive.Decision]) -> tuple[float, int, np.ndarray, float]:
    """Reward, steps, pulls by state and arm, regret by the gaps of the best of all rules."""
    good = lambda r: int(r >= THRESHOLD)  # noqa: E731
    value, worth, _ = naive.enumerated(2, ARMS, lambda a, s, r: Q[s, good(r)], lambda s, r: good(r))
    pulls, lost = np.zeros((2, len(ARMS))), 0.0
    for S, a, _, _ in decisions:
        pulls[int(S), a] += 1
        lost += float(value[int(S)] - worth[int(S)][a])
    return sum(R for _, _, R, _ in decisions), len(decisions), pulls, lost


@pytest.mark.parametrize(
    ("policy", "twin"), TWINS, ids=[type(policy).__name__ for policy, _ in TWINS]
)
@pytest.mark.parametrize(("seed", "run"), [(1, 0), (2**40, 2)])
def test_decisions_and_regret_are_those_of_the_twin(
    policy: Policy, twin: twins.Twin, seed: int, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = twins.LevelUser(Q, THRESHOLD)
    environment = twins.Environment(ARMS, user, seed, run)  # type: ignore[arg-type]
    ties = naive.AtRandom(seed, run)
    decisions = naive.run_scores(twin(environment), environment, VISITS, ties)
    if not isinstance(policy, sj.policies.EmpiricalIMED):  # one compiled, the others by Python
        monkeypatch.setattr(chunks, "run_chunk", run_chunk.plain)
    out = chunks.chunk(PROBLEM, policy, seed, run, 1, np.arange(1, VISITS + 1))[0]
    ends = [i for i, (*_, left) in enumerate(decisions, 1) if left]
    for visit in (1, 5, 15, VISITS):
        row = out[visit - 1]
        reward, steps, pulls, lost = totals(decisions[: ends[visit - 1]])
        assert (row[REWARD], row[STEPS]) == (reward, steps)
        assert row[BY_LEVEL + 2 :].tolist() == pulls.ravel().tolist()
        assert row[REGRET] == pytest.approx(lost, rel=1e-9)


def test_learned_optimism_stops_exploring_in_the_dear_state_here_too() -> None:
    """So that the twins have something to agree on."""
    environment = twins.Environment(ARMS, twins.LevelUser(Q, THRESHOLD), 1, 0)  # type: ignore[arg-type]
    naive.run_scores(learned(environment), environment, 300, naive.first)
    worst, *_, best = twins.cheap(environment.log, THRESHOLD, 4)
    assert best and not worst

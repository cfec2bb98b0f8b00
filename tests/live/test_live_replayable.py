"""A live log of a policy with a small share of any arm says what other policies would earn."""

import random
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.live import Ask, Experiment, export
from sojourn.logs import evaluate

PROBLEM = sj.Problem([0.7, 0.4], sj.TwoState(q00=0.6, q01=0.3, q10=0.35, q11=0.15))
AT_ONCE = 12  # visits that are open at the same time: arms wait for their first results
SAFE = 1.0 - 6.8e-6  # intervals of 4.5 standard errors


def serve(experiment: Experiment, visits: int, seed: int) -> list[float]:
    """Simulated users; the propensities of all decisions."""
    draw, user, told = random.Random(seed), PROBLEM.user, []
    waiting = [experiment.visit() for _ in range(visits)]
    going = {waiting.pop(): (1.0, None) for _ in range(AT_ONCE)}
    while going:
        visit = draw.choice(list(going))
        state, reward = going.pop(visit)
        made = visit.decide(Ask(reward=reward))
        assert made.propensity is not None and made.state == state
        told.append(made.propensity)
        reward = float(draw.random() < PROBLEM.means[int(made.arm)])
        if draw.random() < user.leave_probability(state, reward, 0):
            visit.end(reward)
            if waiting:
                going[waiting.pop()] = (1.0, None)
        else:
            going[visit] = (user.next_state(state, reward), reward)
    return told


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    policy, path = (
        sj.policies.EpsilonMixture(sj.policies.KLULCB(), epsilon=0.3),
        tmp_path_factory.mktemp("live"),
    )
    with Experiment("shorts", ["0", "1"], policy, compiled=False, seed=5) as experiment:
        told = serve(experiment, 900, seed=5)
        assert min(told) >= 0.15 - 1e-12 and len(told) > 2_500
        export(experiment.journal.store, "shorts", path / "steps.csv")
    return path / "steps.csv"


@pytest.mark.parametrize("arm", [0, 1])
def test_the_value_of_another_policy_is_found(log: Path, arm: int) -> None:
    """Of the first two steps of a visit with one arm, which the log reaches whatever the arm."""
    m, leaves = PROBLEM.means[arm], PROBLEM.user.leave_probability
    stays = 1.0 - m * leaves(1.0, 1.0, arm) - (1 - m) * leaves(1.0, 0.0, arm)
    found = evaluate(log, sj.policies.FixedArm(arm), confidence=SAFE, max_steps=2)
    for method in ("PDIS", "SN-PDIS", "DR"):
        of_reward, of_length = found.reward[method], found.length[method]
        assert of_reward.low < m * (1.0 + stays) < of_reward.high
        assert of_length.low < 1.0 + stays < of_length.high
        assert of_reward.std_error < 0.2


def test_the_value_of_a_whole_visit_is_found(log: Path) -> None:
    found = evaluate(log, sj.policies.FixedArm(0), confidence=SAFE)
    for method in ("PDIS", "SN-PDIS", "DR"):
        assert found.reward[method].low < PROBLEM.value() < found.reward[method].high
        assert found.reward[method].std_error < 0.1 * PROBLEM.value()

"""Policies in crowds: draw for draw as a plain twin has it, and as exact values say."""

from dataclasses import replace

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.streams import draw, policy_stream, stream_key
from sojourn.logs.deciding.playing import GAIN, LONGER, PULLS, REWARD, STEPS, VISITS, Place, play
from sojourn.simulation import chunks
from sojourn.users.population import Population, always

TOLERANCE = 4.5
RULE = np.array([[0.5, 0.5], [0.3, 0.7], [0.8, 0.2]])


def population(seed: int = 1) -> Population:
    rng = np.random.default_rng(seed)
    leave = rng.uniform(0.1, 0.6, (3, 3, 2, 2, 2))
    leave[:, 0, :, 0] = leave[:, 0, :, 1]  # nothing is previous at the first step
    shares, means = np.array([0.2, 0.5, 0.3]), rng.uniform(0.2, 0.9, (3, 2))
    return Population(shares, means, leave, np.array([0, 1, 1, 2]))


def twin(
    people: Population, rule: np.ndarray, policy: sj.policies.IMED, visits: int, number: int
) -> dict[int, float]:
    """Seed 5, run 2, step by step from the tables."""
    value = people.values_under(rule)
    keys = [np.uint64(stream_key(5, 2, np.uint64(2 + arm))) for arm in range(people.arms)]
    starts, coins = np.uint64(stream_key(5, 2, np.uint64(1))), policy_stream(5, 2)
    memory, pulls = policy.memory(people.arms), [0] * people.arms
    sums = dict.fromkeys((GAIN, LONGER, REWARD, STEPS), 0.0)
    for visit in range(visits):
        u = draw(starts, visit % number + 1)
        kind = int(np.searchsorted(np.cumsum(people.shares), u, side="right"))
        previous, step, left = 1, 1, False
        while not left:
            arm = policy.choose(memory, float(previous), coins)
            pulls[arm] += 1
            u, p = draw(keys[arm], pulls[arm]), people.means[kind, arm]
            q = people.leave[kind, people.layer(step), arm, previous]
            at, onward = (min(s, people.horizon) - 1 for s in (step, step + 1))
            for which, (column, gain) in enumerate(((GAIN, p), (LONGER, 1.0))):
                v = value[kind, ..., which]
                now = gain - v[at, previous]
                sums[column] += (
                    now + p * (1 - q[1]) * v[onward, 1] + (1 - p) * (1 - q[0]) * v[onward, 0]
                )
            reward = int(u < p)
            left = bool(u < p * q[1] if reward else u < p + (1 - p) * q[0])
            policy.update(memory, float(previous), arm, float(reward), left, float(reward))
            sums[REWARD], sums[STEPS] = sums[REWARD] + reward, sums[STEPS] + 1
            previous, step = reward, step + 1
    return sums | {PULLS + arm: float(n) for arm, n in enumerate(pulls)}


@pytest.mark.parametrize("number", [60, 7])
def test_runs_are_those_of_the_twin(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """People who come once, or in turn and back again."""
    people = population()
    place = Place.of([people], RULE, number)
    made = play(place, sj.policies.IMED(), 5, 2, 60, 10**6)
    expected = twin(people, RULE, sj.policies.IMED(), 60, number)
    assert made[VISITS] == 60
    for column, value in expected.items():
        assert made[column] == pytest.approx(value, rel=1e-12, abs=1e-9), column
    monkeypatch.setattr(chunks, "run_phase", chunks.run_phase.plain)
    plain = play(place, sj.policies.IMED(), 5, 2, 60, 10**6)
    np.testing.assert_allclose(plain, made, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        (sj.policies.FixedArm(1), always(1, 2)),
        (
            sj.policies.Rule([[0.3, 0.7], [0.9, 0.1]]),
            np.array([[0.9, 0.1], [0.3, 0.7], [0.9, 0.1]]),
        ),
    ],
)
def test_gains_are_those_of_exact_values(policy: sj.Policy, rows: np.ndarray) -> None:
    """Both ways of counting agree with the exact worth, and advantages vary less."""
    people, runs, visits = population(), 40, 400
    place = Place.of([people], RULE)
    made = np.array([play(place, policy, 0, run, visits, 10**6) for run in range(runs)])
    made = made[:, :PULLS] / made[:, [VISITS]]
    now, then = people.worth_under(RULE), people.worth_under(rows)
    for column, exact in (
        (GAIN, then.reward - now.reward),
        (LONGER, then.length - now.length),
        (REWARD, then.reward),
        (STEPS, then.length),
    ):
        error = made[:, column].std(ddof=1) / np.sqrt(runs)
        assert abs(made[:, column].mean() - exact) < TOLERANCE * error, column
    assert made[:, GAIN].std() < 0.7 * made[:, REWARD].std()


def test_the_rule_itself_gains_nothing() -> None:
    place = Place.of([population()], always(1, 2))
    made = play(place, sj.policies.FixedArm(1), 0, 0, 500, 10**6)
    assert made[[GAIN, LONGER]] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_means_that_drift_count_part_by_part() -> None:
    people, runs, visits = population(), 40, 300
    parts = [replace(people, means=people.means * share) for share in (1.0, 0.6, 0.2)]
    place = Place.of(parts, RULE)
    made = np.array(
        [play(place, sj.policies.FixedArm(0), 1, run, visits, 10**6) for run in range(runs)]
    )
    alone = [p.worth_under(always(0, 2)).reward for p in parts]
    for column, exact in (
        (GAIN, np.mean(alone) - np.mean([p.worth_under(RULE).reward for p in parts])),
        (REWARD, np.mean(alone)),
    ):
        each = made[:, column] / visits
        assert abs(each.mean() - exact) < TOLERANCE * each.std(ddof=1) / np.sqrt(runs)


def test_a_visit_that_never_ends_is_cut_off() -> None:
    people = population()
    endless = replace(people, leave=np.zeros_like(people.leave))
    place = replace(Place.of([people], RULE), populations=(endless,))
    made = play(place, sj.policies.FixedArm(0), 0, 0, 10, 1_000)
    assert made[STEPS] == 1_000 and made[VISITS] == 1

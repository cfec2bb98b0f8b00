"""Absorbing chains against their definition: sums over steps, all rules, and simulated squares."""

from itertools import product

import numpy as np
import pytest

from sojourn import chain


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random_chain(rng, *batch, states=4):
    onward = rng.random((*batch, states, states))
    return 0.9 * onward / onward.sum(axis=-1, keepdims=True)


def by_steps(onward, gain):
    """What the steps earn, one after the other."""
    found, now = np.zeros(len(gain)), np.eye(len(gain))
    for _ in range(2_000):
        found, now = found + now @ gain, now @ onward
    return found


def test_total_and_occupancy_are_sums_over_steps(rng):
    onward, gain = random_chain(rng), rng.random(4)
    assert chain.total(onward, gain) == pytest.approx(by_steps(onward, gain), rel=1e-12)
    start = np.array([0.25, 0.75, 0.0, 0.0])
    steps = [start @ by_steps(onward, state) for state in np.eye(4)]
    assert chain.occupancy(onward, start) == pytest.approx(steps, rel=1e-12)


def test_batches_and_columns(rng):
    onward, gain = random_chain(rng, 3), rng.random((3, 4))
    for found, one, each in zip(chain.total(onward, gain), onward, gain, strict=True):
        assert found == pytest.approx(by_steps(one, each), rel=1e-12)
    columns = chain.total(onward, np.stack([gain, 2.0 * gain], axis=-1))
    assert columns[..., 1] == pytest.approx(2.0 * chain.total(onward, gain), rel=1e-12)


def test_second_moment_of_a_geometric_number_of_coins():
    p, stay = 0.3, 0.8
    onward, mean = np.array([[stay]]), np.array([p])
    value = chain.total(onward, mean)
    square = chain.second_moment(onward, mean, p * onward, value)
    # The number N of steps is geometric: E of a binomial's square given N, and then over N.
    n, n2 = 1.0 / (1.0 - stay), (1.0 + stay) / (1.0 - stay) ** 2
    assert square == pytest.approx([n * p * (1.0 - p) + n2 * p * p], rel=1e-12)


def test_best_rule_is_the_best_of_all_rules(rng):
    for _ in range(20):
        onward, gain = random_chain(rng, 3) * rng.random((3, 4, 1)), rng.random((3, 4))
        rule, value = chain.best_rule(onward, gain)
        states = np.arange(4)
        every = [
            by_steps(onward[list(arms), states], gain[list(arms), states])
            for arms in product(range(3), repeat=4)
        ]
        assert value == pytest.approx(np.max(every, axis=0), rel=1e-9)
        assert by_steps(onward[rule, states], gain[rule, states]) == pytest.approx(value, rel=1e-9)


def test_a_tie_keeps_the_first_arm():
    rule, _ = chain.best_rule(np.full((2, 1, 1), 0.5), np.ones((2, 1)))
    assert rule.tolist() == [0]


@pytest.mark.parametrize("stays", [1.0, 1.0 - 1e-15, 1.5])
def test_who_stays_for_ever_is_refused(stays):
    with pytest.raises(chain.NeverEnds):
        chain.total(np.array([[stays]]), np.ones(1))


def test_solve_in_place_as_the_library(rng):
    onward, gain = random_chain(rng), rng.random(4)
    matrix, found = np.eye(4) - onward, gain.copy()
    chain.solve_in_place(matrix, found)
    assert found == pytest.approx(chain.total(onward, gain), rel=1e-12)


def test_mistake_cost_of_numbers_and_arrays():
    assert chain.mistake_cost(2.0, 5.0) == 4.0
    assert chain.mistake_cost(np.array([0.0, 2.0]), np.array([1.0, 1.0])).tolist() == [2.0, 0.0]

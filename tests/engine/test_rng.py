"""Streams: the reference generator, reproducible, uniform, and strangers to each other."""

from itertools import product

import naive
import numpy as np
import pytest

from sojourn.engine import streams as rng

TOLERANCE = 4.5
"""Standard errors."""


def of_key(key: int, size: int) -> np.ndarray:
    return np.array([rng.draw(np.uint64(key), n) for n in range(1, size + 1)])


def test_splitmix64_reference_vector() -> None:
    reference = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    with np.errstate(over="ignore"):
        states = [np.uint64(1234567) + np.uint64(n) * rng.GOLDEN for n in range(1, 6)]
    assert [int(rng.mix(state)) for state in states] == reference
    assert [naive.mix((1234567 + n * naive.GOLDEN) % 2**64) for n in range(1, 6)] == reference
    assert [rng.draw(np.uint64(1234567), n) for n in range(1, 6)] == [
        (word >> 11) / 2**53 for word in reference
    ]


@pytest.mark.parametrize("seed", [0, 1, 7, 2**40, 2**63 - 1])
def test_keys_and_draws_equal_python_integers(seed: int) -> None:
    for run, owner in product([0, 1, 2, 10**9], [0, 1, 2, 5]):
        key = naive.stream_key(seed, run, owner)
        assert int(rng.stream_key(seed, run, np.uint64(owner))) == key
        for n in (1, 2, 10**12):
            assert rng.draw(np.uint64(key), n) == naive.draw(key, n)


def test_policy_stream_is_the_stream_of_its_owner() -> None:
    for seed, run in [(7, 0), (7, 1), (8, 0)]:
        coins = rng.policy_stream(seed, run)
        assert coins.shape == (1,) and coins.dtype == np.uint64
        key = naive.stream_key(seed, run, 0)
        assert [rng.draw_uniform(coins) for _ in range(5)] == [
            naive.draw(key, n) for n in range(1, 6)
        ]


def test_the_same_stream_twice_and_different_ones() -> None:
    def head(seed: int, run: int) -> tuple[float, ...]:
        coins = rng.policy_stream(seed, run)
        return tuple(rng.draw_uniform(coins) for _ in range(4))

    assert head(3, 4) == head(3, 4)
    assert len({head(seed, run) for seed in range(10) for run in range(10)}) == 100


def test_uniforms_are_uniform() -> None:
    size = 50_000
    u = of_key(naive.stream_key(11, 0, 2), size)
    assert u.min() >= 0.0 and u.max() < 1.0
    assert abs(u.mean() - 1 / 2) < TOLERANCE * np.sqrt(1 / 12 / size)
    assert abs(u.var() - 1 / 12) < TOLERANCE * np.sqrt(1 / 180 / size)
    ranks = np.arange(size) / size
    distance = max((np.sort(u) - ranks).max(), (ranks + 1 / size - np.sort(u)).max())
    assert distance * np.sqrt(size) < 2.3  # Kolmogorov: exceeded with chance 5e-5
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < TOLERANCE / np.sqrt(size)


def test_first_draws_over_runs_are_uniform() -> None:
    """What a simulation averages over is the runs."""
    size = 20_000
    u = np.array([rng.draw_uniform(rng.policy_stream(0, run)) for run in range(size)])
    assert abs(u.mean() - 1 / 2) < TOLERANCE * np.sqrt(1 / 12 / size)
    assert abs(u.var() - 1 / 12) < TOLERANCE * np.sqrt(1 / 180 / size)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < TOLERANCE / np.sqrt(size)


def test_no_two_streams_begin_alike() -> None:
    keys = {
        int(rng.stream_key(seed, run, np.uint64(owner)))
        for seed, run, owner in product(range(40), range(40), range(12))
    }
    assert len(keys) == 40 * 40 * 12


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, 0, 0), (5, 1, 0)),
        ((5, 0, 0), (6, 0, 0)),
        ((5, 0, 2), (5, 0, 3)),
        ((5, 6, 0), (6, 5, 0)),
        ((0, 1, 0), (1, 0, 0)),
        ((0, 0, 1), (0, 1, 0)),
    ],
)
def test_neighbours_are_uncorrelated(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    size = 10_000
    u, v = (of_key(naive.stream_key(*address), size) for address in (one, other))
    for lag in (0, 1, 2):
        correlation = np.corrcoef(u[lag:], v[: size - lag])[0, 1]
        assert abs(correlation) < TOLERANCE / np.sqrt(size)

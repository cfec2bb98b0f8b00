"""The moving average: its fit, when it is believed, and its band."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from logs_twin import NOT_KNOWN, Log, sample_twin, twin
from worlds import WORLDS

import sojourn as sj
from sojourn.logs import Fit, OwnFirstStep
from sojourn.logs.model.ema import EmaFit, moving_average, rotations
from sojourn.logs.model.exit_curves import (
    BINS,
    CLASSES,
    STARTS,
    THETAS,
    Lens,
    Paths,
    fit_tables,
    make_fall,
)
from sojourn.logs.model.sample import Sample
from sojourn.logs.synthetic import synthetic_log
from sojourn.stats.departures import probability

AVERAGE = sj.Problem([0.7, 0.3], sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=20), start=1))
ENDS = (2, 3, 5, 10, 20, 50)


def a_log(visits: int, run: int = 0) -> Log:
    return synthetic_log(
        AVERAGE, sj.policies.Uniform(), visits=visits, seed=8, run=run, max_steps=12
    )


def fitted(log: Log) -> EmaFit:
    found = moving_average(sample_twin(log))
    assert found is not None
    return found


def slow_tables(sample: Sample, theta: float, start: float) -> np.ndarray:
    """Steps and departures by held out, class and bin, by the recursion itself."""
    found = np.zeros((2, 2, CLASSES, BINS))
    state, known = start, True
    for i in range(sample.user.size):
        if sample.step[i] == 1:
            state, known = start, True
        known &= bool(sample.reward[i] != NOT_KNOWN)
        state = (1 - theta) * state + theta * sample.value[i] if known else state
        if sample.step[i] > 1 and known and sample.end[i] < 2:
            place = sum(sample.step[i] > end for end in ENDS), min(int(state * BINS), BINS - 1)
            found[(0, int(sample.held[i]), *place)] += 1
            found[(1, int(sample.held[i]), *place)] += sample.end[i] == 1
    return found


def test_steps_are_counted_by_their_moving_average() -> None:
    log = a_log(300)
    lost = np.random.default_rng(1).random(log["reward"].size) < 0.03
    sample = sample_twin({**log, "reward": np.where(lost, NOT_KNOWN, log["reward"])})
    paths = Paths.of(sample)
    for theta, start in ((0.5, 1.0), (0.9, 0.0), (0.1, 0.5)):
        lens = Lens(paths, theta)
        mine = lens.tables(paths.value)[0, STARTS.index(start)]
        slow = slow_tables(sample, theta, start)
        np.testing.assert_array_equal(mine.sum(axis=3), slow.sum(axis=3))
        # Averages are known to half a hundredth: near the edge of a bin a step may be in the next.
        assert np.abs(mine - slow).sum() <= 0.08 * slow.sum()
        twice = lens.tables(paths.value, np.full((1, sample.users), 2.0))[0, STARTS.index(start)]
        np.testing.assert_array_equal(twice, 2.0 * mine)


def test_falling_is_the_best_of_all_partitions() -> None:
    """The best nonincreasing step function, by trying every way to pool neighbours."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        value, weight = rng.random(7), rng.random(7) + 0.1
        best, cost = value.copy(), np.inf
        for cuts in range(2**6):
            edges = [0, *(i + 1 for i in range(6) if cuts >> i & 1), 7]
            blocks = [slice(a, b) for a, b in pairwise(edges)]
            means = [np.average(value[b], weights=weight[b]) for b in blocks]
            flat = np.concatenate(
                [[m] * (b.stop - b.start) for m, b in zip(means, blocks, strict=True)]
            )
            if (np.diff(flat) <= 0).all() and (weight * (value - flat) ** 2).sum() < cost:
                best, cost = flat, (weight * (value - flat) ** 2).sum()
        make_fall(value, weight)
        np.testing.assert_allclose(value, best)


def test_log_odds_add_up_and_fall() -> None:
    """With many steps the fit is the truth; what rises in truth is pooled."""
    a, b = np.array([-1.0, -2.0, -1.5]), np.array([1.0, 0.4, 0.4, -0.8])
    n = np.random.default_rng(0).integers(10**6, 10**7, (3, 4)).astype(float)
    q = probability(a[:, None] + b)
    found = fit_tables(n, n * q, turns=200)
    np.testing.assert_allclose(found.chances, q, rtol=1e-4)
    np.testing.assert_allclose(
        found.curve(np.array([1.0, 1.0, 2.0])), np.array([0.25, 0.25, 0.5]) @ q, rtol=1e-4
    )
    rising = fit_tables(n, n * probability(a[:, None] - b), turns=200)
    assert np.ptp(rising.by_state) < 1e-6
    none = fit_tables(n / 10**6, np.zeros((3, 4)), turns=200)
    assert (none.chances > 0.0).all(), "no departure is not the same as never"


def test_shuffled_rewards_stay_in_their_group() -> None:
    groups = np.random.default_rng(0).integers(0, 40, 1000)
    orders = list(rotations(groups, 3, np.random.default_rng(1)))
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(1000))
        np.testing.assert_array_equal(groups[order], groups)
        assert np.mean(order == np.arange(1000)) < 0.15
    assert (orders[0] != orders[1]).mean() > 0.8


@pytest.mark.parametrize("name", ["habits", "ignores rewards"])
def test_where_rewards_do_not_matter_no_curve_is_believed(name: str) -> None:
    """Chances to leave that fall with the step, or users of whom some like more and stay longer."""
    world = WORLDS[name]()
    found = [fitted(world.log(800, 200, seed)) for seed in range(8)]
    assert sum(ema.believed for ema in found) <= 1
    for ema in found:
        assert len(ema.shuffled) == (38 if ema.above_noise else 0)
        assert np.isnan(ema.low).all() != ema.believed, "a band where there is a curve"
    fit = replace(Fit.from_totals(twin(world.log(800, 200, 1))), ema=found[1])
    with pytest.raises(ValueError, match="predicts departures no better than a count of steps"):
        fit.problem("ema")
    assert "predicts departures no better than a count of steps" in str(fit)
    how = "rewards put in random order" if found[1].above_noise else "no more than noise would"
    assert how in " ".join(str(fit).split())


def test_a_true_moving_average_is_believed_and_its_band_covers() -> None:
    logs = 24
    leave = AVERAGE.user.leave  # type: ignore[attr-defined]
    found = [fitted(a_log(600, run)) for run in range(logs)]
    assert all(ema.believed for ema in found)
    assert np.mean([0.3 <= ema.theta <= 0.7 for ema in found]) >= 0.9
    hits = []
    for ema in found:
        truth = np.array([leave.probability(float(s)) for s in ema.state])
        hits.append(np.mean(((ema.low <= truth) & (truth <= ema.high))[ema.n >= 50]))
    assert 0.89 < np.mean(hits) < 0.995


def test_the_moving_average_becomes_a_problem() -> None:
    log = a_log(20_000)
    ema = fitted(log)
    assert (ema.theta, ema.start) == (0.5, 1.0)
    assert ema.gain == max(ema.tried.values()) and len(ema.tried) == len(THETAS) * len(STARTS)
    found = replace(Fit.from_totals(twin(log)), ema=ema)
    assert (np.diff(ema.curve.q) <= 0.0).all()
    problem = found.problem("ema")
    assert isinstance(problem.user, OwnFirstStep)
    assert problem.value() == pytest.approx(AVERAGE.value(), rel=0.05)
    assert isinstance(found.problem(first_step=False).user, sj.TwoState)
    assert "falls from" in str(found)


def test_large_samples_are_fitted_to_some_of_the_users() -> None:
    log = a_log(2_000)
    found = moving_average(sample_twin(log), most=log["visit"].size // 2)
    whole = fitted(log)
    assert found is not None
    assert found.n.sum() == pytest.approx(0.5 * whole.n.sum(), rel=0.1)


def test_the_moving_average_is_not_there_unless_fitted() -> None:
    log = a_log(400)
    found = Fit.from_totals(twin(log))
    with pytest.raises(ValueError, match="no moving average was fitted"):
        found.problem("ema")
    with pytest.raises(ValueError, match="it must be one of two-state, ema"):
        found.problem("three-state")
    short = {column: values[log["step"] == 1] for column, values in log.items()}
    assert moving_average(sample_twin(short)) is None

"""The model of departures: the online fit of a table beside the batch fit of a log."""

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.logs import Fit
from sojourn.stats.departures import (
    ArmEffects,
    FittedTable,
    Table,
    common,
    crossed,
    excess,
    fit_effects,
)
from sojourn.stats.effects import contrasts

USER = sj.TwoState(0.25, 0.1, 0.2, 0.08)
EFFECTS = (0.6, -0.1, -0.5)
BELIEF = 4.5
"""Nats from which on a policy acts on arms that differ in departures (`VisitIMED.faith`)."""


def a_log(effects: tuple[float, ...], seed: int, visits: int = 1_500) -> dict[str, Any]:
    """Users who are alike, shown arms at random."""
    problem = sj.Problem([0.7, 0.5, 0.4], sj.ByArm.odds(USER, effects))
    return sj.logs.synthetic_log(problem, sj.policies.Uniform(), visits=visits, seed=seed)


def table_of(log: dict[str, Any]) -> Table:
    """Steps and departures as an experiment counts them: visits begin in the state after a 1."""
    arm, reward, left = (np.asarray(log[name]).astype(int) for name in ("arm", "reward", "left"))
    first = np.asarray(log["step"]) == 1
    state = np.where(first, 1, np.roll(reward, 1))
    table = Table(np.zeros((3, 2, 2)), np.zeros((3, 2, 2)))
    np.add.at(table.seen, (arm, state, reward), 1.0)
    np.add.at(table.left, (arm, state, reward), left.astype(float))
    return table


def batch(log: dict[str, Any]) -> Fit:
    return sj.fit(log, ema=False)


def centred(effects: np.ndarray, fit: Fit) -> np.ndarray:
    """Effects beside their average over the steps of the log."""
    assert fit.model is not None
    return np.asarray(effects - fit.model.pulls @ effects / fit.model.pulls.sum())


@pytest.mark.parametrize("seed", [1, 2])
def test_online_and_batch_fits_agree_where_both_apply(seed: int) -> None:
    log = a_log(EFFECTS, seed)
    found, fit = ArmEffects(table_of(log)), batch(log)
    model = fit.model
    assert model is not None
    rows = contrasts(model.layout.leaving, model.pulls, model.layout.size)
    effects = rows @ model.joint.estimate
    errors = np.sqrt(np.einsum("ap,pq,aq->a", rows, model.joint.covariance, rows))
    online = centred(found.fitted.effect, fit)
    assert (np.abs(online - effects) < errors).all()
    for each in (online, effects):
        assert (np.abs(each - centred(np.array(EFFECTS), fit)) < 3.0 * errors).all()
    assert found.raising.tolist() == [True, False, False]
    assert [effect.differs for effect in fit.effects][0::2] == [True, True]


def test_with_no_true_effect_none_of_the_three_warns() -> None:
    """The test of a fit has a level: with 8 logs, 5 % and 1.6 standard errors are one alarm."""
    warned = {"policy": 0, "dashboard": 0, "fit": 0}
    for seed in range(3, 11):
        log = a_log((0.0, 0.0, 0.0), seed, visits=500)
        table = table_of(log)
        warned["policy"] += bayes_factor(table) > BELIEF
        warned["dashboard"] += bool(ArmEffects(table).raising.any())
        warned["fit"] += any(effect.differs for effect in batch(log).effects)
    assert warned["policy"] == warned["dashboard"] == 0 and warned["fit"] <= 1


def bayes_factor(table: Table) -> float:
    """As a policy has it: the log of how much likelier the data are if arms differ."""
    bins = table.seen.shape[1]
    zero = np.zeros((bins, 2)), np.zeros(3), np.zeros_like(table.seen), np.zeros(1)
    return fit_effects(FittedTable(*table, *zero), common(table))[1]


def test_the_compiled_fit_is_the_interpreted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    seen = rng.poisson(40.0, (5, 4, 2)).astype(float)
    table = Table(seen, rng.binomial(seen.astype(int), 0.2).astype(float))
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr("sojourn.stats.departures.INTERPRETED", least)
        found.append(ArmEffects(table))
    np.testing.assert_allclose(*(each.leave for each in found), rtol=1e-12)
    np.testing.assert_allclose(*(each.ratio for each in found), rtol=1e-12)


def test_intervals_of_ratios_cover_the_truth() -> None:
    """Arms as different as the model takes them to be: 95 % of the intervals, or a little more."""
    rng, hits = np.random.default_rng(2), []
    base = np.log(np.array([[0.2, 0.1], [0.15, 0.08]]))
    for _ in range(60):
        odds = base + rng.normal(0.0, 0.5, (8, 1, 1))
        leave = 1.0 / (1.0 + np.exp(-odds))
        seen = rng.poisson(150.0, leave.shape).astype(float)
        found = ArmEffects(Table(seen, rng.binomial(seen.astype(int), leave).astype(float)))
        exact = ArmEffects(Table(1e6 * seen, 1e6 * seen * leave)).ratio[0]
        for arm, truth in enumerate(exact):
            interval = found.interval(arm)
            assert interval is not None
            hits.append(interval.low <= truth <= interval.high)
    assert 0.92 < np.mean(hits) < 0.99


def test_excess_is_what_fisher_expects() -> None:
    """The mean and the variance of a hypergeometric count, for each arm."""
    table = Table(np.array([[[30.0, 0.0]], [[70.0, 0.0]]]), np.array([[[9.0, 0.0]], [[11.0, 0.0]]]))
    beyond, variance = excess(table)
    assert beyond.tolist() == pytest.approx([3.0, -3.0])
    assert variance.tolist() == pytest.approx([30 * 70 * 20 * 80 / (100**2 * 99)] * 2)
    assert not crossed(table).any() and crossed(Table(100 * table.seen, 100 * table.left))[0]

"""Warnings from the steps one by one: how often they are right, and how often a false alarm."""

import numpy as np
import pytest
from logs_twin import Log, sample_twin, twin
from worlds import BY_REWARD, CONSTANT, MEANS, NORMAL, WORLDS, world

from sojourn.logs import Fit
from sojourn.logs.model.detection import CASE, FORECAST, by_propensity, groups, reverse_causation
from sojourn.logs.model.diagnostics import Diagnostic
from sojourn.logs.model.fitted import best_share
from sojourn.stats.clusters import widening
from sojourn.stats.intervals import t

STRONG = ((0.5, 0.1),) * 3
FAR = (0.9, 0.6, 0.3)


def fitted(log: Log) -> Fit:
    return Fit.from_totals(twin(log), sample=sample_twin(log))


def warned(log: Log) -> dict[str, Diagnostic]:
    return {doubt.name: doubt for doubt in fitted(log).diagnostics}


def left_unfinished(log: Log, rng: np.random.Generator, share: float = 0.7) -> Log:
    """Most of those who leave are written down as a 0."""
    gone = (log["left"] == 1) & (rng.random(log["left"].size) < share)
    return log | {"reward": np.where(gone, 0, log["reward"])}


@pytest.mark.parametrize(
    "made",
    [
        world(MEANS, BY_REWARD),
        world(FAR, STRONG),
        world(FAR, STRONG, arm_odds=(1.0, 0.0, 0.0)),
        world(FAR, STRONG, taste=1.0, leaving=1.0, correlation=-0.8),
    ],
    ids=["neutral", "strong", "clickbait", "users differ"],
)
def test_zeros_that_drive_people_away_give_no_alarm(made) -> None:  # type: ignore[no-untyped-def]
    alarms = [
        told.better > max(1.645 * told.error, 2.0)
        for told in (
            reverse_causation(sample_twin(made.log(1000, 250, seed))) for seed in range(25)
        )
    ]
    assert sum(alarms) <= 3  # 5 % of 25, and 1.6 standard errors


def test_zeros_that_are_traces_of_leaving_are_found() -> None:
    made = world(FAR, CONSTANT, spoil=left_unfinished)
    told = [reverse_causation(sample_twin(made.log(2000, 500, seed))) for seed in range(10)]
    assert sum(each.better > max(1.645 * each.error, 2.0) for each in told) >= 8
    assert np.mean([each.share for each in told]) == pytest.approx(0.7, abs=0.05)
    doubt = warned(made.log(4000, 1000, 1))["reverse causation"]
    assert "a 0 is written down because people leave" in str(doubt) and not doubt.note


def test_what_cannot_be_told_apart_is_a_note() -> None:
    made = world((0.5, 0.5), CONSTANT, spoil=left_unfinished)
    found = fitted(made.log(2000, 500, 2))
    (doubt,) = [w for w in found.diagnostics if w.name == "possible reverse causation"]
    assert doubt.note and "note: with a reward of 0" in str(found)


def test_bots_are_named() -> None:
    log = WORLDS["bots"]().log(4000, 1000, 0)
    doubt = warned(log)["few users decide"]
    assert "5 of 1,005 users" in doubt.seen and "48% of the steps" in doubt.seen
    for name in range(1000, 1005):
        assert str(name) in doubt.seen
    assert "among the others a mistake costs more after a 0" in doubt.seen
    assert doubt.spoils == CASE, "with them it costs less"


def test_few_users_spoil_no_case_that_is_the_same_without_them() -> None:
    log = WORLDS["normal"]().log(4000, 1000, 0)
    last = log["visit"].max() + 1
    added = {  # five users who come and go a hundred times each, after a single item that they like
        "user": 1000 + np.arange(500) % 5, "visit": last + np.arange(500),
        "step": np.ones(500, int), "arm": np.arange(500) % 3, "reward": np.ones(500, int),
        "left": np.ones(500, int),
    }  # fmt: skip
    found = fitted({name: np.concatenate([log[name], added[name]]) for name in added})
    (doubt,) = [w for w in found.diagnostics if w.name == "few users decide"]
    assert "the chance to leave at the first step, with reward 1" in doubt.seen
    assert not doubt.spoils and found.case == "normal"


@pytest.mark.parametrize("name", ["normal", "taste", "two kinds"])
def test_users_as_usual_decide_nothing_alone(name: str) -> None:
    made = WORLDS[name]()
    for seed in range(6):
        assert "few users decide" not in warned(made.log(2000, 500, seed))


def test_other_arms_for_other_people_are_noticed() -> None:
    for name in ("selection", "mood"):
        doubt = warned(WORLDS[name]().log(4000, 1000, 1))["confounding"]
        assert "cannot be compared as they are" in doubt.meaning
    for name in ("normal", "by state", "favourites", "taste"):  # at most one of the two
        for seed in range(5):
            assert "confounding" not in warned(WORLDS[name]().log(2000, 500, seed))


def test_arms_that_nobody_sees_together_are_noticed() -> None:
    means = np.array([[0.7, 0.6, 0.5, 0.4]] * 2)
    rule = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])[:, None]
    log = world(means, rule=rule).log(2000, 500, 1)
    assert groups(sample_twin(log)) in ([[0, 1], [2, 3]], [[2, 3], [0, 1]])
    doubt = warned(log)["arms apart"]
    assert "2 groups" in doubt.seen and "0, 1" in doubt.seen and doubt.spoils == FORECAST
    rule[0] = [0.5, 0.4, 0.1, 0.0]  # 2 is shown with both
    assert groups(sample_twin(world(means, rule=rule).log(2000, 500, 1))) == [[0, 1, 2, 3]]
    for name in ("favourites", "selection", "equal arms", "clickbait, avoided"):
        assert "arms apart" not in warned(WORLDS[name]().log(2000, 500, 1))


def test_propensities_give_means_of_the_same_people() -> None:
    made = WORLDS["selection"]()
    log = made.log(20_000, 10_000, 1)
    sample = sample_twin(log, propensity=True)
    weighted = by_propensity(sample)
    assert weighted is not None
    # Weighted by how many steps each kind of user makes.
    steps = made._present(made.rule).sum(axis=(1, 2)) * made.shares
    truth = steps @ made.means[:, 0] / steps.sum()
    error = np.sqrt(0.25 / (0.02 * sample.user.size))
    np.testing.assert_allclose(weighted, truth, atol=4.5 * error)
    assert np.argmax(weighted) == np.argmax(truth) != np.argmax(fitted(log).means)
    found = Fit.from_totals(twin(log), sample=sample)
    assert "weighted by the log's propensities" in str(found)
    assert by_propensity(sample_twin(log)) is None


def test_quantiles_of_student() -> None:
    known = {
        1: 12.7062,
        2: 4.30265,
        2.5: 3.57465,
        3: 3.18245,
        5: 2.57058,
        10: 2.22814,
        100: 1.98397,
    }
    for free, value in known.items():
        assert t(free) == pytest.approx(value, abs=6e-5)
    assert t(5, 0.99) == pytest.approx(4.03214, abs=6e-5)
    assert t(3, 0.5) == pytest.approx(0.76489, abs=6e-5)


def test_few_users_widen_intervals_and_cells_are_covered() -> None:
    assert widening(np.array([1e5]), np.array([1e5]))[0] == pytest.approx(1.0, abs=1e-4)
    made = world(MEANS, NORMAL, taste=1.0, leaving=1.0)
    truth = fitted(made.log(60_000, 30_000, 99)).q
    hits = []
    for seed in range(60):
        found = Fit.from_totals(twin(made.log(160, 20, seed)))
        hits.append(
            [x.low <= q <= x.high for x, q in zip(found.leave.values(), truth, strict=True)]
        )
    assert 0.92 < np.mean(hits) < 0.985


def test_the_luck_of_the_best_of_many_arms_is_taken_off() -> None:
    made = world((0.5,) * 50)
    d0 = made.costs().d0
    plain, mine = [], []
    for seed in range(40):
        found = Fit.from_totals(twin(made.log(1000, 500, seed), min_pulls=1))
        plain.append(max(found.means) - 0.5)
        mine.append(found.costs.d0.low <= d0 <= found.costs.d0.high)
        best, _ = best_share(found.arms, found.covariance[-1, -1], found.totals)
        assert 0.45 < best < 0.58
    assert np.mean(plain) > 0.05
    assert np.mean(mine) > 0.8  # 0.62 without

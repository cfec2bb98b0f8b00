"""What a log allows people to be: effects with the right size, crowds that are worse in one way."""

from functools import cache

import numpy as np
import pytest
from worlds import WORLDS, world

import sojourn as sj
from sojourn.logs import Fit
from sojourn.logs.deciding.outcomes import baseline
from sojourn.logs.deciding.playing import cut_off, plain_population
from sojourn.logs.deciding.worst_cases import Effects, Evidence, advance, evidence, worst_cases
from sojourn.logs.model.design import LAYER_OF_STEP
from sojourn.stats.intervals import Interval
from sojourn.users.population import Population, always

ROLES = {c: c for c in ("visit", "user", "arm", "reward", "step", "left")}
COLUMNS = (*ROLES, "censored")


@cache
def fitted(name: str, seed: int = 0, visits: int = 4_000) -> Fit:
    log = WORLDS[name]().log(visits, seed=seed)
    return sj.fit({c: log[c] for c in COLUMNS if c in log}, **ROLES, ema=False)


def seen(fit: Fit) -> Evidence:
    return evidence(fit.sample, plain_population(fit), fit.incumbent.rule)


def by_arm(fit: Fit) -> Effects:
    steps = seen(fit)
    return steps.effects(steps.arm, 3)


def stressed(fit: Fit) -> dict[str, tuple[Population, ...]]:
    crowd = plain_population(fit)
    return worst_cases(fit, crowd, baseline(fit, crowd).rule)


def test_effects_of_arms_are_those_of_the_world() -> None:
    found = by_arm(fitted("clickbait"))
    assert abs(found.value[0] - found.value[1] - 2.0) < 4.5 * np.hypot(*found.error[:2]) + 0.05
    assert (np.abs(found.value) > 4.5 * found.error).all()
    same = [by_arm(fitted("taste", seed, 1_000)) for seed in range(6)]
    scores = np.array([x.value / x.error for x in same]).ravel()
    assert abs(scores.mean()) < 4.5 / np.sqrt(scores.size)
    assert np.mean(np.abs(scores) > 1.96) < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / scores.size)


def test_effects_of_steps_rise_with_fatigue() -> None:
    steps = seen(fitted("fatigue"))
    found = steps.effects(steps.layer, 8)
    late, early = found.value[5], found.value[1]
    assert late - early > 4.5 * np.hypot(found.error[5], found.error[1])


def test_spread_of_users_is_noticed() -> None:
    alike = seen(fitted("normal")).spread()
    assert alike.taste < 0.05 and alike.leaving < 0.05
    differ = seen(fitted("better tastes leave earlier")).spread()
    assert differ.taste > 0.5 and differ.leaving > 0.2 and differ.correlation > 0.5


def test_a_crowd_in_more_layers_is_the_same() -> None:
    fit = fitted("normal")
    crowd, rule = plain_population(fit), always(0, 3)
    assert crowd.in_layers(LAYER_OF_STEP).worth_under(rule) == pytest.approx(
        crowd.worth_under(rule)
    )
    again = crowd.in_layers(LAYER_OF_STEP).in_layers(LAYER_OF_STEP)
    np.testing.assert_array_equal(again.leave, crowd.in_layers(LAYER_OF_STEP).leave)


def test_worst_cases_change_one_thing_each() -> None:
    fit = fitted("normal")
    crowd, made = plain_population(fit).in_layers(LAYER_OF_STEP), stressed(fit)
    rule = fit.incumbent.rule
    assert list(made) == ["arms", "users", "personal", "drift", "fatigue"]
    (arms,), (fatigue,) = made["arms"], made["fatigue"]
    np.testing.assert_array_equal(arms.means, crowd.means)
    usual = crowd.worth_under(always(0, 3)).reward
    assert arms.worth_under(always(0, 3)).reward < usual, "it looks best"
    np.testing.assert_allclose(fatigue.leave[:, 0], crowd.leave[:, 0])
    assert (fatigue.leave[:, 1:] >= crowd.leave[:, 1:] - 1e-12).all()
    assert fatigue.worth_under(rule).length < crowd.worth_under(rule).length
    (users,) = made["users"]
    assert users.shares.sum() == pytest.approx(1.0) and users.shares.size == 4
    drift = made["drift"]
    best = int(np.argmax(crowd.means[0]))
    path = [c.means[0, best] for c in drift]
    assert path == sorted(path, reverse=True) and path[0] > crowd.means[0, best] > path[-1]
    (personal,) = made["personal"]
    assert np.abs(personal.means - crowd.means).max() < 0.02


def test_a_recommender_that_knows_its_users_is_noticed() -> None:
    """Everyone has a favourite, which is shown nine times in ten: 0.75, to all others 0.35."""
    fit, truth = fitted("favourites"), WORLDS["favourites"]()
    (personal,) = stressed(fit)["personal"]
    assert np.abs(personal.means - truth.shares @ truth.means[:, 0]).max() < 0.05
    (alone, *_) = truth.by_arm
    now = plain_population(fit).worth_under(fit.incumbent.rule).reward
    gain = personal.worth_under(always(0, 3)).reward - now
    assert gain == pytest.approx(alone.reward - truth.worth().reward, abs=0.5)


def test_the_model_has_what_was_cut_off() -> None:
    """A log whose visits stop after four steps, and one that is not cut off."""
    made = world()
    log = made.log(6_000)
    kept = log["step"] <= 4
    log = {name: column[kept] for name, column in log.items()}
    log["censored"] = (log["step"] == 4).astype(int)
    log["left"] = log["left"] * (1 - log["censored"])
    fit = sj.fit({c: log[c] for c in COLUMNS}, **ROLES, censored="censored", ema=False)
    crowd = plain_population(fit)
    now = baseline(fit, cut_off(crowd, fit.totals))
    assert now.reward.low < now.model.reward < now.reward.high
    assert now.length.low < now.model.length < now.length.high
    assert abs(now.missed.value) < 0.03 and now.censored > 0.3
    uncut = crowd.worth_under(fit.incumbent.rule)
    assert uncut.reward == pytest.approx(made.worth().reward, rel=0.05)
    assert uncut.reward > now.reward.high
    whole = fitted("normal")
    plain = plain_population(whole)
    assert cut_off(plain, whole.totals) is plain


def test_visits_are_cut_off_step_by_step() -> None:
    """By the same chances as in the log, and as a sum over the steps has it."""
    log = world().log(6_000)
    rng = np.random.default_rng(1)
    limit = rng.integers(2, 9, int(log["visit"].max()) + 1)[log["visit"]]
    kept = log["step"] <= limit
    log = {name: column[kept] for name, column in log.items()}
    log["censored"] = (log["step"] == limit[kept]).astype(int)
    log["left"] = log["left"] * (1 - log["censored"])
    fit = sj.fit({c: log[c] for c in COLUMNS}, **ROLES, censored="censored", ema=False)
    crowd, rule = plain_population(fit), fit.incumbent.rule
    ends = fit.totals.steps.sum(axis=(0, 2, 3))
    there, length = np.array([[0.0, 1.0]]), 0.0
    for step in range(1, 9):
        length += there.sum()
        there = advance(crowd, rule, there, step) * (1.0 - ends[step - 1, 2] / ends[step - 1].sum())
    assert there.sum() == 0.0, "no visit has nine steps"
    assert cut_off(crowd, fit.totals).worth_under(rule).length == pytest.approx(length, rel=1e-9)


def test_totals_have_assumed_worst_cases() -> None:
    totals = {"n": [[470, 355], [789, 3488]], "k": [[163, 28], [425, 220]], "means": [0.79, 0.18]}
    fit = Fit.from_counts(**totals)
    now = baseline(fit, plain_population(fit))
    assert now.reward is None and now.missed == Interval.exact(0.0)
    assert list(stressed(fit)) == ["arms", "users", "drift", "fatigue"]

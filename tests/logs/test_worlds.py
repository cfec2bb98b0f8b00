"""The made-up worlds: their logs against their truth, and that against the package."""

import itertools

import numpy as np
import pytest
from world import World
from worlds import CLICKBAIT, MEANS, NORMAL, QUOTA, SAME_LEAVING, WORLDS, world

import sojourn as sj

ERRORS = 4.5
SPOILED = ("course", "bots", "bad clocks", "duplicates", "written twice")


def by_user(log: dict[str, np.ndarray], what: np.ndarray) -> tuple[float, float]:
    """The mean of a total per visit and its standard error, clustered by user."""
    visits = np.bincount(log["user"][log["step"] == 1])
    total = np.bincount(log["user"], what)
    mean = total.sum() / visits.sum()
    rest = total - mean * visits
    return mean, float(np.sqrt((rest**2).sum()) / visits.sum())


@pytest.mark.parametrize("name", [name for name in WORLDS if name not in SPOILED])
def test_a_log_earns_what_its_recommender_is_worth(name: str) -> None:
    made = WORLDS[name]()
    log = made.log(visits=6_000, users=1_500, seed=1)
    for truth, what in zip(made.worth(), (log["reward"], np.ones(log["arm"].size)), strict=True):
        mean, error = by_user(log, what)
        assert abs(mean - truth) < ERRORS * error
    last = np.append(log["visit"][1:] != log["visit"][:-1], True)
    np.testing.assert_array_equal(log["left"], last)
    shares = np.bincount(log["arm"], weights=1.0 / log["propensity"], minlength=made.arms)
    assert np.abs(shares / log["arm"].size - 1.0).max() < 0.3


@pytest.mark.parametrize("name", ["clickbait", "looks normal", "quota", "drift"])
def test_always_an_arm_is_worth_what_a_log_of_it_earns(name: str) -> None:
    made = WORLDS[name]()
    log = made.with_rule(made.always(1)).log(visits=6_000, users=1_500, seed=2)
    mean, error = by_user(log, log["reward"])
    assert abs(mean - made.by_arm[1].reward) < ERRORS * error
    assert set(log["arm"]) == {1}


def test_worlds_of_the_model_are_solved_as_the_package_does() -> None:
    (f0, _), (q00, q01), (q10, q11) = NORMAL
    problem = sj.Problem(MEANS, sj.TwoState(q00, q01, q10, q11))
    made = world()
    assert f0 == q10  # the first step is one of state 1
    assert made.worth(made.best_rule).reward == pytest.approx(problem.value())
    assert made.worth(made.always(0)).steps == pytest.approx(problem.length.mean)
    costs = [problem.mistake_cost(s) for s in (0.0, 1.0)]
    assert made.costs() == pytest.approx(costs)


def test_clickbait_is_that_of_the_package() -> None:
    user = sj.TwoState(*CLICKBAIT[1], *CLICKBAIT[2], start=0)
    problem = sj.Problem([0.8, 0.6, 0.4], sj.ByArm.odds(user, [2.0, 0.0, 0.0]))
    made = WORLDS["clickbait"]()
    assert made.worth(made.best_rule).reward == pytest.approx(problem.value())
    assert [round(arm.reward, 2) for arm in made.by_arm] == [2.05, 6.34, 3.56]
    assert (round(made.worth().reward, 2), made.best_arm) == (3.01, 1)
    assert "clickbait" not in SAME_LEAVING and "selection" in SAME_LEAVING


def test_costs_are_those_of_each_kind_among_those_who_are_there() -> None:
    made = WORLDS["looks normal"]()
    assert made.kinds == 225
    costs, present = np.empty((made.kinds, 2)), np.empty((made.kinds, 2))
    for kind in range(made.kinds):
        p, q = made.means[kind, 0, made.best_arm], made.leave[kind, 0, 0]
        problem = sj.Problem([p, p / 2.0], sj.TwoState(*q[1], *q[2]))
        costs[kind] = [problem.mistake_cost(s) for s in (0.0, 1.0)]
        chance = np.array([1.0 - p, p])
        now, present[kind] = chance * (1.0 - q[0]), 0.0
        for _ in range(2_000):
            present[kind] += now
            now = now @ (chance * (1.0 - q[1:]))
    truth = (costs * present).sum(axis=0) / present.sum(axis=0)
    assert made.costs() == pytest.approx(truth)
    assert made.costs().ratio == pytest.approx(0.90, abs=0.005)
    there = made.shares[:, None] * made._present(made.rule)[:, 0, 1:]
    log = (there * costs).sum(axis=0) / there.sum(axis=0)
    assert made.costs("log") == pytest.approx(log)
    same = there.sum(axis=1) @ costs / there.sum()
    assert made.costs("same") == pytest.approx(same)
    assert WORLDS["ignores the state"]().costs("same").ratio == pytest.approx(1.0)


def test_layers_that_are_alike_change_nothing() -> None:
    one, seven = world(taste=1.0), world(taste=1.0, step_odds=[0.0] * 7)
    assert seven.layers == 7
    assert seven.worth() == pytest.approx(one.worth())
    assert seven.costs() == pytest.approx(one.costs())
    np.testing.assert_allclose(seven.seen_means(), one.seen_means())


def test_costs_by_step_are_a_slope_of_the_value() -> None:
    """A pull that is worse by e after a 0, at every step, loses e D(0) for each such step."""
    made = world(step_odds=QUOTA, taste=1.0)
    e, rule = 1e-5, made.always(0)
    for state, cost in enumerate(made.costs(), start=1):
        means = made.means.copy()
        means[:, state, 0] -= e
        worse = World(means, made.leave, made.rule, made.shares)
        steps = (made.shares @ made._present(made._by_kind(rule)).sum(axis=1))[state]
        lost = made.worth(rule).reward - worse.worth(rule).reward
        assert lost == pytest.approx(e * cost * steps, rel=1e-3)


@pytest.mark.parametrize("name", ["clickbait", "favourites", "mood"])
def test_the_best_rule_is_the_best_of_all(name: str) -> None:
    made = WORLDS[name]()
    every = itertools.product(range(made.arms), repeat=3)
    worth = [made.worth(np.eye(made.arms)[list(arms)]).reward for arms in every]
    assert made.worth(made.best_rule).reward == pytest.approx(max(worth))


def test_the_best_rule_depends_on_the_state_where_that_pays() -> None:
    made = world((0.8, 0.4), ((0.1, 0.1), (0.1, 0.05), (0.1, 0.9)))
    assert made.best_rule.argmax(axis=1).tolist() == [0, 0, 1]


def test_recommenders_that_show_arms_to_some_users_mislead() -> None:
    made = WORLDS["selection"]()
    assert made.seen_means().argsort().tolist() == [0, 1, 2]
    assert made.best_arm == 0
    log = made.log(visits=20_000, users=10_000, seed=3)
    seen = np.bincount(log["arm"], log["reward"]) / np.bincount(log["arm"])
    np.testing.assert_allclose(seen, made.seen_means(), atol=0.01)


def test_drift_comes_with_time() -> None:
    log = WORLDS["drift"]().log(visits=8_000, seed=4)
    first = log["visit"] < 4_000
    means = [log["reward"][half & (log["arm"] == 0)].mean() for half in (first, ~first)]
    assert means == pytest.approx([0.65, 0.45], abs=0.02)


@pytest.mark.parametrize("name", ["clickbait", "favourites", "quota"])
def test_a_policy_that_does_not_learn_is_worth_what_its_rule_is(name: str) -> None:
    made = WORLDS[name]()
    rule = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    played = [made.play(sj.policies.Rule(rule.tolist()), 300, users=150, seed=s) for s in range(8)]
    truth = made.worth(rule[[1, 0, 1]])
    for one, mean, error in zip(truth, np.mean(played, 0), np.std(played, 0, ddof=1), strict=True):
        assert abs(mean - one) < ERRORS * error / np.sqrt(8)


def test_a_policy_that_learns_approaches_the_best_arm() -> None:
    made = WORLDS["normal"]()
    played = made.play(sj.policies.IMED(), 400, seed=5)
    assert made.by_arm[1].reward < made.worth().reward < played.reward < made.by_arm[0].reward


def test_logs_with_faults() -> None:
    clean = world().log(visits=500, users=100, seed=6)
    spoiled = {name: WORLDS[name]().log(visits=500, users=100, seed=6) for name in SPOILED[1:]}
    size = clean["arm"].size
    for log in spoiled.values():
        np.testing.assert_array_equal(log["arm"][:size], clean["arm"])
    assert np.unique(spoiled["bots"]["user"]).size == 105
    assert spoiled["bots"]["arm"].size == size + 20_000
    twice = spoiled["written twice"]
    np.testing.assert_array_equal(twice["time"][size:], twice["time"][:size])
    assert 1.02 < spoiled["duplicates"]["arm"].size / size < 1.3
    changed = spoiled["bad clocks"]["time"] != clean["time"]
    assert 0.005 < changed.mean() < 0.08 and (spoiled["bad clocks"]["time"] == 0).any()


def test_a_course_ends_without_a_departure() -> None:
    made = WORLDS["course"]()
    log = made.log(visits=2_000, users=500, seed=6)
    mean, error = by_user(log, log["reward"])
    assert abs(mean - made.worth().reward) < ERRORS * error
    assert log["step"].max() == 8
    np.testing.assert_array_equal(log["step"] == 8, log["censored"] == 1)
    assert (log["left"] + log["censored"]).sum() == 2_000


def test_logs_are_the_same_for_the_same_seed() -> None:
    one, same, other = (WORLDS["taste"]().log(visits=50, seed=s) for s in (7, 7, 8))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["reward"][:40], other["reward"][:40])

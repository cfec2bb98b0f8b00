"""People, steps and arms held equal: the joint model and what follows from it."""

import numpy as np
import pytest
from worlds import WORLDS

import sojourn as sj
from sojourn.logs import Fit
from sojourn.logs.model.adjusted import joint_model
from sojourn.logs.model.design import groups_of, layout_of, shrink
from sojourn.logs.model.joint import LAMBDA, SIGMA, TAU, _evaluate, fit_jointly, latent_classes
from sojourn.logs.model.sample import Sample
from sojourn.logs.model.users import OwnFirstStep
from sojourn.logs.report.words import conclusions
from sojourn.stats.clusters import clustered
from sojourn.stats.effects import Spread, contrasts, holm
from sojourn.users.population import Population, always

SAFE = 4.5


def fitted(name: str, seed: int = 1) -> Fit:
    return sj.fit(WORLDS[name]().log(seed=seed), ema=False)


@pytest.fixture(scope="module")
def clickbait() -> Fit:
    return fitted("clickbait")


@pytest.fixture(scope="module")
def small() -> Sample:
    """A few visits of a few users, with everything in them."""
    sample = fitted("looks normal").sample
    assert sample is not None
    return sample.of(np.arange(sample.users) < 25)


def chance(log_odds: float) -> float:
    return float(1.0 / (1.0 + np.exp(-log_odds)))


def plain_likelihood(sample: Sample, theta: np.ndarray) -> float:
    """Step by step, class by class, from the definition in the module."""
    layout, classes = layout_of(sample), latent_classes()
    padded = np.append(theta, 0.0)
    total = 0.0
    for user in range(sample.users):
        each = []
        for liking, leaving, log_share in zip(*classes, strict=True):
            found = log_share
            for i in np.flatnonzero(sample.user == user):
                arm, previous, reward = sample.arm[i], sample.previous[i], sample.reward[i]
                likes = padded[layout.likes[arm]] + theta[SIGMA] * liking
                likes += padded[layout.after[previous]] if previous < 2 else 0.0
                found += np.log(chance(likes) if reward == 1 else chance(-likes))
                if previous < 2:
                    cell = 2 + 2 * previous + reward
                    ends = (1, 2, 3, 5, 10, 20, 50)
                    layer = sum(sample.step[i] > end for end in ends)
                    leaves = padded[layout.cells[cell]] + padded[layout.layers[layer]]
                else:
                    leaves = padded[layout.cells[reward]]
                leaves += padded[layout.leaving[arm]]
                leaves += theta[LAMBDA] * liking + theta[TAU] * leaving
                found += np.log(chance(leaves) if sample.left[i] else chance(-leaves))
            each.append(found)
        total += np.logaddexp.reduce(each)
    return float(total)


def test_likelihood_slope_and_curvature_are_those_of_the_definition(small: Sample) -> None:
    groups, classes = groups_of(small, layout_of(small)), latent_classes()
    theta = np.random.default_rng(3).normal(0.0, 0.7, groups.size)
    found = _evaluate(groups, classes, theta)
    few = small.of(np.arange(small.users) < 3)
    part = _evaluate(groups_of(few, layout_of(small)), classes, theta)
    assert part.likelihood == pytest.approx(plain_likelihood(few, theta), rel=1e-12)
    step = 1e-5
    for i, j in ((0, 0), (4, 5), (SIGMA, 1), (LAMBDA, 6), (TAU, TAU), (LAMBDA, SIGMA)):
        ends = []
        for sign in (1.0, -1.0):
            moved = theta.copy()
            moved[i] += sign * step
            ends.append(_evaluate(groups, classes, moved))
        slope = (ends[0].likelihood - ends[1].likelihood) / (2.0 * step)
        assert found.score[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)
        curvature = -(ends[0].score[j] - ends[1].score[j]) / (2.0 * step)
        assert (found.complete - found.missing)[i, j] == pytest.approx(
            curvature, rel=1e-4, abs=1e-4
        )


def test_the_truth_is_found_within_its_errors() -> None:
    world = WORLDS["looks normal"]()
    sample = sj.fit(world.log(seed=2), ema=False).sample
    assert sample is not None
    found = joint_model(sample)
    for own, worth in zip(found.worth, world.by_arm, strict=True):
        for interval, truth in zip(own, worth, strict=True):
            error = np.log(interval.high / interval.low) / (2.0 * 1.96)
            assert abs(np.log(interval.value / truth)) < SAFE * error
    for costs, truth in (
        (found.costs, world.costs("same")),
        (found.costs_by_state, world.costs("log")),
    ):
        for d, true in zip((costs.d0, costs.d1), truth[:2], strict=True):
            assert abs(d.value - true) < SAFE * (d.high - d.low) / (2.0 * 1.96)


def test_users_who_are_alike_are_told_from_users_who_differ() -> None:
    alike, differ = (fitted(name).model for name in ("normal", "looks normal"))
    assert alike is not None and differ is not None
    assert np.abs(alike.estimate[-3:]).max() < 0.3 < np.abs(differ.estimate[-3:]).max()
    one = fit_jointly(groups_of(*_pair("normal")), latent_classes(differ=False))
    assert one.weights.shape[1] == 1 and (one.estimate[-3:] == 0.0).all()


def _pair(name: str) -> tuple[Sample, object]:
    sample = fitted(name).sample
    assert sample is not None
    return sample, layout_of(sample)


@pytest.mark.parametrize(("seed", "kinds", "last"), [(1, 1, None), (2, 3, None), (3, 2, 3)])
def test_values_of_crowds_solve_their_equations(seed: int, kinds: int, last: int | None) -> None:
    rng = np.random.default_rng(seed)
    crowd = Population(
        rng.dirichlet(np.ones(kinds)),
        rng.random((kinds, 2)),
        rng.uniform(0.1, 0.9, (kinds, 3, 2, 2, 2)),
        np.array([0, 1, 1, 2]),
        last or 0,
    )
    rule = rng.dirichlet(np.ones(2), 3)
    # Survival, step by step, and what it brings.
    for row, of_reward in ((0, True), (1, False)):
        total = 0.0
        for kind in range(kinds):
            here = {1: 1.0}  # by previous reward; the first step is as after a 1
            for step in range(1, 300 if last is None else last + 1):
                after = {0: 0.0, 1: 0.0}
                layer = 0 if step == 1 else 1 if step <= 3 else 2
                for previous, mass in here.items():
                    for arm in range(2):
                        chosen = mass * rule[0 if step == 1 else 1 + previous, arm]
                        mean = crowd.means[kind, arm]
                        total += crowd.shares[kind] * chosen * (mean if of_reward else 1.0)
                        for reward, p in ((0, 1.0 - mean), (1, mean)):
                            stay = 1.0 - crowd.leave[kind, layer, arm, previous, reward]
                            after[reward] += chosen * p * stay
                here = after
        assert crowd.worth_under(rule)[row] == pytest.approx(total, rel=1e-9)
    alone = np.array([crowd.worth_under(always(arm, 2)) for arm in range(2)]).T
    assert np.allclose(crowd.worth_of_arms(), alone)


def test_mistake_costs_of_a_crowd_are_those_of_the_problem() -> None:
    q = (0.5, 0.2, 0.3, 0.1)
    leave = np.broadcast_to(np.array(q).reshape(2, 2), (1, 2, 2, 2, 2))
    crowd = Population(np.ones(1), np.array([[0.75, 0.4]]), leave, np.array([0, 1]))
    problem = sj.Problem([0.75, 0.4], sj.TwoState(*q))
    assert crowd.worth_under(always(0, 2)).reward == pytest.approx(problem.value(), rel=1e-12)
    costs = crowd.mistake_costs(0)[0, -1]
    assert costs.tolist() == pytest.approx([problem.mistake_cost(s) for s in (0, 1)], rel=1e-12)


def test_clickbait_is_noticed_and_told(clickbait: Fit) -> None:
    assert [effect.differs for effect in clickbait.effects] == [True, True, True]
    for effect, truth in zip(clickbait.effects, (2.05, 6.34, 3.56), strict=True):
        assert effect.worth.low < truth < effect.worth.high
    words = " ".join(conclusions(clickbait))
    assert "after 0 people leave 2.5" in words and "of the best, 1, 6." in words
    table = str(clickbait).partition("\narm ")[2].splitlines()[1:4]
    assert [row.split()[0] for row in table] == ["1", "2", "0"], "by visit value"
    data = clickbait.to_dict()
    assert [e["differs"] for e in data["effects"]] == [True, True, True]
    assert data["incumbent"]["reward"]["value"] == pytest.approx(3.0, abs=0.15)


def test_the_fitted_problem_leaves_by_arm_where_the_log_does(clickbait: Fit) -> None:
    problem = clickbait.problem()
    assert problem.by_arm and "ByArm.odds" in repr(problem)
    assert problem.value() == pytest.approx(6.34, rel=0.1)
    pooled = clickbait.problem(by_arm=False)
    assert not pooled.by_arm and pooled.value() < 4.5
    assert not fitted("normal").problem().by_arm
    totals = Fit.from_counts(
        n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]], means=[0.8, 0.2]
    )
    with pytest.raises(
        ValueError, match="by_arm = True is not allowed: totals have no departures by arm"
    ):
        totals.problem(by_arm=True)


def test_departures_after_all_arms_together_stay_as_counted(clickbait: Fit) -> None:
    problem, sample = clickbait.problem(), clickbait.sample
    assert sample is not None
    for cell, (state, reward) in {2: (0, 0), 3: (0, 1), 4: (1, 0), 5: (1, 1)}.items():
        each = [
            problem.user.leave_probability(float(state), float(reward), arm) for arm in range(3)
        ]
        shares = sample.by_cell[cell] / sample.by_cell[cell].sum()
        assert shares @ each == pytest.approx(clickbait.q[cell], rel=1e-9)
    first = problem.user.begin(0.5)
    each = [problem.user.leave_probability(first, 1.0, arm) for arm in range(3)]
    shares = sample.by_cell[1] / sample.by_cell[1].sum()
    assert shares @ each == pytest.approx(clickbait.q[1], rel=1e-9)


def test_first_steps_by_arm_need_odds_for_every_arm() -> None:
    user = sj.ByArm.odds(sj.TwoState(0.5, 0.2, 0.3, 0.1), [1.0, 0.0])
    with pytest.raises(ValueError, match=r"odds = \(1.0,\) is not allowed: give one for each"):
        OwnFirstStep(user, 0.5, 0.2, odds=[1.0])
    with pytest.raises(ValueError, match=r"odds = \(1.0, 0.0\) is not allowed"):
        OwnFirstStep(sj.TwoState(0.5, 0.2, 0.3, 0.1), 0.5, 0.2, odds=[1.0, 0.0])


@pytest.mark.parametrize(
    ("world", "case", "why"),
    [
        ("normal", "normal", ""),
        ("opposite", "opposite", ""),
        ("looks normal", "undecided", "the case changes when adjusted for the user too"),
        ("selection", "undecided", "the case changes when averaged over the users in each state"),
    ],
)
def test_the_case_is_told_only_if_it_stands(world: str, case: str, why: str) -> None:
    fit = fitted(world)
    assert fit.costs.case in ("normal", "opposite"), "as counted it is clear"
    assert (fit.case, fit.undecided_because) == (case, why)
    assert (
        (why in conclusions(fit)[-1])
        if why
        else (f"cheaper after a {int(case == 'normal')}" in conclusions(fit)[-1])
    )


def test_arms_are_drawn_together_as_far_as_they_are_alike() -> None:
    alike, apart = (
        Spread.of(np.zeros(5), np.ones(5)).estimate,
        Spread.of(np.arange(5.0), np.full(5, 1e-4)).estimate,
    )
    assert alike < 1.0 and apart == pytest.approx(2.5, rel=0.05)
    sample, layout = _pair("normal")
    joint = fit_jointly(groups_of(sample, layout), latent_classes())  # type: ignore[arg-type]
    pulls = np.bincount(sample.arm).astype(float)
    shrunk = shrink(joint, layout, pulls)  # type: ignore[arg-type]
    rows = contrasts(layout.leaving, pulls, layout.size)  # type: ignore[attr-defined]
    before, after = (np.abs(rows @ theta) for theta in (joint.estimate, shrunk.estimate))
    assert (after < before).all()
    covariances = (joint.covariance, clustered(shrunk.moves) + shrunk.prior)
    variances = [np.diag(rows @ c @ rows.T) for c in covariances]
    assert (variances[1] < variances[0]).all() and variances[1].min() > 0.0


def test_the_spread_between_arms_is_drawn_as_far_as_it_is_known() -> None:
    """Below the upper end of the draws in 97.5 % of cases, and 0 can be told from more."""
    rng = np.random.default_rng(7)
    arms, error, cases = 6, 0.2, 1_500
    for true in (0.0, 0.3):
        below, none = 0, 0
        for _ in range(cases):
            effects = rng.normal(0.0, np.hypot(true, error), arms)
            drawn = Spread.of(effects, np.full(arms, error**2)).draws(rng, 400)
            below += true**2 <= np.quantile(drawn, 0.975)
            none += np.quantile(drawn, 0.025) < 1e-3
        assert abs(below / cases - (1.0 if true == 0.0 else 0.975)) < 0.02
        assert none / cases > 0.95 if true == 0.0 else none / cases < 0.5


@pytest.mark.parametrize("world", ["skewed", "looks normal"])
def test_draws_spread_as_the_intervals_of_visit_values_do(world: str) -> None:
    """Users who are alike, where the likelihood is flat in how they differ, and who are not."""
    found = fitted(world).model
    assert found is not None
    crowds = list(found.draws(np.random.default_rng(3), 300))
    drawn = np.log([crowd.worth_of_arms()[0] for crowd in crowds])
    for arm, (reward, _) in enumerate(found.worth):
        half = np.log(reward.high / reward.low) / 2.0
        width = np.ptp(np.quantile(drawn[:, arm], [0.025, 0.975])) / 2.0
        assert 0.7 < width / half < 1.4, arm
        assert abs(np.median(drawn[:, arm]) - np.log(reward.value)) < 0.3 * half, arm
    assert np.std([crowd.shares for crowd in crowds], axis=0).max() > 0.0, "the mix is drawn too"


def test_holm_rejects_no_more_than_it_may() -> None:
    rng = np.random.default_rng(5)
    alarms = np.array([holm(rng.standard_normal(12)).any() for _ in range(4_000)])
    assert abs(alarms.mean() - 0.05) < SAFE * np.sqrt(0.05 * 0.95 / 4_000)
    assert holm(np.array([5.0, 2.3, -2.1])).tolist() == [True, True, True], (
        "less is needed after each"
    )


def test_visits_that_are_cut_off_are_not_followed_beyond_the_log() -> None:
    world = WORLDS["course"]()  # which ends after 8 steps
    fit = sj.fit(world.log(seed=1), ema=False)
    assert fit.model is not None and fit.model.last == 8
    crowd = fit.model.tables()
    assert crowd.values_under(always(0, crowd.arms))[..., 1].max() <= 8.0
    assert fitted("normal").model.last is None  # type: ignore[union-attr]

"""Decisions: draws with the right moments, intervals that cover the truth, what is said."""

import json
import re
from functools import cache

import numpy as np
import pytest
from worlds import WORLDS, world

import sojourn as sj
from sojourn.logs import Advice, Fit, decide
from sojourn.logs.deciding.advice import advise
from sojourn.logs.deciding.decide import DRAWS, STEPS, candidates
from sojourn.logs.deciding.outcomes import (
    SLIGHT,
    UNLUCKY,
    Baseline,
    Played,
    over_draws,
    without_luck,
)
from sojourn.logs.deciding.playing import (
    GAIN,
    PULLS,
    VISITS,
    _parameters,
    draw_populations,
    plain_population,
)
from sojourn.logs.synthetic import synthetic_log
from sojourn.stats.intervals import Interval
from sojourn.users.population import Worth

TRUTH = sj.Problem([0.75, 0.55, 0.35], sj.TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1))
VISITS_LATER = 400
TOTALS = {"n": [[470, 355], [789, 3488]], "k": [[163, 28], [425, 220]], "means": [0.794, 0.178]}
IMPROPER = {
    "n": [[12541, 18353], [12911, 56757]],
    "k": [[1668, 311], [1374, 24749]],
    "means": [0.9046, 0.45],
}
ROLES = {c: c for c in ("visit", "user", "arm", "reward", "step", "left")}


def log_odds(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1.0 - p))


@cache
def fitted(name: str = "normal", seed: int = 1, visits: int = 3_000) -> Fit:
    log = WORLDS[name]().log(visits, seed=seed)
    return sj.fit({c: log[c] for c in ROLES}, **ROLES, ema=False)


@pytest.fixture(scope="module")
def advice() -> Advice:
    return decide(fitted(), VISITS_LATER, runs=4)


# --- draws ---------------------------------------------------------------------------------------


def test_draws_have_the_moments_of_the_fit() -> None:
    log = synthetic_log(TRUTH, sj.policies.Uniform(), visits=600, users=60, seed=3, spread=0.8)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward", ema=False)
    number = 40_000
    q, means = _parameters(found, number, np.random.default_rng(1))
    best = int(np.argmax(found.means))
    drawn = log_odds(np.column_stack([q, means[:, best]]))
    estimate = np.array([*found.q, found.means[best]])
    expected = found.covariance / np.outer(estimate * (1 - estimate), estimate * (1 - estimate))
    sizes = np.diag(expected)
    error = np.sqrt((np.outer(sizes, sizes) + expected**2) / number)
    assert (np.abs(np.cov(drawn.T) - expected) < 4.5 * error).all()
    assert (np.abs(expected - np.diag(sizes)) > 4.5 * error).any(), "there is something to see"
    assert (np.abs(drawn.mean(axis=0) - log_odds(estimate)) < 4.5 * np.sqrt(sizes / number)).all()
    for i, arm in enumerate(found.arms):
        share = np.mean((means[:, i] > arm.mean.low) & (means[:, i] < arm.mean.high))
        assert abs(share - 0.95) < 4.5 * np.sqrt(0.95 * 0.05 / number), arm.name


def test_draws_at_the_edges_stay_inside() -> None:
    fit = Fit.from_counts(**{**TOTALS, "k": [[470, 0], [425, 220]]})
    crowds = draw_populations(fit, 2_000)
    q00, q01 = (np.array([c.leave[0, 1, 0, 0, r] for c in crowds]) for r in (0, 1))
    assert ((q00 < 1.0) & (q01 > 0.0)).all()
    mean = 0.5 / 356.0
    assert abs(q01.mean() - mean) < 4.5 * np.sqrt(mean * (1 - mean) / 357.0 / 2_000)
    assert {tuple(c.means[0]) for c in crowds} == {(0.794, 0.178)}, "taken for known"
    assert plain_population(fit).leave[0, 1, 0, 0, 1] == pytest.approx(0.5 / 356.0)


def test_a_first_step_that_was_not_counted_is_as_after_a_1() -> None:
    crowd = plain_population(Fit.from_counts(**TOTALS))
    np.testing.assert_allclose(crowd.leave[0, 0, 0], [crowd.leave[0, 1, 0, 1]] * 2)


# --- intervals -----------------------------------------------------------------------------------


def test_one_more_run_is_beyond_either_end_1_time_in_40() -> None:
    rng = np.random.default_rng(1)
    tries, skewed = 4_000, rng.exponential
    beyond = np.zeros(2)
    for *runs, other in skewed(size=(tries, DRAWS + 1)):
        _, low, high = over_draws(np.array(runs))
        beyond += other < low, other > high
    error = np.sqrt(1 / 40 * 39 / 40 / tries)
    assert (np.abs(beyond / tries - 1 / 40) < 4.5 * error).all()


def test_the_average_is_without_the_luck_of_runs() -> None:
    rng = np.random.default_rng(1)
    size, luck = 20_000, 3.0
    exact = rng.normal(1.0, 1.0, size)
    seen = without_luck(exact + rng.normal(0.0, luck, size), luck**2)
    # The ends are those of the runs, sqrt(10) times as far, whose quantiles have this error.
    error = 4.5 * np.sqrt(0.025 * 0.975 / size) / 0.0584
    assert seen.high - 1.0 == pytest.approx(1.96, abs=error * np.sqrt(10.0))
    assert without_luck(exact, 0.0).high - 1.0 == pytest.approx(1.96, abs=error)
    assert without_luck(np.zeros(4), 0.0) == Interval(0.0, 0.0, 0.0)


def played(
    gains: dict[sj.Policy, list[float]], in_worst_case: dict[sj.Policy, float], luck: float
) -> Played:
    """Gains by draw, and in one worst case, which runs twice, over a recommender that has 10."""
    policies, draws = list(gains), len(next(iter(gains.values())))
    made = np.zeros((draws, len(policies), PULLS + 2))
    made[..., VISITS] = made[..., PULLS] = 1.0
    made[..., GAIN] = np.array(list(gains.values())).T
    worse = np.repeat(made[None, :1], 2, axis=1)
    worse[..., GAIN] = [in_worst_case[p] for p in policies]
    worse[:, :, :, GAIN] += luck * np.array([1.0, -1.0])[:, None]
    ten = np.full(draws, 10.0)
    return Played(policies, ["a", "b"], ["arms"], made, worse, ten, ten, np.zeros(1))


def chosen(
    gains: dict[sj.Policy, list[float]],
    in_worst_case: dict[sj.Policy, float],
    missed: float = 0.0,
    fit: Fit | None = None,
    luck: float = 1e-3,
) -> Advice:
    now = Baseline(
        "the log's own recommender", np.full((3, 2), 0.5), {"a": 0.5, "b": 0.5}, Worth(10.0, 20.0),
        reward=Interval.around(10.0 * (1.0 + missed), 0.01),
        length=Interval.around(20.0, 0.1),
    )  # fmt: skip
    facts = {"visits": 1, "asked": 1, "draws": 4, "runs": 2, "seed": 0}
    return advise(fit or fitted(), now, played(gains, in_worst_case, luck), **facts)


KL, PLAIN, LEARNED, USUAL = (
    sj.policies.KLUCB(),
    sj.policies.IMED(),
    sj.policies.LearnedIMED(),
    sj.policies.DEFAULT(),
)
STEADY = [1.0, 1.1, 0.9, 1.0]


def test_who_never_loses_and_gains_most_is_advised() -> None:
    gains = {KL: STEADY, LEARNED: [3.0, 3.1, 2.9, 3.0], USUAL: [2.0, 2.1, 1.9, 2.0]}
    best = chosen(gains, {KL: 1.0, LEARNED: -0.5, USUAL: 0.5})
    assert best.policy == USUAL and "Learned IMED may earn less" in best.reason
    assert best.verdict.startswith(
        "Run Engagement index. Over 1 visits expect +2 [+1.9, +2.1] rewards per visit more than "
        "the current recommender"
    )
    assert "(+20.0%)" in best.verdict and "it gains +0.5" in best.verdict
    assert chosen(gains, {KL: 1.0, LEARNED: 0.5, USUAL: 0.5}).policy == LEARNED


def test_ties_go_to_the_default() -> None:
    """A policy is tied if it differs by less than half a per cent, or not significantly."""
    for more, noise, policy in ((9.0, 0.0, USUAL), (11.0, 0.0, PLAIN), (11.0, 1.0, USUAL)):
        other = [
            x + more * SLIGHT + noise * sign for x, sign in zip(STEADY, (1, -1, 1, -1), strict=True)
        ]
        gains = {KL: [x / 2.0 for x in STEADY], PLAIN: other, USUAL: STEADY}
        best = chosen(gains, dict.fromkeys(gains, 1.0), luck=1.0)
        assert best.policy == policy, (more, noise)
        assert best.tied == (("IMED",) if policy == USUAL else ())
        assert ("= IMED" in str(best)) == (more == 9.0), "with noise it may lose"
    alone = chosen({KL: STEADY, LEARNED: [2.0, 2.1, 1.9, 2.0]}, {KL: 1.0, LEARNED: 1.0})
    assert alone.policy == LEARNED, "without the default the greatest"


def test_what_may_lose_is_not_advised() -> None:
    kept = chosen({KL: STEADY}, {KL: -0.5})
    assert kept.policy is None and kept.name is None and kept.chosen is None
    assert kept.verdict.startswith(
        "Keep your current recommender. Every candidate may lose to it. KL-UCB"
    )
    unsure = chosen({KL: [-1.0, 1.0, 2.0, 3.0]}, {KL: 1.0})
    assert "No candidate earns significantly more, by 0.5%" in unsure.verdict
    assert unsure.outcomes[0].loses
    little = chosen({KL: [0.03, 0.04, 0.05, 0.04]}, {KL: 0.04})
    assert little.policy is None and not little.outcomes[0].loses
    assert "No candidate earns significantly more, by 0.5%" in little.verdict


def test_a_run_may_lose_by_luck_of_what_gains_on_average() -> None:
    lucky = {KL: [-0.5, 1.0, 1.5, 2.0] * 4}
    best = chosen(lucky, {KL: 1.0}, luck=1.0)
    assert best.policy == KL and "; a single run may lose by bad luck." in best.reason
    only = best.outcomes[0]
    assert only.gain == Interval(1.0, -0.5, 2.0) and only.average.low > 0.0 and not only.loses
    assert only.worst == UNLUCKY and only.worst_gain.value == -0.5
    assert "as bad as in 1 of 40 runs) it gains -0.5." in best.verdict
    assert chosen(lucky, {KL: 1.0}).policy is None, "it is not luck, but what the log leaves open"


def test_a_gain_below_what_the_model_misses_is_not_believed() -> None:
    kept = chosen({KL: STEADY}, {KL: 1.0}, missed=0.15)
    assert kept.policy is None and "earned 15.0% more than the model accounts for" in kept.reason
    assert "better than the model by 15.0%" in " ".join(str(kept).split())
    assert chosen({KL: STEADY}, {KL: 1.0}, missed=0.05).policy == KL
    unsure = chosen({KL: [0.6, 1.0, 1.4, 1.0]}, {KL: 1.0}, missed=0.08)
    assert unsure.policy is None and "the lower bound for KL-UCB is 6.0%" in unsure.reason
    smaller = chosen({KL: [0.6, 1.0, 1.4, 1.0], LEARNED: STEADY}, {KL: 1.0, LEARNED: 1.0}, 0.08)
    assert smaller.policy == LEARNED, "of the two the one that is sure"


def test_arms_that_nobody_sees_together_are_no_choice() -> None:
    means = np.array([[0.7, 0.6, 0.3, 0.2]] * 2)
    rule = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])[:, None]
    log = world(means, rule=rule).log(1_000)
    fit = sj.fit({c: log[c] for c in ROLES}, **ROLES, ema=False)
    kept = chosen({KL: STEADY}, {KL: 1.0}, fit=fit)
    assert kept.verdict.startswith(
        "Keep your current recommender. Arms fall into 2 groups, and hardly a visit"
    )


# --- decisions -----------------------------------------------------------------------------------


def test_advice_says_what_to_run_and_what_to_expect(advice: Advice) -> None:
    truth = WORLDS["normal"]()
    assert advice.name == "Engagement index" and advice.policy == sj.policies.DEFAULT()
    assert advice.incumbent.name == "the log's own recommender"
    error = (advice.incumbent.reward.high - advice.incumbent.reward.value) / 1.96
    assert abs(advice.incumbent.reward.value - truth.worth().reward) < 4.5 * error
    base = advice.outcomes[0]
    assert base.name == "KL-UCB" and base.over_kl_ucb == Interval(0.0, 0.0, 0.0)
    for outcome in advice.outcomes:
        assert outcome.gain.low <= outcome.gain.value <= outcome.gain.high
        assert outcome.share == pytest.approx(
            outcome.gain.value / (outcome.reward.value - outcome.gain.value)
        )
        more = outcome.gain.value - base.gain.value
        assert outcome.over_kl_ucb.value == pytest.approx(more)
        assert outcome.worst_gain.value == min(
            outcome.gain.low, *(v.value for v in outcome.worst_cases.values())
        )
        assert outcome.gain.low <= outcome.average.low <= outcome.average.value
        assert sum(outcome.shares.values()) == pytest.approx(1.0)
    text = str(advice)
    assert text.startswith("decision: Run Engagement index. Over 400 visits expect ")
    assert "the gain of a run of 400 visits in 95 of 100 cases" in " ".join(text.split())
    assert "* Engagement index" in text and max(map(len, text.splitlines())) <= 100
    plain = json.loads(json.dumps(advice.to_dict()))
    assert [o["policy"]["label"] for o in plain["outcomes"]] == [o.name for o in advice.outcomes]
    assert plain["incumbent"]["reward"]["value"] == pytest.approx(advice.incumbent.reward.value)
    assert plain["outcomes"][0]["worst"]["case"] == advice.outcomes[0].worst


def test_the_answer_does_not_depend_on_the_workers(advice: Advice) -> None:
    alone = decide(fitted(), VISITS_LATER, runs=4, workers=1)
    assert alone.to_dict() == advice.to_dict()


def test_intervals_hold_what_a_run_gains() -> None:
    truth, logs, held = WORLDS["normal"](), 6, 0
    for seed in range(logs):
        gain = truth.play(sj.policies.IMED(), VISITS_LATER, seed=seed).reward - truth.worth().reward
        made = decide(fitted(seed=seed, visits=500), VISITS_LATER, runs=2, seed=seed)
        held += made.outcomes[1].gain.low <= gain <= made.outcomes[1].gain.high
    assert held >= 0.95 * logs - 4.5 * np.sqrt(logs * 0.95 * 0.05), held


def test_items_that_drive_people_away_are_not_shown() -> None:
    """Whatever looks at means alone shows the clickbait; the log earned 3.0, and that 2.05."""
    made = decide(fitted("clickbait"), 2_000, runs=2)
    by_name = {o.name: o for o in made.outcomes}
    assert made.name == "Engagement index" and by_name["KL-UCB"].loses and by_name["IMED"].loses


def test_a_recommender_that_knows_its_users_is_kept() -> None:
    made = decide(fitted("favourites"), 1_000, runs=2)
    assert made.policy is None and str(made).startswith("decision: Keep your current recommender. ")
    assert all(o.loses for o in made.outcomes)


def test_of_equal_arms_nothing_is_promised() -> None:
    log = world((0.5,) * 4).log(4_000)
    fit = sj.fit({c: log[c] for c in ROLES}, **ROLES, ema=False)
    made = decide(fit, 1_000, runs=2)
    assert made.policy is None
    assert all(abs(o.share) < 0.03 and o.gain.low < SLIGHT for o in made.outcomes)


def test_very_many_visits_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.logs.deciding.decide.STEPS", STEPS // 100)
    monkeypatch.setattr("sojourn.logs.deciding.decide.FEWEST", 10)
    shares: list[float] = []
    made = decide(fitted(), 10**9, progress=shares.append)
    assert made.visits < 1_000 < made.asked == 10**9
    assert f"the first {made.visits:,} of 1,000,000,000 visits" in " ".join(str(made).split())
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_totals_are_compared_with_showing_arms_evenly() -> None:
    made = decide(Fit.from_counts(**TOTALS), 300)
    assert "more than showing every arm equally often" in made.verdict
    assert "may not be gains over your current recommender" in " ".join(str(made).split())
    improper = decide(Fit.from_counts(**IMPROPER), 100)
    assert "Beware: in some state the best arm is not the one to play" in improper.reason


def test_gates_are_tried_in_their_case_only() -> None:
    assert [p.label for p in candidates("normal")][-1] == "KL-ULCB"
    for case in ("undecided", "improper", "none"):
        assert candidates(case)[-1] == sj.policies.DEFAULT()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({}, "visits = None is not allowed: these totals do not say how many visits"),
        ({"visits": 9, "draws": 38}, "draws = 38 is not allowed: it must be a whole number from"),
        ({"visits": 9, "runs": 1}, "runs = 1 is not allowed: it must be a whole number from 2"),
        ({"visits": 9, "seed": -1}, "seed = -1 is not allowed: it must be a whole number from 0"),
        ({"visits": 9, "workers": 0}, "workers = 0 is not allowed: it must be a whole number of"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        decide(Fit.from_counts(**TOTALS), **options)
    with pytest.raises(ValueError, match="it must be a Fit"):
        decide("fit")

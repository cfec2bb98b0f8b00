"""Decisions: draws with the right moments, intervals that cover the truth, what is said."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import sojourn as sj
from sojourn.logs import Advice, Fit, decide
from sojourn.logs.deciding.decide import MOST_STEPS
from sojourn.logs.deciding.draws import _parameters, draw_problems
from sojourn.logs.deciding.outcomes import PlayedDraws, over_draws
from sojourn.logs.synthetic import synthetic_log

TRUTH = sj.Problem([0.75, 0.55, 0.35], sj.TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1))
VISITS = 100
TOTALS = {"n": [[470, 355], [789, 3488]], "k": [[163, 28], [425, 220]], "means": [0.794, 0.178]}
IMPROPER = {
    "n": [[12541, 18353], [12911, 56757]],
    "k": [[1668, 311], [1374, 24749]],
    "means": [0.9046, 0.45],
}


def log_odds(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1.0 - p))


def fitted(seed: int, visits: int = 1_500) -> Fit:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=visits, users=visits // 3, seed=seed)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward", ema=False)
    # The truth has no first step of its own; so this is the same user, in kernels shared with
    # other tests.
    kept = np.array([0, 0, 1, 1, 1, 1])
    return replace(found, n=found.n * kept, k=found.k * kept)


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(1)


@pytest.fixture(scope="module")
def advice(fit: Fit) -> Advice:
    return decide(fit, VISITS, draws=8, runs=4)


def test_draws_have_the_moments_of_the_fit() -> None:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=600, users=60, seed=3, spread=0.8)
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
    totals = {**TOTALS, "k": [[470, 0], [425, 220]]}
    problems = draw_problems(Fit.from_counts(**totals), 2_000)
    q00, q01 = (np.array([getattr(p.user, c) for p in problems]) for c in ("q00", "q01"))
    assert ((q00 < 1.0) & (q01 > 0.0)).all()
    mean = 0.5 / 356.0
    assert abs(q01.mean() - mean) < 4.5 * np.sqrt(mean * (1 - mean) / 357.0 / 2_000)
    assert {p.means for p in problems} == {(0.794, 0.178)}, "taken for known"


def test_draws_of_a_moving_average_fall() -> None:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=400, seed=2)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward")
    problems = draw_problems(found, 3, model="ema", arms=2)
    curves = [p.user.user.leave.q for p in problems]
    assert len(set(curves)) == 3
    assert all((np.diff(curve) <= 0.0).all() for curve in curves)
    assert len({p.user._numba_type_ for p in problems}) == 1, "one kernel for all"


def test_spread_is_without_the_noise_of_runs() -> None:
    rng = np.random.default_rng(1)
    size, noise = 20_000, 3.0
    exact = rng.normal(1.0, 1.0, size)
    seen = over_draws(exact + rng.normal(0.0, noise, size), noise**2)
    # The variance that is left is a difference of two estimates.
    error = 4.5 * np.sqrt(2.0 / size) * (1.0 + noise**2) * 1.96
    assert seen.high - 1.0 == pytest.approx(1.96, abs=error)
    assert over_draws(exact, 0.0).high - 1.0 == pytest.approx(1.96, abs=error)
    assert over_draws(np.array([0.0, 0.0])) == (0.0, 0.0, 0.0)


def test_one_odd_draw_among_noise_decides_nothing() -> None:
    values = np.array([0.0] * 31 + [-32.0])
    seen = over_draws(values, noise=float(np.var(values, ddof=1)))
    error = np.std(values, ddof=1) / np.sqrt(32)
    assert seen == pytest.approx((-1.0, -1.0 - 1.96 * error, -1.0 + 1.96 * error), rel=1e-4)


def test_length_is_that_of_counted_steps() -> None:
    policies = [sj.KLUCB(), sj.Uniform()]
    result = sj.simulate(TRUTH, policies, visits=50, runs=4_000, checkpoints=[50])
    played = PlayedDraws(policies, 50)
    played.add(TRUTH, result)
    played.add(TRUTH, result)
    for p, policy in enumerate(policies):
        outcome = played.outcome(policy)
        for found, counted in (
            (outcome.length, result.visit_length),
            (outcome.reward, result.visit_reward),
        ):
            error = counted.std_error[p, -1]
            assert found.value == pytest.approx(counted.mean[p, -1], abs=4.5 * error)


def test_intervals_cover_the_true_gain() -> None:
    policies = [sj.KLUCB(), sj.LearnedIMED(), sj.KLULCB()]
    result = sj.simulate(TRUTH, policies, visits=VISITS, runs=2_000, checkpoints=[VISITS])
    truth = {
        name: (result.difference(0, p).mean[-1] / VISITS, result.difference(0, p).std_error[-1])
        for p, name in ((1, "Learned IMED"), (2, "KL-ULCB"))
    }
    logs, covered = 16, dict.fromkeys(truth, 0)
    for seed in range(logs):
        made = decide(fitted(seed, visits=300), VISITS, runs=32, seed=seed)
        for outcome in made.outcomes:
            if outcome.name in truth:
                gain = outcome.gain
                covered[outcome.name] += gain.low <= truth[outcome.name][0] <= gain.high
    for name, hits in covered.items():
        assert abs(hits - 0.95 * logs) < 4.5 * np.sqrt(logs * 0.95 * 0.05), (name, hits)


def test_advice_says_what_to_run_and_what_to_expect(advice: Advice, fit: Fit) -> None:
    assert advice.name == "Learned IMED"
    assert advice.policy == sj.LearnedIMED()
    assert sum(advice.cases.values()) == advice.draws == 8
    base, *others = advice.outcomes
    assert base.gain == base.longer == (0.0, 0.0, 0.0)
    for outcome in others:
        assert outcome.gain.low <= outcome.gain.value <= outcome.gain.high
        assert outcome.gain.value == pytest.approx(outcome.reward.value - base.reward.value)
        assert outcome.longer.value == pytest.approx(outcome.length.value - base.length.value)
    text = str(advice)
    assert text.startswith("decision: Run Learned IMED. Expect ")
    assert "* Learned IMED" in text and max(map(len, text.splitlines())) <= 100
    plain = json.loads(json.dumps(advice.to_dict()))
    assert [o["policy"]["label"] for o in plain["outcomes"]] == [o.name for o in advice.outcomes]
    assert decide(fit, VISITS, draws=8, runs=4).to_dict() == advice.to_dict()


def test_visits_and_arms_may_differ_from_those_of_the_log(fit: Fit) -> None:
    shares: list[float] = []
    made = decide(fit, 30, arms=5, draws=4, runs=2, progress=shares.append)
    assert (made.visits, made.arms) == (30, 5)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_very_many_visits_are_cut(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.logs.deciding.decide.MOST_STEPS", MOST_STEPS // 1_000)
    made = decide(fit, 10**9, draws=4, runs=2)
    assert made.visits < 1_000 < made.asked == 10**9
    assert f"the first {made.visits:,} of 1,000,000,000 visits" in " ".join(str(made).split())


def test_an_improper_reward_is_fixed_first() -> None:
    made = decide(Fit.from_counts(**IMPROPER), 100, draws=4)
    assert made.policy is None and made.name is None and made.outcomes == ()
    assert str(made).startswith("decision: Run none of these policies before the reward is fixed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({}, "visits = None is not allowed: these totals do not say how many visits"),
        ({"visits": 9, "draws": 3}, "draws = 3 is not allowed: it must be a whole number from 4"),
        ({"visits": 9, "runs": 1}, "runs = 1 is not allowed: it must be a whole number from 2"),
        ({"visits": 9, "arms": 1}, "arms = 1 is not allowed: it must be a whole number from 2"),
        ({"visits": 9, "seed": -1}, "seed = -1 is not allowed: it must be a whole number from 0"),
        ({"visits": 9, "model": "x"}, "model = 'x' is not allowed: it must be one of two-state"),
        ({"visits": 9, "model": "ema"}, "model = 'ema' is not allowed: no moving average"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        decide(Fit.from_counts(**TOTALS), **options)
    with pytest.raises(ValueError, match="it must be a Fit"):
        decide("fit")

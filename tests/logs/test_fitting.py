"""The fit: intervals that cover, mistake costs, cases, warnings."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from logs_twin import Log, Steps, twin

import sojourn as sj
from sojourn import problem_files
from sojourn.logs import Fit, OwnFirstStep, TableLeave
from sojourn.logs.model.diagnostics import odds_ratio
from sojourn.logs.model.totals import CELLS
from sojourn.logs.synthetic import synthetic_log
from sojourn.stats.clusters import ratio_covariance
from sojourn.stats.intervals import Interval
from sojourn.validation import InputError

LOGS = 500
"""So many that intervals which always cover fail as well."""
RULE = sj.policies.Uniform()

TWO_STATE = sj.Problem([0.7, 0.4], sj.TwoState(q00=0.35, q01=0.2, q10=0.25, q11=0.1))


def covers(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def check_coverage(hits: dict[str, list[bool]]) -> None:
    """95 % of the intervals cover, up to 4.5 standard errors of the count."""
    for name, covered in hits.items():
        error = np.sqrt(0.05 * 0.95 / len(covered))
        assert abs(np.mean(covered) - 0.95) < 4.5 * error, (name, np.mean(covered))


def test_intervals_of_the_two_state_model_cover() -> None:
    user = TWO_STATE.user
    truth = {c: user.leave_probability(float(c[0]), float(c[1]), 0) for c in CELLS[2:]}
    truth |= {c: user.leave_probability(1.0, float(c[-1]), 0) for c in CELLS[:2]}
    d0, d1 = (TWO_STATE.mistake_cost(s) for s in (0, 1))
    hits: dict[str, list[bool]] = {}
    for run in range(LOGS):
        log = synthetic_log(TWO_STATE, RULE, visits=800, users=200, seed=7, run=run, max_steps=8)
        found = Fit.from_totals(twin(log))
        now = {c: covers(found.leave[c], q) for c, q in truth.items()}
        now |= {f"arm {a.name}": covers(a.mean, TWO_STATE.means[int(a.name)]) for a in found.arms}
        now |= {"D(0)": covers(found.costs.d0, d0), "D(1)": covers(found.costs.d1, d1)}
        assert found.costs.ratio is not None
        now["ratio"] = covers(found.costs.ratio, d0 / d1)
        for name, hit in now.items():
            hits.setdefault(name, []).append(hit)
    check_coverage(hits)


def two_kinds_of_users() -> Log:
    """Some leave early whatever happens, some stay: steps of one user go together."""
    patient = sj.Problem([0.8, 0.5], sj.TwoState(q00=0.1, q01=0.08, q10=0.09, q11=0.05))
    hasty = sj.Problem([0.5, 0.3], sj.TwoState(q00=0.6, q01=0.5, q10=0.5, q11=0.4))
    one, other = (
        synthetic_log(p, RULE, visits=900, users=150, seed=s) for s, p in ((1, patient), (2, hasty))
    )
    other = {**other, "user": other["user"] + 150, "visit": other["visit"] + 900}
    return {c: np.concatenate([one[c], other[c]]) for c in one}


def test_errors_are_those_of_a_bootstrap_over_users() -> None:
    log = two_kinds_of_users()
    found = Fit.from_totals(twin(log))
    s = Steps(log)
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(200):
        weight = np.bincount(rng.integers(0, s.users, s.users), minlength=s.users)
        w = weight[s.person]
        q = []
        for previous in (0, 1):
            for reward in (0, 1):
                here = (s.previous == previous) & (s.reward == reward)
                q.append(w[here & (s.end == 1)].sum() / w[here & (s.end < 2)].sum())
        means = [np.average(s.reward[s.arm == a], weights=w[s.arm == a]) for a in (0, 1)]
        problem = sj.Problem(means, sj.TwoState(q00=q[0], q01=q[1], q10=q[2], q11=q[3]))
        draws.append([*q, np.log(problem.mistake_cost(0) / problem.mistake_cost(1))])
    spread = np.std(draws, axis=0)
    ratio = found.costs.ratio
    assert ratio is not None
    mine = [*np.sqrt(np.diag(found.covariance)[2:6]), np.log(ratio.high / ratio.low) / 2 / 1.96]
    np.testing.assert_allclose(mine, spread, rtol=4.5 / np.sqrt(2 * 200))
    naive = np.sqrt(found.q * (1 - found.q) / found.n)[2:]
    assert (np.array(mine[:4]) > 1.05 * naive).all()  # clustering matters here


def test_ratio_covariance_is_that_of_the_residuals() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(1, 9, (40, 2)).astype(float)
    k = np.floor(n * rng.random((40, 2)))
    x = np.hstack([n, k, np.ones((40, 1))])
    q, covariance = ratio_covariance(x.T @ x, [2, 3], [0, 1], 40)
    np.testing.assert_allclose(q, k.sum(0) / n.sum(0))
    residuals = (k - q * n) / n.sum(0)
    np.testing.assert_allclose(covariance, residuals.T @ residuals * 40 / 39)


def test_mistake_costs_are_those_of_the_theory() -> None:
    for problem in (sj.paper.SETTINGS["A"], sj.paper.SETTINGS["B"], sj.paper.SETTINGS["opposite"]):
        user = problem.user
        n = [[10**6, 10**6], [10**6, 10**6]]
        k = [
            [round(user.leave_probability(s, r, 0) * 10**6) for r in (0.0, 1.0)] for s in (0.0, 1.0)
        ]
        found = Fit.from_counts(n, k, problem.means)
        assert found.costs.d0.value == pytest.approx(problem.mistake_cost(0), rel=1e-9)
        assert found.costs.d1.value == pytest.approx(problem.mistake_cost(1), rel=1e-9)
        assert found.case == sj.theory.case(problem)


def test_an_improper_log_is_called_so() -> None:
    found = Fit.from_counts(
        n=[[12541, 18353], [12911, 56757]], k=[[1668, 311], [1374, 24749]], means=[0.9046, 0.4]
    )
    assert found.case == "improper"
    assert [w.name for w in found.diagnostics] == ["improper"]
    assert "D(1) = -0.6" in str(found.diagnostics[0])
    assert "Lemma 1" in str(found)


def names(fit: Fit) -> set[str]:
    return {doubt.name for doubt in fit.diagnostics}


def test_a_clean_log_has_no_warnings() -> None:
    log = synthetic_log(TWO_STATE, RULE, visits=4000, seed=1)
    assert names(Fit.from_totals(twin(log))) == set()


def test_warnings_tell_what_is_wrong_with_a_log() -> None:
    clean = synthetic_log(TWO_STATE, RULE, visits=4000, seed=1)
    assert "few steps" in names(Fit.from_totals(twin({c: v[:400] for c, v in clean.items()})))

    differing = synthetic_log(TWO_STATE, RULE, visits=4000, users=200, spread=1.5, seed=1)
    assert {"users differ", "repeating rewards"} <= names(Fit.from_totals(twin(differing)))

    cut = clean["step"] == 4
    later = clean["step"] <= 4
    lesson = {c: v[later] for c, v in clean.items()}
    lesson["left"] = np.where(cut[later], 1, lesson["left"])
    found = names(Fit.from_totals(twin(lesson)))
    assert "step number" in found

    rng = np.random.default_rng(0)
    lost = dict(clean)
    lost["reward"] = np.where(
        (clean["left"] == 1) & (rng.random(cut.size) < 0.3), 2, clean["reward"]
    )
    assert "unknown at the end" in names(Fit.from_totals(twin(lost)))


def test_visit_lengths_that_spike_are_found() -> None:
    steady = sj.Problem([0.6, 0.5], sj.TwoState(q00=0.05, q01=0.05, q10=0.05, q11=0.05))
    log = synthetic_log(steady, RULE, visits=3000, seed=2)
    rng = np.random.default_rng(0)
    quota = rng.random(3000) < 0.3
    kept = ~(quota[log["visit"]] & (log["step"] > 10))
    spiked = {c: v[kept] for c, v in log.items()}
    spiked["left"] = np.where(quota[spiked["visit"]] & (spiked["step"] == 10), 1, spiked["left"])
    (spike,) = [w for w in Fit.from_totals(twin(spiked)).diagnostics if w.name == "spikes"]
    assert "after 10 steps" in spike.seen


def test_odds_ratio_of_one_table_is_its_own() -> None:
    n, k = np.array([[100.0, 300.0], [50.0, 70.0]]), np.array([[30.0, 60.0], [0.0, 0.0]])
    assert odds_ratio(n, k) == pytest.approx((30 / 70) / (60 / 240))


def test_table_leave_is_a_curve_for_the_simulator() -> None:
    leave = TableLeave((0.2, 0.6), (0.5, 0.1))
    assert [leave.probability(s) for s in (0.0, 0.4, 0.9)] == pytest.approx([0.5, 0.3, 0.1])
    assert leave.falls
    assert not TableLeave((0.2, 0.6), (0.1, 0.5)).falls
    with pytest.raises(ValueError, match="they must ascend"):
        TableLeave((0.6, 0.2), (0.5, 0.1))
    with pytest.raises(ValueError, match="has no problem file"):
        problem_files.to_dict(sj.Problem([0.6, 0.4], OwnFirstStep(TWO_STATE.user, 0.9, 0.5)))
    problem = sj.Problem([0.6, 0.4], OwnFirstStep(TWO_STATE.user, first0=0.9, first1=0.5))
    result = sj.simulate(problem, [sj.policies.FixedArm(0)], visits=500, runs=64)
    lengths, errors = result.visit_length.mean[0, -1], result.visit_length.half_width[0, -1]
    assert abs(lengths - problem.length.mean) < 4.5 / 1.96 * errors


def test_more_data_would_decide() -> None:
    small = Fit.from_counts([[470, 355], [789, 3488]], [[60, 40], [90, 380]], [0.7, 0.5], users=100)
    assert small.case == "undecided"
    times = small.costs.times_the_data
    more = [[round(x * times) for x in row] for row in ([470, 355], [789, 3488])]
    left = [[round(x * times) for x in row] for row in ([60, 40], [90, 380])]
    assert Fit.from_counts(more, left, [0.7, 0.5]).case != "undecided"


@pytest.mark.parametrize(
    ("n", "k", "means", "message"),
    [
        ([[1, 1], [1, 1]], [[2, 0], [0, 0]], [0.5, 0.4], "with 0 <= k <= n everywhere"),
        ([[1, 1], [1, 1]], [[0, 0], [0, 0]], [0.5, 0.4], "nobody is seen to leave"),
        ([[0, 1], [1, 1]], [[0, 1], [0, 0]], [0.5, 0.4], "previous reward 0 and reward 0"),
        ([[1, 1], [1, 1]], [[1, 0], [0, 0]], [0.5], "at least two arms"),
    ],
)
def test_bad_counts_are_refused(
    n: list[list[int]], k: list[list[int]], means: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Fit.from_counts(n, k, means)


DATA = Path(os.environ.get("SOJOURN_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.skipif(not DATA.exists(), reason="the real logs are not here: set SOJOURN_DATA")
def test_published_totals_give_their_ratios() -> None:
    totals = json.loads((DATA / "fitted_aggregates.json").read_text())
    for name, row in totals.items():
        found = Fit.from_counts(row["n"], row["k"], [row["mu1"], row["muM"]], name=name)
        if name == "assist15":
            assert found.case == "improper"
            assert found.diagnostics[0].name == "improper"
            assert found.costs.d1.value == pytest.approx(-0.6153, abs=1e-4)
        else:
            assert found.costs.ratio is not None
            assert found.costs.ratio.value == pytest.approx(row["ratio"], rel=1e-9)


def test_two_visits_are_printed() -> None:
    """The interval of a ratio may have no upper end."""
    log = {
        "visit": [0] * 8 + [1] * 8,
        "arm": list("yyxxyxyyyxyyxyyx"),
        "liked": [1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0],
    }
    found = sj.fit(log)
    assert found.costs.ratio is not None and found.costs.ratio.high == np.inf
    assert "there are only 2 users" in str(found)


def test_a_band_of_three_users_is_made_of_numbers() -> None:
    log = {
        "visit": [0] * 7 + [1] * 8 + [2] * 8,
        "arm": list("yyyxyxyxyyyyxxxxyxxxyxx"),
        "liked": [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0],
    }
    ema = sj.fit(log).ema
    assert ema is not None and ema.believed
    assert np.isfinite(ema.low).all() and np.isfinite(ema.high).all()


def test_what_a_small_log_lacks_is_told_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.logs.model.fitted.moving_average", lambda sample: 1 / 0)
    log = {"visit": [1, 1, 2, 2, 3], "arm": list("xyxyx"), "liked": [1, 0, 1, 0, 1]}
    with pytest.raises(ValueError, match=r"has no step with previous reward 0 and reward 0"):
        sj.fit(log)


@pytest.fixture(scope="module")
def whole() -> Fit:
    problem = sj.Problem([0.75, 0.4], sj.TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1))
    return sj.fit(synthetic_log(problem, sj.policies.Uniform(), visits=400, users=100, seed=3))


def test_a_fit_is_the_same_after_it_was_saved(whole: Fit, tmp_path: Path) -> None:
    whole.save(tmp_path / "fit.npz")
    again = Fit.load(tmp_path / "fit.npz")
    assert again == whole and str(again) == str(whole) and again.to_dict() == whole.to_dict()
    assert again.model is not None and whole.model is not None
    np.testing.assert_array_equal(again.model.joint.moves, whole.model.joint.moves)
    changed = whole.n.copy()
    changed[2] += 1.0
    assert replace(whole, n=changed) != whole and replace(whole, case="normal?") != whole
    (tmp_path / "other.npz").write_bytes(b"no")
    with pytest.raises(InputError, match=r"other\.npz' is not allowed: it must be a file that was"):
        Fit.load(tmp_path / "other.npz")


def test_showing_a_fit_infers_nothing(whole: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("joint_model", "adjusted_costs", "arm_effects", "diagnostics", "moving_average"):
        monkeypatch.setattr(f"sojourn.logs.model.fitted.{name}", lambda *_: 1 / 0)
    assert str(whole) and whole.to_dict() and whole.problem()


def test_counts_without_inference() -> None:
    log = {"visit": [1, 1, 1, 2, 2, 3, 3, 3, 3], "arm": list("abaabbabb"),
           "liked": [1, 1, 0, 0, 0, 0, 1, 1, 0]}  # fmt: skip
    found = sj.fit(log, ema=False, infer=False)
    assert (found.case, found.model, found.effects, found.diagnostics) == (
        "not inferred", None, (), (),
    )  # fmt: skip
    assert "not inferred" in str(found) and found.counts["10"] == (2, 2)

"""simulate(): estimates that agree with each other, with the theory and with checked numbers."""

import numpy as np
import pytest

import sojourn as sj
from sojourn.paper import SETTINGS
from sojourn.simulation.result import Moments
from sojourn.simulation.simulate import checkpoint_grid, chunk

TOLERANCE = 4.5  # standard errors
pytestmark = pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")


def everyone(problem: sj.Problem) -> list[sj.policies.Policy]:
    return [cls.for_problem(problem) for cls in sj.ALL]


@pytest.mark.parametrize(
    ("setting", "visits", "runs"),
    [("A", 30, 200), ("B", 200, 200), ("C", 500, 200), ("ema-100", 60, 150)],
)
def test_gap_regret_and_raw_regret_agree(setting: str, visits: int, runs: int) -> None:
    problem = SETTINGS[setting]
    result = sj.simulate(problem, everyone(problem), visits=visits, runs=runs, seed=5)
    regret, raw = result.regret, result.raw_regret
    # Both come from the same runs; without their correlation the joint error is an upper bound
    # up to a factor of sqrt(2), so the sum of the errors is used.
    joint = regret.std_error[:, -1] + raw.std_error[:, -1]
    assert (np.abs(regret.mean[:, -1] - raw.mean[:, -1]) < TOLERANCE * joint).all()
    assert (regret.mean[:, -1] >= 0.0).all()
    assert regret.mean[-1, -1] == 0.0  # the genie


@pytest.mark.parametrize(
    ("setting", "policy", "expected", "error"),
    [
        ("A", sj.UCB, 1720.7, 9.6),
        ("A", sj.ULCB, 723.8, 4.9),
        ("B", sj.UCB, 159.2, 0.8),
        ("B", sj.ULCB, 136.9, 0.7),
        ("B", sj.KLUCB, 73.5, 1.4),
        ("B", sj.KLULCB, 64.1, 1.3),
    ],
)
def test_regret_found_by_independent_programs(
    setting: str, policy: type[sj.policies.Policy], expected: float, error: float
) -> None:
    runs = {"A": 24, "B": 96}[setting]
    result = sj.simulate(SETTINGS[setting], [policy(random_ties=False)], runs=runs, seed=11)
    joint = np.hypot(result.regret.std_error[0, -1], error)
    assert abs(result.regret.mean[0, -1] - expected) < TOLERANCE * joint


def test_suboptimal_pulls_in_state_0_stay_bounded_under_ulcb_but_not_under_ucb() -> None:
    """Lemma 4: a constant under ULCB and KL-ULCB; under UCB and KL-UCB they grow with log K."""
    policies = [sj.UCB(), sj.KLUCB(), sj.ULCB(), sj.KLULCB()]
    result = sj.simulate(
        SETTINGS["B"], policies, visits=4_000, runs=256, seed=3, checkpoints=[250, 1_000, 4_000]
    )
    pulls = result.pulls.mean[:, :, 0, 1]  # state 0, arm 1
    error = result.pulls.std_error[:, :, 0, 1]
    growth = pulls[:, 2] - pulls[:, 1]
    joint = error[:, 2] + error[:, 1]
    assert (growth[:2] > TOLERANCE * joint[:2]).all()
    # One of the two first pulls, or less: bounded, and hardly any after the first visits.
    assert (pulls[2:, 2] < 3.0).all()
    assert (growth[2:] < 0.1 * growth[:2]).all()


def test_regret_is_the_sum_over_levels_and_over_pulls_times_gaps() -> None:
    problem = SETTINGS["D"]
    result = sj.simulate(problem, [sj.UCB(), sj.Uniform()], visits=40, runs=8)
    regret = result.regret.mean
    np.testing.assert_allclose(result.regret_by_level.mean.sum(axis=2), regret)
    np.testing.assert_allclose((result.pulls.mean * problem.gaps()).sum(axis=(2, 3)), regret)
    np.testing.assert_allclose(result.pulls.mean.sum(axis=(2, 3)), result.steps.mean)


def test_the_genie_earns_the_value_and_stays_as_long_as_computed() -> None:
    problem = sj.Problem([0.3, 0.7], sj.StaysFirst(sj.TwoState(0.9, 0.3, 0.4, 0.1, start=0)))
    genie = sj.FixedArm.for_problem(problem)
    result = sj.simulate(problem, [genie], visits=200, runs=300, checkpoints=[200])
    for found, exact in ((result.reward, problem.reward), (result.steps, problem.length)):
        assert abs(found.mean[0, 0] / 200 - exact.mean) < TOLERANCE * found.std_error[0, 0] / 200
        one_visit = found.std_error[0, 0] * np.sqrt(300 / 200)
        assert one_visit == pytest.approx(exact.std, rel=TOLERANCE / np.sqrt(2 * 300))


def test_regret_where_the_best_arm_is_not_optimal_is_against_the_true_optimum() -> None:
    problem = sj.Problem([0.8, 0.2], sj.TwoState(q00=0.1, q01=0.1, q10=0.1, q11=0.9))
    assert not problem.best_arm_is_optimal
    result = sj.simulate(problem, [sj.FixedArm(0), sj.FixedArm(1)], visits=300, runs=200)
    assert (result.regret.mean[:, -1] > 0.0).all()
    joint = result.regret.std_error[:, -1] + result.raw_regret.std_error[:, -1]
    assert (np.abs(result.regret.mean - result.raw_regret.mean)[:, -1] < TOLERANCE * joint).all()


def test_same_bits_whatever_the_workers() -> None:
    policies = [sj.ULCB(), sj.QLearning()]
    results = [
        sj.simulate(SETTINGS["B"], policies, visits=50, runs=100, seed=9, workers=workers)
        for workers in (1, 2, 5)
    ]
    for other in results[1:]:
        for mine, theirs in zip(results[0].moments, other.moments, strict=True):
            assert mine.runs == theirs.runs
            np.testing.assert_array_equal(mine.mean, theirs.mean)
            np.testing.assert_array_equal(mine.squares, theirs.squares)


def test_moments_joined_are_the_moments_of_all() -> None:
    rows = np.random.default_rng(1).normal(1e6, 1.0, size=(50, 3, 2))
    parts = [Moments.of(part) for part in np.split(rows, [7, 8, 30])]
    joined = parts[0].join(parts[1]).join(parts[2]).join(parts[3])
    whole = Moments.of(rows)
    assert joined.runs == 50
    np.testing.assert_allclose(joined.mean, rows.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(joined.squares, whole.squares, rtol=1e-9)


def test_standard_errors_are_those_of_the_runs() -> None:
    problem, policy = SETTINGS["B"], sj.UCB()
    grid = checkpoint_grid(30, [10])
    rows = chunk(problem, policy, 4, 0, 40, grid)[:, :, 0]
    result = sj.simulate(problem, [policy], visits=30, runs=40, seed=4, checkpoints=[10])
    np.testing.assert_allclose(result.regret.mean[0], rows.mean(axis=0), rtol=1e-12)
    expected = rows.std(axis=0, ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(result.regret.std_error[0], expected, rtol=1e-12)
    np.testing.assert_allclose(result.regret.half_width, 1.96 * result.regret.std_error, rtol=1e-4)


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    sj.simulate(
        SETTINGS["B"], [sj.UCB(), sj.ULCB()], visits=5, runs=40,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[-1] == (4, 4) and len(seen) == 4


def test_to_dict_has_what_programs_need() -> None:
    result = sj.simulate(SETTINGS["B"], [sj.ULCB(c0=-0.5)], visits=20, runs=4, checkpoints=2)
    (policy,) = result.to_dict()["policies"]
    assert policy["name"] == "ULCB" and policy["runs"] == 4
    assert policy["parameters"]["c0"] == -0.5
    assert [c["visits"] for c in policy["checkpoints"]] == [1, 20]
    fields = {"visits", "regret", "regret_std_error", "regret_half_width", "raw_regret", "steps"}
    assert fields <= policy["checkpoints"][0].keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"runs": 1}, "runs = 1 is not allowed: it must be a whole number of at least 2"),
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({"visits": 2.5}, "visits = 2.5 is not allowed"),
        ({"seed": -1}, "seed = -1 is not allowed"),
        ({"workers": -2}, "workers = -2 is not allowed"),
        ({"checkpoints": [30]}, "checkpoints = 30 is not allowed"),
        ({"checkpoints": 0}, "checkpoints = 0 is not allowed"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.simulate(SETTINGS["B"], [sj.UCB()], **{"visits": 20, "runs": 2, **arguments})
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        ([], "policies = [] is not allowed: give at least one policy"),
        (["UCB"], "policies has 'UCB', which is not a policy of this package"),
        ([sj.FixedArm(2)], "arm = 2 is not allowed: it must be a whole number from 0 to 1"),
    ],
)
def test_bad_policies(policies: list[object], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.simulate(SETTINGS["B"], policies, visits=20, runs=2)
    assert str(refusal.value) == sentence

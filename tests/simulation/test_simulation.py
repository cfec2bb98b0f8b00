"""simulate(): estimates that agree with each other, with the theory and with checked numbers."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results import assert_same
from rosters import roster

import sojourn as sj
from sojourn import problem_files
from sojourn.paper import SETTINGS
from sojourn.policy_names import policies_of
from sojourn.simulation import Interrupted, Moments, PrecisionWarning, Progress, backends
from sojourn.simulation.chunks import Job, chunk
from sojourn.simulation.precision import FLOOR, HOPELESS, checkpoint_grid, chunk_runs

TOLERANCE = 4.5  # standard errors
pytestmark = pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of eight runs, so that small simulations have many."""
    monkeypatch.setattr("sojourn.simulation.precision.CHUNK_STEPS", 0.0)


def everyone(problem: sj.Problem) -> list[sj.policies.Policy]:
    return [cls.for_problem(problem) for cls in roster(problem)]


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
    assert regret.mean[result.index("FixedArm"), -1] == 0.0  # the genie


@pytest.mark.parametrize(
    ("setting", "policy", "expected", "error"),
    [
        ("A", sj.policies.UCB, 1720.7, 9.6),
        ("A", sj.policies.ULCB, 723.8, 4.9),
        ("B", sj.policies.UCB, 159.2, 0.8),
        ("B", sj.policies.ULCB, 136.9, 0.7),
        ("B", sj.policies.KLUCB, 73.5, 1.4),
        ("B", sj.policies.KLULCB, 64.1, 1.3),
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
    policies = [sj.policies.UCB(), sj.policies.KLUCB(), sj.policies.ULCB(), sj.policies.KLULCB()]
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
    result = sj.simulate(problem, [sj.policies.UCB(), sj.policies.Uniform()], visits=40, runs=8)
    regret = result.regret.mean
    np.testing.assert_allclose(result.regret_by_level.mean.sum(axis=2), regret)
    np.testing.assert_allclose((result.pulls.mean * problem.gaps()).sum(axis=(2, 3)), regret)
    np.testing.assert_allclose(result.pulls.mean.sum(axis=(2, 3)), result.steps.mean)


def test_the_genie_earns_the_value_and_stays_as_long_as_computed() -> None:
    problem = sj.Problem([0.3, 0.7], sj.users.StaysFirst(sj.TwoState(0.9, 0.3, 0.4, 0.1, start=0)))
    genie = sj.policies.FixedArm.for_problem(problem)
    result = sj.simulate(problem, [genie], visits=200, runs=300, checkpoints=[200])
    for found, exact in ((result.reward, problem.reward), (result.steps, problem.length)):
        assert abs(found.mean[0, 0] / 200 - exact.mean) < TOLERANCE * found.std_error[0, 0] / 200
        one_visit = found.std_error[0, 0] * np.sqrt(300 / 200)
        assert one_visit == pytest.approx(exact.std, rel=TOLERANCE / np.sqrt(2 * 300))


def test_regret_where_the_best_arm_is_not_optimal_is_against_the_true_optimum() -> None:
    problem = sj.Problem([0.8, 0.2], sj.TwoState(q00=0.1, q01=0.1, q10=0.1, q11=0.9))
    assert not problem.best_arm_is_optimal
    result = sj.simulate(
        problem, [sj.policies.FixedArm(0), sj.policies.FixedArm(1)], visits=300, runs=200
    )
    assert (result.regret.mean[:, -1] > 0.0).all()
    joint = result.regret.std_error[:, -1] + result.raw_regret.std_error[:, -1]
    assert (np.abs(result.regret.mean - result.raw_regret.mean)[:, -1] < TOLERANCE * joint).all()


@pytest.mark.parametrize("how_many", [{"runs": 100}, {"precision": "6%"}])
def test_same_bits_whatever_the_workers(how_many: dict[str, Any], small_chunks: None) -> None:
    policies = [sj.policies.ULCB(), sj.policies.QLearning(), sj.policies.UCB()]
    results = [
        sj.simulate(SETTINGS["B"], policies, visits=50, seed=9, workers=workers, **how_many)
        for workers in (1, 2, 5)
    ]
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


def test_a_run_depends_on_its_number_only() -> None:
    both = sj.simulate(SETTINGS["B"], [sj.policies.UCB(), sj.policies.ULCB()], visits=30, runs=60)
    late = sj.simulate(
        SETTINGS["B"], [sj.policies.UCB(), sj.policies.ULCB()], visits=30, runs=40, first_run=20
    )
    early = sj.simulate(SETTINGS["B"], [sj.policies.UCB(), sj.policies.ULCB()], visits=30, runs=20)
    np.testing.assert_allclose(early.merge(late).regret.mean, both.regret.mean, rtol=1e-12)
    np.testing.assert_allclose(early.merge(late).regret.std_error, both.regret.std_error)


def test_moments_joined_are_the_moments_of_all() -> None:
    rows = np.random.default_rng(1).normal(1e6, 1.0, size=(50, 3, 2))
    parts = [Moments.of(part) for part in np.split(rows, [7, 8, 30])]
    joined = parts[0].join(parts[1]).join(parts[2]).join(parts[3])
    whole = Moments.of(rows)
    assert joined.runs == 50
    np.testing.assert_allclose(joined.mean, rows.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(joined.squares, whole.squares, rtol=1e-9)


def test_standard_errors_are_those_of_the_runs() -> None:
    problem, policy = SETTINGS["B"], sj.policies.UCB()
    grid = checkpoint_grid(30, [10])
    rows = chunk(problem, policy, 4, 0, 40, grid)[:, :, 0]
    result = sj.simulate(problem, [policy], visits=30, runs=40, seed=4, checkpoints=[10])
    np.testing.assert_allclose(result.regret.mean[0], rows.mean(axis=0), rtol=1e-12)
    expected = rows.std(axis=0, ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(result.regret.std_error[0], expected, rtol=1e-12)
    np.testing.assert_allclose(result.regret.half_width, 1.96 * result.regret.std_error, rtol=1e-4)


def test_progress_says_what_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is, and no time left that would have to be a guess."""
    seen, go = list[Progress](), threading.Event()

    def watch(now: Progress) -> None:
        seen.append(now)
        if now.compiling:
            go.set()

    monkeypatch.setattr(backends, "FROM_DISK", 0.0)
    monkeypatch.setattr(Job, "prepare", lambda self: go.wait(60.0))
    sj.simulate("B", ["UCB", "Uniform"], visits=5, runs=2, workers=1, progress=watch)
    first, last = seen[0], seen[-1]
    assert (first.compiling, first.compiled, first.left) == ("UCB", 0, None)
    assert (last.compiling, last.compiled, last.left) == (None, 2, 0.0)


def test_a_bar_is_shown_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal; by default, and where there is none, nothing is."""
    small = {"visits": 5, "runs": 2}
    for watch in (True, False, None):
        sj.simulate("B", "UCB", progress=watch, **small)
    assert capsys.readouterr() == ("", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr.isatty", lambda: True)
        sj.simulate("B", "UCB", progress=True, **small)
    assert "2 runs" in capsys.readouterr().err


@pytest.mark.parametrize("how_many", [{"runs": 40}, {"precision": "20%"}])
def test_progress_reaches_the_end(how_many: dict[str, Any], small_chunks: None) -> None:
    seen: list[Progress] = []
    policies = [sj.policies.UCB(), sj.policies.ULCB()]
    result = sj.simulate(
        SETTINGS["B"], policies, visits=5, workers=1, progress=seen.append, **how_many
    )
    seen = [now for now in seen if now.compiling is None]
    assert list(seen[-1].runs) == result.runs
    assert seen[-1].done == seen[-1].total > 0.0
    assert all(before.done < after.done for before, after in pairwise(seen))
    assert all(p.done < p.total for p in seen[:-1])


def test_to_dict_has_what_programs_need() -> None:
    result = sj.simulate(
        SETTINGS["B"], [sj.policies.ULCB(c0=-0.5)], visits=20, runs=4, checkpoints=2
    )
    (policy,) = result.to_dict()["policies"]
    assert policy["name"] == "ULCB" and policy["runs"] == 4
    assert policy["parameters"]["c0"] == -0.5
    assert [c["visits"] for c in policy["checkpoints"]] == [1, 20]
    fields = {"visits", "regret", "regret_std_error", "regret_half_width", "raw_regret", "steps"}
    assert fields <= policy["checkpoints"][0].keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"runs": 1}, "runs = 1 is not allowed: it must be a whole number from 2 to"),
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({"visits": 2.5}, "visits = 2.5 is not allowed"),
        ({"seed": -1}, "seed = -1 is not allowed"),
        ({"workers": -2}, "workers = -2 is not allowed"),
        ({"checkpoints": [30]}, "checkpoints = 30 is not allowed"),
        ({"checkpoints": 0}, "checkpoints = 0 is not allowed"),
        ({"checkpoints": "lin:5"}, "checkpoints = 'lin:5' is not allowed: it must be a number"),
        ({"checkpoints": "log:0"}, "checkpoints = 'log:0' is not allowed"),
        ({"precision": 5}, "give either runs or precision, not both"),
        ({"runs": None, "precision": 0}, "precision = 0 is not allowed: it must be a number gre"),
        ({"runs": None, "precision": "x%"}, "precision = 'x%' is not allowed: it must be a num"),
        ({"runs": None, "precision": "1 else 2"}, "precision = '1 else 2' is not allowed"),
        ({"runs": None, "precision": "5% else 2"}, "precision = '5% else 2' is not allowed"),
        ({"runs": None, "precision": ""}, "precision = '' is not allowed"),
        ({"runs": None, "precision": "0%"}, "precision = '0%' is not allowed"),
        ({"runs": None, "precision": 5, "max_runs": 1}, "max_runs = 1 is not allowed"),
        ({"max_runs": 50}, "max_runs needs precision"),
        ({"first_run": -1}, "first_run = -1 is not allowed"),
        ({"workers": 0}, "workers = 0 is not allowed"),
        ({"client": "tcp://"}, "client = 'tcp://' is not allowed: it must be a dask.distributed"),
        ({"client": "tcp://", "workers": 1}, "give either workers, which are threads here, or"),
        ({"progress": 1}, "progress = 1 is not allowed: it must be a function, True or False"),
        ({"store": "/no/such/folder/x"}, "/no/such/folder/x: the store cannot be used (unable to"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.simulate(SETTINGS["B"], [sj.policies.UCB()], **{"visits": 20, "runs": 2, **arguments})
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        ([], "policies = [] is not allowed: give at least one policy"),
        (["UBC"], "policy 'UBC' is not known: it must be one of UCB, KLUCB, "),
        (["UCB:d=1"], "UCB has no parameter 'd': its parameters are c"),
        (
            sj.policies.UCB,
            "policy <class 'sojourn.policies.index.UCB'> is not allowed: it must be a policy "
            "such as UCB(), or the name of one; it is a class, so call it: UCB()",
        ),
        (None, "policy None is not allowed: it must be a policy such as UCB(), or the name of one"),
        (
            [sj.policies.FixedArm(2)],
            "arm = 2 is not allowed: it must be a whole number from 0 to 1",
        ),
    ],
)
def test_bad_policies(policies: object, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.simulate(SETTINGS["B"], policies, visits=20, runs=2)
    assert str(refusal.value).startswith(sentence)


def test_problems_and_policies_go_by_name(tmp_path: Path) -> None:
    """One or several, as the command line has them; a file has the same problem."""
    file = tmp_path / "b.json"
    file.write_text(json.dumps(problem_files.to_dict(SETTINGS["B"])))
    small = {"visits": 20, "runs": 2}
    known = sj.simulate(SETTINGS["B"], [sj.policies.UCB(c=2)], **small)
    for problem in ("b", file, str(file)):
        for policies in (sj.policies.UCB(c=2), "UCB:c=2", ["UCB, c=2"]):
            found = sj.simulate(problem, policies, **small)
            assert found.problem == known.problem and found.policies == known.policies
            np.testing.assert_array_equal(found.regret.mean, known.regret.mean)
    set_for_it = sj.policies.UCBQLearning.for_problem(SETTINGS["ema-100"])
    assert policies_of("UCBQLearning", SETTINGS["ema-100"]) == (set_for_it,)


@pytest.mark.parametrize("take", [
    lambda problem: sj.simulate(problem, sj.policies.UCB()), sj.recommend, sj.theory.summary,
    sj.theory.case, sj.theory.bounds, sj.theory.assumptions, sj.theory.warn_about,
    sj.theory.lemma3, lambda problem: sj.check(sj.policies.UCB(), problem),
    lambda problem: sj.logs.synthetic_log(problem, "Uniform", visits=1),
])  # fmt: skip
def test_what_takes_a_problem_says_what_that_may_be(take: Callable[[object], object]) -> None:
    for given, sentence in (
        (3, r"problem = 3 is not allowed: it must be a Problem, the name of a setting of the "
         r"paper \(A, B, .*\), or a .toml or .json file"),
        ("E", r"problem 'E' is not known: it must be one of A, B, .*, or a .toml or .json file"),
        ("none.toml", r"none.toml: cannot be read \(no such file or directory\)"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            take(given)


def test_chunks_are_powers_of_two_of_bounded_work_and_memory() -> None:
    quick = chunk_runs(SETTINGS["B"], 10, 24)
    long = chunk_runs(SETTINGS["A"], 1_000_000, 24)
    wide = sj.Problem([0.5] * 2000, sj.TwoState(0.5, 0.5, 0.5, 0.5))
    assert (quick, long) == (1024, 8)
    assert chunk_runs(SETTINGS["A"], 20_000, 24) * 20_000 * 110 == pytest.approx(3e8, rel=0.5)
    assert chunk_runs(wide, 10, 24) * 24 * 4005 * 8 < 1 << 26 < chunk_runs(wide, 10, 24) * 2e6


def test_every_policy_stops_on_its_own_when_it_is_precise_enough(small_chunks: None) -> None:
    policies = [sj.policies.UCB(), sj.policies.Uniform(), sj.policies.FixedArm(0)]
    result = sj.simulate(SETTINGS["B"], policies, visits=100, precision=0.6, seed=2)
    assert (result.regret.half_width[:, -1] <= 0.6).all()
    assert result.reached == [True] * 3
    assert len(set(result.runs)) == 3 and result.runs[2] == FLOOR
    assert all(runs % 8 == 0 for runs in result.runs)
    # One look earlier it was not precise enough: the rule went no further than it had to.
    for p, runs in enumerate(result.runs[:2]):
        before = sj.simulate(
            SETTINGS["B"], [policies[p]], visits=100, runs=_looks_until(runs)[-2], seed=2
        )
        assert before.regret.half_width[0, -1] > 0.6


def _looks_until(runs: int) -> list[int]:
    """The numbers of runs at which chunks of eight are looked at, up to `runs`."""
    chunks = [FLOOR // 8]
    while 8 * chunks[-1] < runs:
        chunks.append(ceil(1.25 * chunks[-1]))
    assert 8 * chunks[-1] == runs
    return [8 * number for number in chunks]


def test_precision_and_the_same_number_of_runs_give_the_same_bits(small_chunks: None) -> None:
    policies = [sj.policies.UCB(), sj.policies.Uniform()]
    result = sj.simulate(SETTINGS["B"], policies, visits=60, precision="3%", seed=2)
    assert result.runs[0] != result.runs[1]
    for policy, runs, moments in zip(policies, result.runs, result.moments, strict=True):
        alone = sj.simulate(SETTINGS["B"], [policy], visits=60, runs=runs, seed=2)
        np.testing.assert_array_equal(alone.moments[0].mean, moments.mean)
        np.testing.assert_array_equal(alone.moments[0].squares, moments.squares)


def test_precision_relative_to_the_regret_for_all_or_some(small_chunks: None) -> None:
    problem, policies = SETTINGS["B"], [sj.policies.UCB(), sj.policies.Uniform()]
    relative = sj.simulate(problem, policies, visits=60, precision="10%")
    assert (relative.regret.half_width <= 0.1 * relative.regret.mean)[:, -1].all()
    # A half-width of 0.9 takes about 600 runs of UCB and 9,000 of Q-learning.
    policies = [sj.policies.UCB(), sj.policies.QLearning()]
    mixed = sj.simulate(problem, policies, visits=60, precision="0.9 else 6%", max_runs=900)
    width, share = mixed.regret.half_width[:, -1], 0.06 * mixed.regret.mean[:, -1]
    assert width[0] <= 0.9 < share[0] and 0.9 < width[1] <= share[1]
    assert str(mixed.precision) == "0.9 else 6%" and mixed.reached == [True, True]


def test_a_precision_out_of_reach_is_said_with_numbers(small_chunks: None) -> None:
    with pytest.warns(
        PrecisionWarning, match=r"Uniform did not reach the precision 0\.5: .* 200 runs"
    ):
        some = sj.simulate(
            SETTINGS["B"], [sj.policies.Uniform()], visits=30, precision=0.5, max_runs=200
        )
    assert (some.runs, some.reached) == ([200], [False])
    assert "precision 0.5 not reached by Uniform" in str(some)
    with pytest.warns(PrecisionWarning, match=r"about [\d,]+ would be needed, but"):
        hopeless = sj.simulate(
            SETTINGS["B"], [sj.policies.Uniform()], visits=30, precision=1e-3, max_runs=1_000
        )
    assert hopeless.runs == [FLOOR]
    assert hopeless.precision is not None
    assert hopeless.precision.needed(hopeless.moments[0]) > HOPELESS * 1_000


def test_memory_is_bounded_while_chunks_wait(
    small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first chunk is held back until no other is begun any more: no more than a few wait."""
    begun, go = [], threading.Event()
    usual = sj.simulation.chunks.Job.compute

    def compute(self: Any, first: int, runs: int, stop: Any) -> Any:
        begun.append(first)
        if first == 0:
            go.wait(timeout=1.0)
            assert not go.is_set()
        return usual(self, first, runs, stop)

    monkeypatch.setattr(sj.simulation.chunks.Job, "compute", compute)
    monkeypatch.setattr(sj.simulation.reduce, "HELD", 10)
    seen: list[int] = []
    sj.simulate(
        SETTINGS["B"], [sj.policies.Uniform()], visits=2, runs=800, workers=2,
        progress=lambda p: seen.append(len(begun) - p.runs[0] // 8),
    )  # fmt: skip
    assert max(seen) <= 11
    assert len(begun) == 100


def test_ctrl_c_raises_with_what_is_done(small_chunks: None) -> None:
    seen: list[Progress] = []

    def progress(p: Progress) -> None:
        if min(p.runs) >= 16 and not seen:
            seen.append(p)
            signal.raise_signal(signal.SIGINT)

    arguments: dict[str, Any] = {"visits": 20, "seed": 4}
    with pytest.raises(
        Interrupted, match="runs finished; to be able to continue another time"
    ) as stop:
        sj.simulate(
            SETTINGS["B"],
            [sj.policies.UCB(), sj.policies.ULCB()],
            runs=10_000,
            progress=progress,
            **arguments,
        )
    result = stop.value.result
    assert isinstance(stop.value, KeyboardInterrupt)
    assert all(16 <= runs < 10_000 for runs in result.runs)
    for p, policy in enumerate(result.policies):
        alone = sj.simulate(SETTINGS["B"], [policy], runs=result.runs[p], **arguments)
        np.testing.assert_array_equal(alone.moments[0].mean, result.moments[p].mean)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_stops_in_the_middle_of_a_chunk() -> None:
    """A run of a thousand million steps does not have to end first."""
    alarm = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    problem = sj.Problem([0.9, 0.8], sj.TwoState(0.0, 0.0, 0.0, 1e-6))
    before = set(threading.enumerate())  # other tests of this process may have left some
    try:
        sj.simulate(problem, [sj.policies.Uniform()], visits=1, runs=2)
        alarm.start()
        with pytest.raises(Interrupted):
            sj.simulate(problem, [sj.policies.Uniform()], visits=100_000, runs=2)
        for thread in set(threading.enumerate()) - before:
            if thread.name.startswith("sojourn"):
                thread.join(timeout=60.0)
                assert not thread.is_alive()
    finally:
        alarm.cancel()
        signal.signal(signal.SIGINT, usual)


def test_an_error_in_a_chunk_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(*arguments: Any) -> None:
        raise ZeroDivisionError("in a worker")

    monkeypatch.setattr(sj.simulation.chunks.Job, "compute", compute)
    with pytest.raises(ZeroDivisionError, match="in a worker"):
        sj.simulate(SETTINGS["B"], [sj.policies.Uniform()], visits=2, runs=2)


def test_importing_the_package_imports_nothing_optional() -> None:
    optional = ["dask", "distributed", "matplotlib", "pandas", "polars"]
    code = (
        f"import sys, sojourn, sojourn.cli.main; print([m for m in {optional} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

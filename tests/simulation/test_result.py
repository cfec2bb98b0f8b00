"""Result: differences, tables, files that load as the same bits, merging, pictures."""

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from matplotlib.figure import Figure
from results import assert_same

import sojourn as sj
from sojourn.engine.streams import Stream
from sojourn.paper import SETTINGS
from sojourn.policies.base import Counts, Policy
from sojourn.simulation import Result, saved
from sojourn.simulation.chunks import chunk

POLICIES = [sj.policies.UCB(), sj.policies.ULCB(c0=-0.5), sj.policies.Uniform(), sj.policies.UCB()]


@pytest.fixture(scope="module")
def result() -> Result:
    """Setting D, which has three arms, with two policies of the same name."""
    return sj.simulate(SETTINGS["D"], POLICIES, visits=40, runs=20, seed=3, checkpoints="linear:4")


def rows(policy: Policy, **more: Any) -> Any:
    """The totals behind `result`, run by run."""
    grid = np.array([10, 20, 30, 40])
    return chunk(SETTINGS["D"], policy, 3, 0, 20, grid, **more)


def test_labels_tell_policies_apart(result: Result) -> None:
    assert result.labels == ["UCB", "ULCB, c0=-0.5", "Uniform", "UCB (2)"]


def test_differences_are_those_of_the_runs(result: Result) -> None:
    apart = rows(POLICIES[2])[:, :, 0] - rows(POLICIES[1])[:, :, 0]
    found = result.difference("Uniform", "ULCB, c0=-0.5")
    np.testing.assert_allclose(found.mean, apart.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.std_error, apart.std(axis=0, ddof=1) / np.sqrt(20))
    np.testing.assert_array_equal(result.difference(1, 2).mean, -found.mean)
    np.testing.assert_array_equal(result.difference(1, 2).std_error, found.std_error)
    np.testing.assert_array_equal(found.high - found.mean, found.mean - found.low)


def test_the_same_policy_twice_differs_by_nothing(result: Result) -> None:
    same = result.difference(0, 3)
    assert (same.mean == 0.0).all() and (same.half_width == 0.0).all()


def test_pairing_makes_differences_sharper() -> None:
    result = sj.simulate(
        SETTINGS["B"], [sj.policies.KLUCB(), sj.policies.KLULCB()], visits=200, runs=64
    )
    unpaired = np.hypot(*result.regret.std_error[:, -1])
    assert result.difference(0, 1).std_error[-1] < 0.7 * unpaired


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        ((0, 0), "'UCB' is one policy: a difference takes two"),
        (("UCB", "EXP3"), "policy 'EXP3' is not in this result: it has UCB, ULCB, c0=-0.5, Unif"),
        ((0, 4), "policy 4 is not in this result"),
        ((-1, 0), "policy -1 is not in this result"),
    ],
)
def test_differences_of_what_is_not_there(result: Result, pair: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        result.difference(*pair)
    assert str(refusal.value).startswith(sentence)


def test_policies_go_by_label_class_name_or_number(result: Result) -> None:
    for name in ("ULCB, c0=-0.5", "ulcb:c0=-0.5", "ULCB", "ulcb", 1):
        assert result.index(name) == 1
    assert result.index("UCB") == 0 and result.index("UCB (2)") == 3
    others = sj.simulate(
        SETTINGS["B"], [sj.policies.KLULCB(), sj.policies.KLULCB().opposite()], visits=2, runs=2
    )
    assert others.labels == ["KL-ULCB", "KL-ULCB, opposite"]
    assert [others.index(name) for name in ("KLULCB", "kl-ulcb, Opposite")] == [0, 1]


def test_a_name_that_fits_two_policies_is_refused() -> None:
    policies = [sj.policies.ULCB(c0=-0.5), sj.policies.ULCB(c0=0.5)]
    result = sj.simulate(SETTINGS["B"], policies, visits=2, runs=2)
    assert result.labels == ["ULCB, c0=-0.5", "ULCB, c0=0.5"]
    assert [result.index(label) for label in result.labels] == [0, 1]
    for name in ("ULCB", "ulcb c0=0.5"):
        with pytest.raises(ValueError, match="is not in this result"):
            result.index(name)


def test_every_column_has_its_interval(result: Result) -> None:
    totals = rows(POLICIES[1])
    levels, arms = 2, 3
    for estimate, columns in (
        (result.regret_by_level, totals[:, :, 3 : 3 + levels]),
        (result.pulls, totals[:, :, 3 + levels :].reshape(20, 4, levels, arms)),
        (result.visit_length, totals[:, :, 2] / [10, 20, 30, 40]),
        (result.visit_reward, totals[:, :, 1] / [10, 20, 30, 40]),
    ):
        np.testing.assert_allclose(estimate.mean[1], columns.mean(axis=0), rtol=1e-12)
        expected = columns.std(axis=0, ddof=1) / np.sqrt(20)
        np.testing.assert_allclose(estimate.std_error[1], expected, rtol=1e-9, atol=1e-12)


def test_tables_have_the_numbers(result: Result) -> None:
    text = str(result)
    assert f"{result.regret.mean[2, -1]:,.1f}" in text
    assert result.compare() in text
    versus = result.compare("Uniform").splitlines()
    assert versus[0].startswith("less Uniform") and len(versus) == 4
    assert f"{result.difference(0, 2).mean[-1]:,.1f}" in versus[1]
    assert f"{result.difference(0, 2).half_width[-1]:,.1f}" in versus[1]
    assert repr(result).startswith("<Result of UCB (20 runs), ULCB, c0=-0.5 (20 runs)")


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz"])
def test_a_saved_result_loads_as_the_same_bits(result: Result, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    result.save(path)
    loaded = Result.load(path)
    assert_same(loaded, result)
    assert loaded.version == sj.__version__ and loaded.seed == 3
    assert str(loaded) == str(result)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    loaded.save(tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == path.read_bytes()


TWO = sj.TwoState(0.5, 0.1, 0.3, 0.05)


@pytest.mark.parametrize(
    "problem",
    [
        sj.Problem([0.8, 0.6], sj.ByArm.odds(TWO, [2, 0])),
        sj.Problem(
            rewards=[sj.rewards.Beta(3, 2), 0.5, sj.rewards.Empirical([0.2, 0.9])],
            user=sj.users.Levels(TWO, thresholds=[0.5]),
        ),
    ],
    ids=["by arm", "graded"],
)
@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_results_outside_the_paper_load_as_the_same_bits(
    problem: sj.Problem, tmp_path: Path
) -> None:
    result = sj.simulate(problem, [sj.policies.Uniform()], visits=20, runs=4, seed=3)
    result.save(tmp_path / "r.csv")
    loaded = Result.load(tmp_path / "r.csv")
    assert_same(loaded, result)
    assert loaded.problem == problem and str(loaded) == str(result)


def test_files_of_the_version_before_labels_load(result: Result, tmp_path: Path) -> None:
    """In these a policy was called by its class and parameters: KLULCB:c0=1."""
    names = {"UCB": "UCB", "ULCB, c0=-0.5": "ULCB:c0=-0.5", "UCB (2)": "UCB (2)"}
    result.save(tmp_path / "r.csv")
    head, _, body = (tmp_path / "r.csv").read_text().partition("\n")
    for label, name in names.items():
        body = body.replace(f'"{label}"', name)
    assert "\nULCB:c0=-0.5,,10,regret,,," in body and '"' not in body
    data = json.loads(head.removeprefix("# sojourn-result 1 "))
    data["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    assert set(data["policies"][0]) == {"name", "parameters", "text"}
    (tmp_path / "old.csv").write_text(f"# sojourn-result 1 {json.dumps(data)}\n{body}")
    loaded = Result.load(tmp_path / "old.csv")
    assert_same(loaded, result)
    assert loaded.labels == result.labels


def test_what_was_asked_for_is_saved_too(tmp_path: Path) -> None:
    problem = sj.Problem([0.3, 0.6], sj.users.StaysFirst(sj.Ema(0.5, sj.users.LogLeave(100))))
    with pytest.warns(sj.theory.AssumptionWarning):
        result = sj.simulate(
            problem,
            [sj.policies.UCBQLearning(H=5), sj.policies.UCBQLearning(H=6, by_step=True)],
            visits=5,
            precision="2 else 30%",
        )
    result.save(tmp_path / "r.csv")
    loaded = Result.load(tmp_path / "r.csv")
    assert_same(loaded, result)
    assert loaded.precision == result.precision
    assert loaded.reached == result.reached


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz"])
def test_pandas_and_polars_read_the_file(result: Result, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    result.save(path)
    for frame in (
        pandas.read_csv(path, comment="#"),
        pandas.DataFrame(polars.read_csv(path, comment_prefix="#").to_dict(as_series=False)),
        result.to_frame(),
        pandas.DataFrame(polars.DataFrame(result.to_columns()).to_dict(as_series=False)),
    ):
        assert list(frame.columns) == list(result.to_columns())
        regret = frame[(frame.quantity == "regret") & (frame.policy == "ULCB, c0=-0.5")]
        np.testing.assert_allclose(regret["mean"], result.regret.mean[1], rtol=1e-15)
        np.testing.assert_allclose(regret["std_error"], result.regret.std_error[1], rtol=1e-15)
        pulls = frame[(frame.quantity == "pulls") & (frame.policy == "Uniform")]
        pulls = pulls[(pulls.level == 1) & (pulls.arm == 2)]
        np.testing.assert_allclose(pulls["mean"], result.pulls.mean[2, :, 1, 2], rtol=1e-15)
        apart = frame[(frame.policy == "UCB") & (frame.versus == "Uniform")]
        np.testing.assert_allclose(apart["mean"], result.difference(0, 2).mean, rtol=1e-15)
        assert list(apart["visits"]) == [10, 20, 30, 40] and set(apart["runs"]) == {20}


def edited(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda written: gzip.compress(change(gzip.decompress(written)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda b: b[: len(b) // 2], "the file is damaged: it cannot be unpacked"),
        (lambda b: b"", "not a result that this version of sojourn reads: its first line must"),
        (edited(lambda b: b[:-20]), "the file is damaged, or it was changed after it was saved"),
        (edited(lambda b: b[:100]), "the file is damaged, or it was changed"),
        (edited(lambda b: b.replace(b",40,", b",41,", 1)), "the file is damaged, or it was"),
        (edited(lambda b: b.split(b"\n", 1)[1]), "not a result that this version"),
        (
            edited(lambda b: b.replace(b"sojourn-result 1", b"sojourn-result 2")),
            "not a result that this version of sojourn reads",
        ),
    ],
)
def test_damaged_and_newer_files(
    result: Result, tmp_path: Path, change: Callable[[bytes], bytes], sentence: str
) -> None:
    path = tmp_path / "r.csv.gz"
    result.save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError) as refusal:
        Result.load(path)
    assert str(refusal.value).startswith(f"{path}: {sentence}")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("r.parquet", "a file of results must end in .csv or .csv.gz"),
        ("none/r.csv", "there is no folder"),
    ],
)
def test_places_where_results_cannot_go(
    result: Result, tmp_path: Path, name: str, sentence: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        result.save(tmp_path / name)
    assert str(refusal.value).startswith(f"{tmp_path / name}: {sentence}")
    with pytest.raises(ValueError, match="cannot be read"):
        Result.load(tmp_path / "none.csv")


def test_a_save_that_fails_leaves_the_old_file(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.csv"
    result.save(path)
    before = path.read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(saved.os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        replace(result, precision=None).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


@dataclass(frozen=True)
class Last(Policy):
    """Somebody's own policy."""

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        return memory.pulls.size - 1


def test_models_and_policies_of_one_s_own_have_to_be_given_again(tmp_path: Path) -> None:
    problem = sj.Problem([0.9, 0.8], sj.Ema(0.5, leave=lambda s: 0.5 - 0.3 * s))
    with pytest.warns(sj.theory.AssumptionWarning):
        result = sj.simulate(problem, [Last(), sj.policies.Uniform()], visits=5, runs=4)
    path = tmp_path / "r.csv"
    result.save(path)
    for given, sentence in (
        ({}, "its user model is not of this package: load it with problem=Problem("),
        ({"problem": problem}, "Last() is not a policy of this package: load it with policies=["),
        ({"problem": SETTINGS["B"]}, "the result is of Problem("),
        (
            {"problem": problem, "policies": [sj.policies.UCB()]},
            "the result is of Last(), Uniform(",
        ),
    ):
        with pytest.raises(ValueError) as refusal:
            Result.load(path, **given)
        assert str(refusal.value).startswith(f"{path}: {sentence}")
    assert_same(
        Result.load(path, problem=problem, policies=[Last(), sj.policies.Uniform()]), result
    )


def test_merged_results_are_those_of_all_runs() -> None:
    def part(first: int, seed: int = 0, **more: Any) -> Result:
        policies = [sj.policies.UCB(), sj.policies.Uniform()]
        arguments = {"visits": 30, "runs": 10, "seed": seed, "first_run": first, **more}
        return sj.simulate(SETTINGS["B"], policies, **arguments)

    merged, whole = part(0).merge(part(10), part(20)), part(0, runs=30)
    assert merged.runs == whole.runs == [30, 30]
    for one, other in zip(merged.moments + merged.pairs, whole.moments + whole.pairs, strict=True):
        assert one.runs == other.runs
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.squares, other.squares, rtol=1e-9, atol=1e-9)
    assert part(0).merge(part(0, seed=1)).runs == [20, 20]
    assert "seeds 0, 1" in str(part(0).merge(part(0, seed=1)))
    for other, sentence in (
        (part(9), "results that share runs cannot be merged, and both have some of UCB"),
        (part(10, visits=31), "results at different checkpoints cannot be merged"),
        (5, "5 is not a result"),
        (
            sj.simulate(SETTINGS["B"], [sj.policies.UCB()], visits=30, runs=2),
            "results of different policies cannot be merged",
        ),
        (
            sj.simulate(
                SETTINGS["C"], [sj.policies.UCB(), sj.policies.Uniform()], visits=30, runs=2
            ),
            "results of different problem",
        ),
    ):
        with pytest.raises(ValueError) as refusal:
            part(0).merge(other)
        assert str(refusal.value).startswith(sentence)


LOG = np.log([10, 20, 30, 40])


def test_pictures_have_the_regret_with_its_bands(result: Result, tmp_path: Path) -> None:
    (axes,) = result.plot(tmp_path / "r.png").axes
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    names = ["UCB", "ULCB, c0=-0.5", "Uniform", "UCB (2)"]
    assert [text.get_text() for text in axes.texts] == names
    assert [line.get_label() for line in axes.lines] == names
    for p, (line, band) in enumerate(zip(axes.lines, axes.collections, strict=True)):
        np.testing.assert_array_equal(line.get_xdata(), result.checkpoints)
        np.testing.assert_array_equal(line.get_ydata(), result.regret.mean[p])
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == result.regret.low[p].min()
        assert heights.max() == result.regret.high[p].max()
    per_log = result.plot(per_log=True).axes[0]
    np.testing.assert_allclose(per_log.lines[2].get_ydata(), result.regret.mean[2] / LOG)
    with pytest.raises(ValueError, match="cannot be written"):
        result.plot(tmp_path / "none" / "r.png")


def test_pictures_have_bounds_if_asked_for(result: Result) -> None:
    (axes,) = result.plot(bounds=True).axes
    assert [line.get_label() for line in axes.lines] == [
        "UCB", "UCB bound", "ULCB, c0=-0.5", "Uniform", "UCB (2)", "UCB (2) bound", "lower bound"
    ]  # fmt: skip
    slope = next(b.slope for b in sj.theory.bounds("D") if b.name == "UCB")
    np.testing.assert_allclose(axes.lines[1].get_ydata(), slope * LOG)
    per_log = result.plot(bounds=True, per_log=True).axes[0]
    np.testing.assert_allclose(per_log.lines[1].get_ydata(), [slope] * 4)


def test_pictures_on_axes_of_ones_own(result: Result) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert result.plot(ax=right) is figure
    assert not left.lines
    np.testing.assert_array_equal(right.lines[1].get_ydata(), result.regret.mean[1])
    assert [text.get_text() for text in right.get_legend().get_texts()] == result.labels
    assert (right.get_xlabel(), right.get_ylabel()) == ("visits K", "regret")


def test_pictures_take_a_size_and_names(result: Result) -> None:
    figure = result.plot(size=(6, 4), labels={"Uniform": "at random", 0: "first"})
    assert figure.get_size_inches().tolist() == [6, 4]
    names = ["first", "ULCB, c0=-0.5", "at random", "UCB (2)"]
    assert [text.get_text() for text in figure.axes[0].texts] == names
    same = result.plot(labels=["a", "b", "c", "d"]).axes[0]
    assert [line.get_label() for line in same.lines] == ["a", "b", "c", "d"]
    colours = [line.get_color() for line in figure.axes[0].lines]
    assert colours == [line.get_color() for line in same.lines]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"labels": ["one"]}, "labels = ['one'] is not allowed: give a name for each of the 4 "),
        ({"labels": {"IMED": "x"}}, "policy 'IMED' is not in this result: it has UCB, "),
        ({"size": 3}, "size = 3 is not allowed: it must be the width and height in inches"),
        ({"size": (3, 0)}, "size = 0 is not allowed: it must be a number from 1 to 100"),
        ({"size": (3, 3), "ax": Figure().subplots()}, "give either ax, whose figure has a size"),
    ],
)
def test_pictures_refused(result: Result, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        result.plot(**arguments)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("module", "call", "sentence"),
    [
        ("pandas", "r.to_frame()", "to_frame needs pandas: pip install 'sojourn[frame]'"),
        ("matplotlib", "r.plot()", "a plot needs matplotlib: pip install 'sojourn[plot]'"),
        (
            "distributed",
            "sj.simulate(r.problem, r.policies, client=1)",
            "client needs distributed: pip install 'sojourn[cluster]'",
        ),
    ],
)
def test_what_is_optional_is_asked_for_by_name(
    result: Result, tmp_path: Path, module: str, call: str, sentence: str
) -> None:
    result.save(tmp_path / "r.csv")
    code = (
        f"import sys; sys.modules[{module!r}] = None; import sojourn as sj\n"
        f"r = sj.Result.load({str(tmp_path / 'r.csv')!r})\n"
        f"try: {call}\nexcept ImportError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{sentence}\n"


def test_to_dict_is_json(result: Result) -> None:
    data = json.loads(json.dumps(result.to_dict()))
    assert [p["label"] for p in data["policies"]] == result.labels
    assert data["policies"][0]["streams"] == [{"seed": 3, "first": 0, "runs": 20}]
    assert data["differences"][0]["versus"] == "ULCB, c0=-0.5"
    assert data["differences"][0]["regret"] == result.difference(0, 1).mean[-1]


def test_quantiles_are_of_single_runs(tmp_path: Path) -> None:
    half = {"visits": 60, "runs": 40, "seed": 2}
    first = sj.simulate("B", ["UCB", "ULCB"], **half)  # type: ignore[arg-type]
    both = first.merge(sj.simulate("B", ["UCB", "ULCB"], first_run=40, **half))  # type: ignore[arg-type]
    whole = sj.simulate("B", ["UCB", "ULCB"], **{**half, "runs": 80})  # type: ignore[arg-type]
    assert [len(of_runs) for of_runs in whole.last] == [80, 80]
    assert (both.quantile(0.9) == whole.quantile(0.9)).all()
    assert whole.quantile(0.9) == pytest.approx([np.quantile(runs, 0.9) for runs in whole.last])
    assert np.mean(whole.last, axis=1) == pytest.approx(whole.regret.mean[:, -1])
    whole.save(tmp_path / "result.csv")
    with pytest.raises(sj.InputError, match="a file has no single runs"):
        sj.Result.load(tmp_path / "result.csv").quantile(0.9)

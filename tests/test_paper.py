"""The reproduction: verdicts, declarations, a tiny run of everything, resuming, the command."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer

from sojourn import UCB, ULCB, Result
from sojourn.paper import SETTINGS, claims, reproduce
from sojourn.paper.claims import CLAIMS, check
from sojourn.paper.command import reproduce_command
from sojourn.paper.draw import draw, lines
from sojourn.paper.experiments import EXPERIMENTS, Experiment
from sojourn.paper.figures import FIGURES, Curves, Graph
from sojourn.paper.measures import (
    Interval,
    Less,
    Measured,
    Order,
    OwnWidth,
    Settles,
    SlopeNears,
    Table,
    Times,
    Towards,
    Verdict,
    overall,
    ratio,
)
from sojourn.paper.report import markdown_table, verdict_rows
from sojourn.paper.style import LOOKS
from sojourn.simulation import Moments, Stream
from sojourn.simulation.kernel import BY_LEVEL, REGRET, columns

pytest.importorskip("matplotlib")

TINY = {
    name: replace(experiment, quick=4, visits=60, checkpoints="log:8")
    for name, experiment in EXPERIMENTS.items()
}
CONFIRMED, NOT_CONFIRMED, UNDECIDED = Verdict


def made_up(
    regrets: dict[str, float],
    spread: float,
    pairs: float = 0.0,
    grid: tuple[int, ...] = (200, 2000, 20000),
) -> Table:
    """A result in which regret is the given slope times log K, with 100 runs and this spread."""
    problem, runs = SETTINGS["B"], 100
    points = np.array(grid, np.int64)

    def moments(slope: float) -> Moments:
        mean = np.zeros((points.size, columns(2, 2)))
        mean[:, REGRET] = slope * np.log(points)
        mean[:, BY_LEVEL] = slope
        mean[:, BY_LEVEL + 1] = slope * np.log(points) - slope
        return Moments(runs, mean, np.full_like(mean, (runs - 1) * runs * spread**2))

    slopes = list(regrets.values())
    differences = [
        Moments(
            runs,
            (one - other) * np.log(points),
            np.full(points.size, (runs - 1) * runs * pairs**2),
        )
        for i, one in enumerate(slopes)
        for other in slopes[i + 1 :]
    ]
    result = Result(
        problem=problem,
        policies=tuple(ULCB(c0=-1, c1=1 + i / 8) for i in range(len(slopes))),
        checkpoints=points,
        moments=tuple(moments(slope) for slope in slopes),
        pairs=tuple(differences),
        streams=tuple((Stream(0, 0, runs),) for _ in slopes),
    )
    return Table(result, tuple(regrets))


@pytest.mark.parametrize(
    ("low", "high", "above", "verdict"),
    [
        (1.0, 2.0, True, CONFIRMED),
        (1.0, 2.0, False, NOT_CONFIRMED),
        (-2.0, -1.0, True, NOT_CONFIRMED),
        (-2.0, -1.0, False, CONFIRMED),
        (-1.0, 1.0, True, UNDECIDED),
        (-1.0, 1.0, False, UNDECIDED),
        (0.0, 1.0, True, UNDECIDED),
        (0.0, 0.0, True, CONFIRMED),
        (0.0, 0.0, False, CONFIRMED),
        (float("nan"), 1.0, True, UNDECIDED),
        (float("-inf"), float("inf"), True, UNDECIDED),
    ],
)
def test_a_verdict_needs_the_whole_interval(
    low: float, high: float, above: bool, verdict: Verdict
) -> None:
    assert Measured("x", Interval((low + high) / 2, low, high), 0.0, above).verdict is verdict


def test_a_claim_is_as_good_as_its_worst_measurement() -> None:
    yes = Measured("x", Interval(1.0, 0.5, 1.5), 0.0, above=True)
    no, perhaps = yes._replace(above=False), yes._replace(threshold=1.0)
    assert overall([yes, yes]) is CONFIRMED
    assert overall([yes, perhaps]) is UNDECIDED
    assert overall([yes, perhaps, no]) is NOT_CONFIRMED
    assert overall([]) is UNDECIDED


@pytest.mark.parametrize(
    ("one", "other", "pairs", "verdict"),
    [(1.0, 2.0, 0.1, CONFIRMED), (2.0, 1.0, 0.1, NOT_CONFIRMED), (1.0, 2.0, 10.0, UNDECIDED)],
)
def test_less_compares_run_by_run(one: float, other: float, pairs: float, verdict: Verdict) -> None:
    table = made_up({"a": one, "b": other}, spread=1e6, pairs=pairs)
    (found,) = Less("x", "a", "b").measure({"x": table})
    assert found.verdict is verdict
    assert found.interval.value == pytest.approx((one - other) * np.log(20000))
    (turned,) = Less("x", "b", "a").measure({"x": table})
    assert turned.interval.value == -found.interval.value


def test_order_looks_at_all_neighbours() -> None:
    table = made_up({"a": 1.0, "b": 2.0, "c": 1.5}, spread=0.1, pairs=0.1)
    measured = Order("x", ("a", "b", "c"), rises=True).measure({"x": table})
    assert [m.verdict for m in measured] == [CONFIRMED, NOT_CONFIRMED]


def test_times_takes_the_widest_interval() -> None:
    assert ratio((10.0, 2.0), (4.0, 1.0)) == Interval(2.5, 8 / 5, 4.0)
    assert ratio((10.0, 2.0), (1.0, 2.0)).high == np.inf
    tables = {"x": made_up({"a": 1.0}, 0.01), "y": made_up({"q": 20.0}, 0.01)}
    tenfold, growing = Times("x", "a", "y", "q", 10.0, 2000).measure(tables)
    assert tenfold.verdict is CONFIRMED
    assert growing.interval.value == pytest.approx(1.0) and growing.verdict is UNDECIDED


def test_towards_and_slopes_see_that_nothing_moves() -> None:
    tables = {"x": made_up({"a": 20.0}, 0.01)}
    (towards,) = Towards("x", "a", 2000).measure(tables)
    (nears,) = SlopeNears("x", "a", (200, 2000, 20000)).measure(tables)
    assert towards.interval.value == pytest.approx(0.0) and towards.verdict is UNDECIDED
    assert nears.interval.value == pytest.approx(0.0) and nears.verdict is UNDECIDED


def test_settles_tells_the_states_apart() -> None:
    measured = Settles("x", "a", 2000, 0.1).measure({"x": made_up({"a": 5.0}, 0.001)})
    assert [m.verdict for m in measured] == [CONFIRMED, CONFIRMED]
    assert [m.interval.value for m in measured] == pytest.approx(
        [0.0, np.log(10) / (np.log(2000) - 1)]
    )


def test_own_width() -> None:
    table = made_up({"a": 5.0}, spread=1.0)
    (found,) = OwnWidth("x", 1.97).measure({"x": table})
    assert found.interval.value == pytest.approx(1.96, abs=0.001) and found.verdict is CONFIRMED


def test_intervals_print_two_digits_of_the_half_width() -> None:
    assert str(Interval.around(1234.567, 8.73)) == "1,234.6 ± 8.7"
    assert str(Interval.around(0.12345, 0.0042)) == "0.1235 ± 0.0042"
    assert str(Interval(2.0, 1.5, 4.0)) == "2.0 [1.5, 4.0]"
    assert str(Interval(10.0, 10.0, 10.0)) == "10 (exact)"
    assert "inf" in str(Interval.around(1.0, float("nan")))


def test_declarations_hang_together() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.section.startswith(("Section", "Appendix")), claim
        assert set(claim.experiments) <= set(EXPERIMENTS), claim
        assert claim.experiments or claim.figure in FIGURES, claim
    for figure in FIGURES.values():
        assert set(figure.panel.experiments) <= set(EXPERIMENTS)
        if isinstance(figure.panel, Curves):
            labels = {label for _, label in figure.panel.shown()}
            assert {*figure.panel.labels, *figure.panel.bounds} <= labels
    for experiment in EXPERIMENTS.values():
        assert experiment.problem in SETTINGS


def test_every_stated_half_width_is_reached_at_the_papers_precision() -> None:
    for name, width in claims.WIDTHS.items():
        wanted = EXPERIMENTS[name].paper
        assert isinstance(wanted, float) and wanted <= width


def test_policies_look_alike_in_no_figure() -> None:
    for figure in FIGURES.values():
        if isinstance(figure.panel, Curves) and len(figure.panel.experiments) == 1:
            looks = [LOOKS.get(label) for _, label in figure.panel.shown()]
            known = [look for look in looks if look is not None]
            assert len(set(known)) == len(known)


def tiny(out: Path, *names: str, seed: int = 0, redraw: bool = False) -> reproduce.Report:
    return reproduce.reproduce(names, out=out, seed=seed, redraw=redraw, experiments=TINY)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, reproduce.Report]:
    folder = tmp_path_factory.mktemp("reproduction")
    return folder, tiny(folder)


def test_everything_is_drawn_checked_and_reported(whole: tuple[Path, reproduce.Report]) -> None:
    folder, report = whole
    assert [found.claim.name for found in report.checked] == [claim.name for claim in CLAIMS]
    assert sum(report.counts.values()) == len(CLAIMS)
    html, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for name, figure in FIGURES.items():
        for suffix in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size > 1000
        assert f'id="{name}"' in html and f"figures/{name}.svg" in text
        assert figure.title in text
    assert html.count("data:image/svg+xml;base64,") == len(FIGURES)
    assert "http" not in html and "<script" not in html
    for row in verdict_rows(report.checked, "<br>"):
        assert markdown_table(["", "", "", ""], [row]).splitlines()[-1] in text
    saved = json.loads((folder / "claims.json").read_text())
    assert [row["verdict"] for row in saved] == [found.verdict.value for found in report.checked]


def test_exact_claims_do_not_depend_on_precision(whole: tuple[Path, reproduce.Report]) -> None:
    verdicts = {found.claim.name: found.verdict for found in whole[1].checked}
    for name in ("A-width", "B-width", "ema-1000-width", "ema-100-width", "ema-low-width"):
        assert verdicts[name] is CONFIRMED
    assert verdicts["leave-curves"] is CONFIRMED and verdicts["conjecture"] is CONFIRMED
    assert verdicts["conjecture-theta"] is NOT_CONFIRMED
    assert verdicts["example-gaps"] is CONFIRMED and verdicts["opposite-gaps"] is CONFIRMED


def test_the_same_seed_gives_the_same_files(
    whole: tuple[Path, reproduce.Report], tmp_path: Path
) -> None:
    tiny(tmp_path, "c", "gaps", "transitions")
    first = {
        p.name: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".db"
    }
    for name in ("c.svg", "c.png", "gaps.svg", "transitions.svg"):
        assert first[name] == (whole[0] / "figures" / name).read_bytes()
    (tmp_path / reproduce.STORE).unlink()
    tiny(tmp_path, "c", "gaps", "transitions")
    for name in first:
        found = next(p for p in tmp_path.rglob("*") if p.name == name)
        if found.suffix != ".db" and "-" not in found.suffix:
            assert found.read_bytes() == first[name], name
    other = tiny(tmp_path / "other", "c", seed=1)
    assert other.tables["B"].regret("UCB") != whole[1].tables["B"].regret("UCB")


def test_resuming_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tiny(tmp_path, "c")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a finished chunk was computed again")

    monkeypatch.setattr("sojourn.simulation.work.Job.compute", refuse)
    again = tiny(tmp_path, "c")
    assert [str(found) for found in again.checked] == [str(found) for found in first.checked]


def test_redrawing_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path, "d")
    report = (tmp_path / "report.html").read_bytes()
    monkeypatch.setattr(reproduce, "run", None)
    tiny(tmp_path, "d", redraw=True)
    assert (tmp_path / "report.html").read_bytes() == report
    with pytest.raises(ValueError, match="does not exist: run without redrawing first"):
        tiny(tmp_path, "ema-100", redraw=True)


def test_progress_is_of_everything(tmp_path: Path) -> None:
    seen: list[reproduce.Overall] = []
    reproduce.reproduce(["c"], out=tmp_path, experiments=TINY, progress=seen.append)
    shares = [now.share for now in seen]
    assert shares == sorted(shares) and 0.99 < shares[-1] <= 1.0
    assert {now.experiment for now in seen} == {"B", "B-rl"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"names": ["z"]}, "there is no figure 'z': there are intro, a, "),
        ({"names": ["a"], "precision": "fine"}, "precision = 'fine' is not allowed"),
    ],
)
def test_bad_input_is_refused(call: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        reproduce.reproduce(out=tmp_path, **call)  # type: ignore[arg-type]


def test_paper_precision_is_a_half_width() -> None:
    experiment = Experiment("B", {"UCB": UCB()}, quick=4, paper="50%", visits=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = reproduce.run(experiment, precision="paper")
    assert result.reached == [True] and result.runs[0] >= 256


def test_a_graph_has_no_lines() -> None:
    figure = next(f for f in FIGURES.values() if isinstance(f.panel, Graph))
    with pytest.raises(ValueError, match="a graph has no lines"):
        lines(figure, {})
    assert draw(figure, {}).axes


def test_check_evaluates_a_claim() -> None:
    claim = claims.Claim("x", "Section 0", "a is less than b.", (Less("x", "a", "b"),))
    found = check(claim, {"x": made_up({"a": 1.0, "b": 2.0}, 0.1, 0.1)})
    assert found.verdict is CONFIRMED and found.to_dict()["measurements"][0]["threshold"] == 0.0


def test_command_lists_and_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce_command(list_names=True)
    listed = capsys.readouterr().out
    assert all(name in listed for name in FIGURES)
    reproduce_command(list_names=True, as_json=True)
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(FIGURES)
    reproduce_command(["gaps"], out=tmp_path, as_json=True)
    assert {row["claim"] for row in json.loads(capsys.readouterr().out)} == {
        "leave-curves", "conjecture", "conjecture-theta",
    }  # fmt: skip
    reproduce_command(["transitions"], out=tmp_path, quick=True)
    assert "report.html" in capsys.readouterr().out
    with pytest.raises(ValueError, match="give either --quick or --precision paper"):
        reproduce_command(quick=True, precision="paper")


def test_ctrl_c_ends_with_130(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise reproduce_stop

    result = made_up({"a": 1.0}, 0.1).result
    from sojourn.simulation import Interrupted

    reproduce_stop = Interrupted(result, tmp_path)
    monkeypatch.setattr(reproduce, "simulate", interrupted)
    with pytest.raises(typer.Exit) as end:
        reproduce_command(["c"], out=tmp_path)
    assert end.value.exit_code == 130
    assert "goes on from here" in capsys.readouterr().err

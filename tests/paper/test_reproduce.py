"""The reproduction: a tiny run of everything, resuming, the page, the command."""

import gzip
import json
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import browser
import pytest
import typer
from made_up import made_up

from sojourn.cli.main import main
from sojourn.cli.reproduce import reproduce_command
from sojourn.paper.claims import CLAIMS
from sojourn.paper.drawing import draw, lines
from sojourn.paper.figures import FIGURES, Graph
from sojourn.paper.report import CITED, digest, to_page
from sojourn.paper.reproduce import reproduction
from sojourn.paper.results import Results
from sojourn.paper.study import STORE
from sojourn.paper.trials import TRIALS, Trial
from sojourn.paper.verdicts import Checked, Measured, Report, Verdict, hinges
from sojourn.policies import UCB
from sojourn.show.progress import Now
from sojourn.simulation import Interrupted
from sojourn.simulation.chunks import Job
from sojourn.stats.intervals import Interval

pytest.importorskip("matplotlib")

TINY = {
    name: replace(trial, quick=4, visits=60, checkpoints="log:8") for name, trial in TRIALS.items()
}
CONFIRMED, NOT_YET, NOT_CONFIRMED, UNDECIDED = Verdict


def tiny(out: Path, *names: str, seed: int = 0, redraw: bool = False) -> Report[Results]:
    return reproduction(names, TINY).conduct(out=out, seed=seed, redraw=redraw)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report[Results]]:
    folder = tmp_path_factory.mktemp("reproduction")
    return folder, tiny(folder)


def test_everything_is_drawn_checked_and_reported(whole: tuple[Path, Report[Results]]) -> None:
    folder, report = whole
    assert [found.claim.name for found in report.checked] == [claim.name for claim in CLAIMS]
    assert sum(report.counts.values()) == len(CLAIMS)
    html, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for name, figure in FIGURES.items():
        for suffix in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size > 1000
        assert f'id="{name}"' in html and f"figures/{name}.svg" in text
        assert figure.title in text
    assert html.count("data:image/svg+xml;base64,") == len(FIGURES) + 1  # the first one twice
    assert not re.search(r"<script|<link|@import|url\(|src=.http", html)  # loads nothing
    assert {f'id="claim-{claim.name}"' for claim in CLAIMS} <= set(
        re.findall(r'id="claim-.+?"', html)
    )
    for place in re.findall(r'href="#(.+?)"', html):
        assert f'id="{place}"' in html
    assert CITED["address"] in html and (folder / "figures" / "verdicts.svg").exists()
    for line in report.verdicts().markdown().splitlines():
        assert line in text
    saved = json.loads((folder / "claims.json").read_text())
    assert [row["verdict"] for row in saved] == [found.verdict.value for found in report.checked]


def test_the_reports_first_screen(whole: tuple[Path, Report[Results]]) -> None:
    """On a desk the picture of the verdicts is whole; a phone need not scroll to the side."""
    with browser.launched() as program:
        for width, height, scheme in ((1280, 800, "dark"), (390, 844, "light")):
            page = program.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page.goto((whole[0] / "report.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width
            bars = page.locator("#verdicts + figure svg").bounding_box()
            assert bars is not None and bars["width"] > 300
            assert width < 500 or bars["y"] + bars["height"] < height
            claims = page.locator("#claims ~ details")
            assert claims.count() == len(whole[1].kinds)
            assert not page.locator("details[open]").count()
            page.goto(f"{page.url}#claim-theorem-1")
            assert page.locator("#claim-theorem-1 summary").is_visible()


def test_the_digest_fits_a_screen_and_has_every_count(whole: tuple[Path, Report[Results]]) -> None:
    folder, report = whole
    said = digest(report, folder / "report.html").splitlines()
    assert len(said) <= 30
    assert [line for line in said[:-1] if len(line) > 100] == []
    assert f"figures drawn: {len(FIGURES)}, claims checked: {len(CLAIMS)}." in said[1]
    counts = next(line for line in said if line.startswith("all ")).split()[1:]
    assert counts == [str(n) for n in report.counts.values() if n]
    assert "report.html" in said[-1] and "--verdicts" in said[-1]


def test_the_digest_says_why(whole: tuple[Path, Report[Results]]) -> None:
    """With a claim that fails, one that is not yet so, and one whose choice was made otherwise."""
    few = Measured("x", Interval.exact(1.0), 0.0, above=False, contrary="x is 1, not 0")
    one, other, variant = CLAIMS[4], CLAIMS[6], CLAIMS[5]
    assert variant.of and not one.of and not other.of
    made = [
        Checked(one, [few], NOT_CONFIRMED),
        Checked(variant, [few], NOT_CONFIRMED),
        Checked(other, [few._replace(otherwise=NOT_YET)], NOT_YET),
    ]
    said = digest(replace(whole[1], checked=made), Path("report.html"))
    assert "Not confirmed:\n  Theorem 1, x is 1, not 0\n  1 more where a choice" in said
    assert "Not yet at K = 20,000: Theorem 2. " in said
    assert "Undecided" not in said


def test_exact_claims_do_not_depend_on_precision(whole: tuple[Path, Report[Results]]) -> None:
    verdicts = {found.claim.name: found.verdict for found in whole[1].checked}
    for name in ("A-width", "B-width", "ema-1000-width", "ema-100-width", "ema-low-width"):
        assert verdicts[name] is CONFIRMED
    assert verdicts["leave-curves"] is CONFIRMED and verdicts["conjecture"] is CONFIRMED
    assert verdicts["conjecture-theta"] is NOT_CONFIRMED
    for claim in CLAIMS:
        if not claim.trials and claim.name != "conjecture-theta":
            assert verdicts[claim.name] is CONFIRMED, claim
    assert [c.claim.name for c in hinges(whole[1].checked)["conjecture"]] == ["conjecture-theta"]


def contents(folder: Path) -> dict[str, bytes]:
    """Of every file but the store, as read; without gzip's own header."""
    return {
        str(path.relative_to(folder)): (
            gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        )
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(STORE)
    }


def test_the_same_seed_gives_the_same_files(
    whole: tuple[Path, Report[Results]], tmp_path: Path
) -> None:
    names = ("c", "leave-curves", "transitions")
    tiny(tmp_path / "one", *names)
    tiny(tmp_path / "two", *names)
    first, second = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert {"claims.json", "report.html", "results/B.csv.gz", "figures/c.png"} <= set(first)
    assert first == second
    everything = contents(whole[0])
    for name in first:
        if name.startswith(("results", "figures")) and "verdicts" not in name:
            assert first[name] == everything[name], name
    other = tiny(tmp_path / "other", "c", seed=1)
    assert other.findings["B"].regret("UCB") != whole[1].findings["B"].regret("UCB")


def test_resuming_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tiny(tmp_path, "c")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a finished chunk was computed again")

    monkeypatch.setattr(Job, "compute", refuse)
    again = tiny(tmp_path, "c")
    assert [str(found) for found in again.checked] == [str(found) for found in first.checked]


CHILD = """
    import signal, sys, time
    from dataclasses import replace
    from sojourn.cli.main import main
    from sojourn.paper import reproduce
    from sojourn.paper.trials import TRIALS
    from sojourn.simulation.chunks import Job

    signal.signal(signal.SIGINT, signal.default_int_handler)
    few = {name: replace(e, quick=2100, visits=40) for name, e in TRIALS.items()}
    made, compute = reproduce.reproduction, Job.compute

    def slowly(*args, **more):
        time.sleep(0.5)
        return compute(*args, **more)

    Job.compute = slowly
    reproduce.reproduction = lambda names: made(names, few)
    sys.exit(main(["reproduce", "d", "--workers", "1", "--out", sys.argv[1]]))
"""


def stored(folder: Path) -> int:
    """Chunks in the store; 0 if there is none yet."""
    try:
        with closing(sqlite3.connect(f"file:{folder / STORE}?mode=ro", uri=True)) as store:
            return int(store.execute("SELECT count(*) FROM chunks").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four policies, three chunks of up to 1,024 runs each; Ctrl-C comes after the first."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
    )
    while child.poll() is None and not stored(tmp_path):
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=300)[1]
    assert child.returncode == 130, said
    assert "the same command continues from here" in said
    assert not (tmp_path / "report.html").exists()
    kept = stored(tmp_path)
    assert 0 < kept < 12

    computed = []
    compute = Job.compute

    def counting(self: Job, first: int, runs: int, *rest: object) -> object:
        computed.append((self.key, first))
        return compute(self, first, runs, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Job, "compute", counting)
    few = {name: replace(e, quick=2100, visits=40) for name, e in TRIALS.items()}
    reproduction(["d"], few).conduct(out=tmp_path)
    assert len(computed) == 12 - kept
    assert stored(tmp_path) == 12 and (tmp_path / "report.html").exists()


def test_redrawing_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path, "d")
    report = (tmp_path / "report.html").read_bytes()
    monkeypatch.setattr(Trial, "run", None)
    tiny(tmp_path, "d", redraw=True)
    assert (tmp_path / "report.html").read_bytes() == report
    with pytest.raises(ValueError, match="does not exist: run without redrawing first"):
        tiny(tmp_path, "ema-100", redraw=True)


def test_progress_is_of_everything(tmp_path: Path) -> None:
    seen: list[Now] = []
    reproduction(["c"], TINY).conduct(out=tmp_path, progress=seen.append)
    shares = [now.share or 0.0 for now in seen]
    assert shares == sorted(shares) and 0.99 < shares[-1] <= 1.0
    assert [*dict.fromkeys(now.work for now in seen)] == ["B", "B-rl", "drawing"]
    assert shares[0] == 0.0 and (seen[0].left or 0.0) > 0.0 and seen[-1].left == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["z"], "there is no figure 'z': there are intro, a, "),
        (["a", "--precision", "fine"], "precision = 'fine' is not allowed: it must be one of"),
        (["a", "--precision", "paper", "--quick"], "give either --quick or --precision paper"),
        (["a", "--out", "a-file"], "out = 'a-file' is not allowed: it must be a folder"),
        (["a", "--out", "a-file/below"], "out = 'a-file/below' is not allowed: it must be"),
        (["a", "--page", "a-file/page.md"], "page = 'a-file' is not allowed: it must be a folder"),
        (["a", "--seed", "-1"], "seed = -1 is not allowed: it must be a whole number"),
        (["a", "--seed", "x"], "'--seed'"),
        (["a", "--workers", "0"], "workers = 0 is not allowed: it must be a whole number"),
        (["a", "--redraw"], "reproduction/results/A.csv.gz does not exist: run without"),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Trial, "run", None)
    Path("a-file").write_text("here first")
    assert main(["reproduce", *arguments]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(said) == 1 and message in said[0]


def test_paper_precision_is_a_half_width() -> None:
    trial = replace(TRIALS["B"], policies={"UCB": UCB()}, precision="50%", visits=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = trial.run(quick=False)
    assert result.reached == [True] and result.runs[0] >= 256


def test_a_graph_has_no_lines() -> None:
    figure = next(f for f in FIGURES.values() if isinstance(f.panel, Graph))
    with pytest.raises(ValueError, match="a graph has no lines"):
        lines(figure, {})
    assert draw(figure, {}).axes


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
        "leave-curves", "conjecture", "conjecture-theta", "lemma-6", "lemma-6-values",
    }  # fmt: skip
    reproduce_command(["transitions"], out=tmp_path, quick=True)
    assert "figures drawn: 1, claims checked: 0" in capsys.readouterr().out
    reproduce_command(["gaps"], out=tmp_path, verdicts=True)
    assert capsys.readouterr().out.count("confirmed   ") == 5
    with pytest.raises(ValueError, match="give either --quick or --precision paper"):
        reproduce_command(quick=True, precision="paper")


def test_ctrl_c_ends_with_130(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Interrupted(made_up({"a": 1.0}, 0.1).result, tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise stop

    monkeypatch.setattr(Trial, "run", interrupted)
    with pytest.raises(typer.Exit) as end:
        reproduce_command(["c"], out=tmp_path)
    assert end.value.exit_code == 130
    assert "continues from here" in capsys.readouterr().err


def test_without_a_terminal_progress_is_lines(
    whole: tuple[Path, Report[Results]], capsys: pytest.CaptureFixture[str]
) -> None:
    reproduce_command(["transitions"], out=whole[0].parent / "lines")
    note, *said = capsys.readouterr().err.splitlines()
    assert note.startswith("note: the first run on a machine also compiles")
    assert said and said[0].startswith("  0%  drawing") and said[0].endswith(" left")


def test_the_page_has_every_verdict_reading_and_main_figure(
    whole: tuple[Path, Report[Results]], tmp_path: Path
) -> None:
    folder, report = whole
    page = tmp_path / "docs" / "reproduction.md"
    reproduction([], TINY).conduct(out=folder, redraw=True, page=page)
    text = page.read_text()
    assert report.summary in text
    assert "sojourn reproduce --quick --page docs/reproduction.md" in text
    for line in report.verdicts().markdown().splitlines():
        assert line in text
    for name in (name for name, figure in FIGURES.items() if figure.main):
        assert f"(figures/{name}.svg)" in text
        drawn = (page.parent / "figures" / f"{name}.svg").read_bytes()
        assert drawn == (folder / "figures" / f"{name}.svg").read_bytes()
    for name in TRIALS:
        assert f"| {name} | {TRIALS[name].problem} |" in text
    assert "“order-wise lower”" in text
    assert "with θ = 0.3: *not confirmed*" in text
    small = tmp_path / "small" / "page.md"
    again = reproduction(["d"], TINY).conduct(out=folder, redraw=True, page=small)
    assert small.read_text() == to_page(again, {"d": FIGURES["d"]})
    drawn = {path.name for path in (small.parent / "figures").iterdir()}
    assert drawn == {"d.svg", "verdicts.svg"}


def test_rows_say_what_other_choices_give(whole: tuple[Path, Report[Results]]) -> None:
    rows = dict(zip((c.name for c in CLAIMS), whole[1].verdicts().rows, strict=True))
    assert rows["conjecture"][-1] == "hinges on it: θ = 0.3: not confirmed"
    assert rows["conjecture-theta"][-1] == "this row: θ = 0.3"
    for choice in ("ties to the first arm", "c = 4"):
        assert choice in rows["A-ulcb"][-1]
    for choice in ("p = 0.5", "Q by step", "bonus c = 0.01"):
        assert choice in rows["B-q-ucb"][-1]

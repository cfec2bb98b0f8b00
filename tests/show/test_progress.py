"""The one progress display: nothing, lines, a bar, or a line below a cell; and what it says."""

from types import SimpleNamespace

import pytest

from sojourn.paper.study import Meter
from sojourn.show import progress as module
from sojourn.show.progress import Now, by_share, progress
from sojourn.simulation import Progress
from sojourn.simulation.reduce import by_runs


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as show:
        show(Now("simulating", 0.5))
    assert capsys.readouterr() == ("", "")


def test_lines_come_with_new_work_and_then_now_and_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with progress(lines=True) as show:
        show(Now("A", 0.0, left=125.0))
        show(Now("A", 0.25, left=100.0))
        now += module.PAUSE + 1.0
        show(Now("A", 0.5, left=61.0))
        show(Now("drawing", 0.75, left=5.0))
        Meter({"A": 3.0, "B": 1.0}, show).show("B", 0.0, compiling="KL-ULCB")
    out, err = capsys.readouterr()
    assert not out
    assert err.splitlines() == [
        "  0%  A           2:05 left",
        " 50%  A           1:01 left",
        " 75%  drawing     0:05 left",
        " 75%  B           compiling KL-ULCB, once per machine",
    ]


def test_runs_a_second_or_what_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seen = 0.0, list[Now]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    take = by_runs(seen.append)
    now = 10.0
    take(Progress(done=0.0, total=0.0, runs=(0, 0), compiling="ULCB", compiled=1))
    take(Progress(done=0.0, total=0.0, runs=(0, 0)))
    take(Progress(done=2.0, total=8.0, runs=(1_500, 500), left=3.0))
    assert seen == [
        Now("compiling", None, "ULCB (2 of 2), once per machine"),
        Now("simulating", None, "0 runs, 0 a second"),
        Now("simulating", 0.25, "2,000 runs, 200 a second", 3.0),
    ]


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (Now("simulating", 0.25, left=125.0), "2:05 left"),
        (Now("simulating", 1.0, left=125.0), ""),
        (Now("simulating", 0.25), ""),
        (Now("simulating", None), ""),
    ],
)
def test_the_time_left_is_told_only_where_it_is_known(now: Now, shown: str) -> None:
    assert now.time_left == shown


def test_the_time_left_of_a_share_goes_by_its_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seen = 100.0, list[Now]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    take = by_share(seen.append, "optimum")
    take(0.0)
    now += 10.0
    take(0.25)
    assert seen == [Now("optimum", 0.0), Now("optimum", 0.25, left=30.0)]


def test_a_terminal_has_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    with progress() as show:
        show(Now("simulating", 0.42, "64 runs, 8 a second", 65.0))
    out, err = capsys.readouterr()
    assert not out
    for words in ("simulating", "42%", "64 runs, 8 a second", "1:05 left"):
        assert words in err


def test_a_notebook_has_a_line_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """After half a second, not too often, escaped, and gone in the end; no widgets are needed."""
    shown, now = list[str](), 100.0

    def keep(data: dict[str, str], **how: object) -> SimpleNamespace:
        assert how.pop("raw") and how in ({"display_id": True}, {})
        shown.append(data["text/html"])
        return SimpleNamespace(update=keep)

    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel="a kernel"))
    monkeypatch.setattr("IPython.display.display", keep)
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with progress() as show:
        show(Now("simulating", 0.1))
        now += 1.0
        show(Now("compiling", None, "<mine> (2 of 6)"))
        show(Now("simulating", 0.2))
        now += 1.0
        show(Now("simulating", 0.42, "64 runs", 65.0))
    assert shown == [
        "<progress></progress> compiling &lt;mine&gt; (2 of 6)",
        '<progress value="0.420"></progress> 42% simulating 64 runs 1:05 left',
        "",
    ]


def test_a_quick_cell_shows_nothing_and_a_script_is_no_notebook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not module.in_notebook()
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel="a kernel"))
    monkeypatch.setattr("IPython.display.display", pytest.fail)
    with progress() as show:
        show(Now("simulating", 0.5))

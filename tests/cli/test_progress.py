"""The one progress display: nothing, lines, or a bar."""

import pytest

from sojourn.cli import progress as module
from sojourn.cli.progress import Now, by_runs, by_work, progress
from sojourn.lab.progress import Overall
from sojourn.simulation import Progress


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
        take = by_work(show)
        take(Overall("A", 0.0, 125.0))
        take(Overall("A", 0.25, 100.0))
        now += module.PAUSE + 1.0
        take(Overall("A", 0.5, 61.0))
        take(Overall("drawing", 0.75, 5.0))
    out, err = capsys.readouterr()
    assert not out
    assert err.splitlines() == [
        "  0%  A           2:05 left",
        " 50%  A           1:01 left",
        " 75%  drawing     0:05 left",
    ]


def test_runs_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seen = 0.0, list[Now]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    take = by_runs(seen.append)
    now = 10.0
    take(Progress(done=2.0, total=8.0, runs=(1_500, 500)))
    take(Progress(done=0.0, total=0.0, runs=(0, 0)))
    assert seen == [
        Now("simulating", 0.25, "2,000 runs, 200 a second"),
        Now("simulating", None, "0 runs, 0 a second"),
    ]


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (Now("simulating", 0.25), "0:30 left"),
        (Now("simulating", 0.25, left=125.0), "2:05 left"),
        (Now("simulating", 0.0), ""),
        (Now("simulating", None), ""),
    ],
)
def test_the_time_left_is_told_or_goes_by_the_pace_so_far(now: Now, shown: str) -> None:
    assert now.time_left(elapsed=10.0) == shown


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

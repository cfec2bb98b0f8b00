"""The attack suite: one cheap scenario, and that the verdict notices what it is there for."""

import sys
from pathlib import Path

import pytest

from sojourn.live import open_store

sys.path.insert(0, str(Path(__file__).parents[2]))  # attack/ is no part of the package

from attack import kills
from attack.__main__ import SCENARIOS, chosen, main
from attack.load import Load
from attack.tally import DEADLINE, Tally, stands, table


def test_a_cheap_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "access", "--seconds", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("access (3 s) ... stands")
    assert lines[-1] == "It stands."


def test_what_makes_it_fall() -> None:
    for column in ("lost", "doubled", "wrong", "unanswered"):
        good, bad = Tally("good", calls=2), Tally("bad", **{column: 1})
        assert good.stands and not bad.stands
        assert not stands([good, bad]) and stands([good])
        line = next(line for line in table([good, bad]).splitlines() if line.startswith("bad"))
        assert line.endswith("FELL")
    assert not stands([])


def test_statuses_and_deadlines() -> None:
    tally = Tally("t")
    for status in (200, 404, 503, None):
        tally.answered(status, 1.0, "a call")
    assert tally.stands and tally.calls == 4
    tally.answered(None, DEADLINE + 1, "before the service was ready")
    assert tally.stands
    tally.up()
    tally._up = tally._up and tally._up - 2 * DEADLINE  # ready for long
    tally.answered(None, DEADLINE + 1, "GET /")
    tally.answered(500, 0.1, "GET /x")
    assert (tally.unanswered, tally.wrong) == (1, 1)
    assert tally.fell == [f"no answer after {DEADLINE + 1:.0f} s: GET /", "500: GET /x"]


def test_a_lost_answer_is_found(tmp_path: Path) -> None:
    """The store has one decision; one more was said, and another arm than the one there."""
    from sojourn import Experiment
    from sojourn.policies import LearnedUCB

    place = f"sqlite:///{tmp_path / 'live.db'}"
    with Experiment("load", ["a", "b"], LearnedUCB(), store=place, compiled=False) as experiment:
        arm = experiment.visit(id="v").choose()
    tally = Tally("t")
    load = Load("http://127.0.0.1:1", place, tally, clients=0)
    load.said = [["open", "v", "0", "-"], ["decide", "v", "1", arm]]
    load.check()
    assert tally.stands
    load.said += [["decide", "v", "2", arm], ["decide", "v", "1", "b" if arm == "a" else "a"]]
    load.check()
    assert (tally.lost, tally.doubled) == (2, 0)
    load.said, load.finished = [["open", "v", "0", "-"]], True
    load.check()
    assert (tally.lost, tally.doubled) == (2, 1)
    open_store(place).close()


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(chosen(["kill"])) == [name for name in kills.SCENARIOS if name.startswith("kill")]
    assert chosen(None) == SCENARIOS
    assert main(["--only", "nothing"]) == 2
    assert "--only nothing is not known" in capsys.readouterr().err

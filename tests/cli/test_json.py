"""`--json`: every command that has it prints JSON and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Run
from test_help import COMMANDS

import sojourn as sj
from sojourn.live import Ask, Experiment, Logged, Variant

PROBLEM = ("--means", "0.9,0.8", "--q", "0.8,0.2,0.2,0.1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a store of one visit, its counts, and a log."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOJOURN_STORE", raising=False)
    with sj.Experiment("shorts", ["a", "b"], store="sqlite:///live.db", compiled=False) as live:
        visit = live.visit()
        visit.choose()
        visit.reward(1)
        visit.end()
        both = [Variant("old", 0.5, external=True), Variant("new", 0.5)]
        Experiment(
            "feed", ["a"], variants=both, holdout="old", store=live.journal, compiled=False
        ).visit().decide(Ask(logged=Logged("a")))
    Path("counts.json").write_text(json.dumps({"a": {"pulls": 10, "successes": 4}}))
    lengths = [(visit, step) for visit in range(60) for step in range(1 + visit % 7)]
    steps = [f"{v},{s},{'ab'[v % 2]},{(v + s * s) % 3 % 2}" for v, s in lengths]
    Path("events.csv").write_text("\n".join(["visit,step,arm,reward", *steps]))
    return tmp_path


LINES: dict[str, tuple[str, type, str]] = {
    "theory": ("theory B --json", dict, "bounds"),
    "limit": ("limit B --visits 2 --pulls 8 --json", dict, "high"),
    "simulate": ("simulate B -p UCB --visits 5 --runs 2 --json", dict, "policies"),
    "recommend": ("recommend B --visits 20 --precision 50% --json", dict, "regrets"),
    "reproduce": ("reproduce --list --json", list, "title"),
    "store verify": ("store verify live.db --json", dict, "wrong"),
    "store export": ("store export live.db shorts steps.csv --json", dict, "steps"),
    "store backup": ("store backup live.db copy.db --json", dict, "bytes"),
    "store archive": ("store archive live.db --to archive --older-than 0 --json", dict, "archived"),
    "store drop": ("store drop live.db shorts --yes --json", dict, "dropped"),
    "store erase": ("store erase live.db u42 --json", dict, "archived"),
    "store audit": ("store audit live.db --json", list, "actor"),
    "monitor compare": ("monitor compare live.db feed --json", dict, "variants"),
    "monitor shadow": ("monitor shadow live.db feed:old --json", dict, "verdict"),
    "monitor drift": ("monitor drift live.db shorts --json", dict, "series"),
    "store warm-start": ("store warm-start live.db shorts counts.json --json", dict, "arms"),
    "keys new": ("keys new keys.json --experiment shorts --json", dict, "key"),
    "keys list": ("keys list keys.json --json", list, "expires"),
    "fit": ("fit events.csv --no-ema --json", dict, "leave"),
    "evaluate": ("evaluate events.csv -p Uniform --method DM --json", list, "reward"),
}


def test_every_command_with_results_has_json() -> None:
    having = {
        " ".join(path)
        for path, command in COMMANDS.items()
        if any("--json" in option.opts for option in command.params)
    }
    assert having == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_json_and_nothing_else(run: Run, folder: Path, name: str) -> None:
    line, kind, key = LINES[name]
    if name == "keys list":
        run("keys", "new", "keys.json", "--experiment", "shorts")
    outcome = run(*line.split())
    assert (outcome.code, outcome.err) == (0, "")
    found: Any = json.loads(outcome.out, parse_constant=pytest.fail)
    assert isinstance(found, kind)
    assert key in (found if kind is dict else found[0])

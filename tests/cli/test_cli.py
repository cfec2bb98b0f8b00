"""`sojourn theory` and `sojourn simulate`: text, JSON, files, and one sentence a mistake."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Outcome, Run

import sojourn as sj
from sojourn import problem_files as files
from sojourn.cli.simulate import GENERAL, TWO_STATE

SMALL = ("--visits", "20", "--runs", "4")
B = ("--means", "0.9,0.8", "--q", "0.8,0.2,0.2,0.1")


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Setting B as a problem file."""
    path = tmp_path / "b.json"
    path.write_text(json.dumps(files.to_dict(sj.paper.SETTINGS["B"])))
    return str(path)


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"sojourn {sj.__version__}\n"
    assert "simulate" in run().out
    assert "simulate" in run("--help").out


def test_an_error_of_numpy_inside_a_command_is_a_bug(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted(*_: Any, **__: Any) -> Any:
        return np.zeros(2) + np.zeros(3)

    monkeypatch.setattr(sj.theory, "summary", planted)
    outcome = run("theory", "A")
    assert (outcome.code, outcome.out) == (70, "")
    assert outcome.err.startswith("Traceback") and "in planted" in outcome.err
    assert outcome.err.endswith("This is a bug in Sojourn. Please report it.\n")


def test_theory_as_text_and_json(run: Run) -> None:
    summary = sj.theory.summary(sj.paper.SETTINGS["A"])
    assert run("theory", "A") == Outcome(0, f"{summary}\n", "")
    assert run("theory", "a", "--json").json == summary.to_dict()


def test_simulate_prints_regret_and_theory(run: Run) -> None:
    outcome = run("simulate", "A", "-p", "ULCB", "-p", "UCB:c=4", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    result = sj.simulate(
        sj.paper.SETTINGS["A"], [sj.policies.ULCB(), sj.policies.UCB(c=4)], visits=20, runs=4
    )
    rows = {line.partition("  ")[0]: line for line in outcome.out.splitlines() if line}
    assert f"{result.regret.mean[0, -1]:,.1f}" in rows["ULCB"]
    assert f"{result.regret.half_width[1, -1]:,.1f}" in rows["UCB, c=4"]
    assert re.search(r" 50\.00 +149\.8 +Theorem 1", rows["ULCB"])
    assert "Theorem 3" in rows["lower bound"]


def test_simulate_json_has_the_documented_fields(run: Run) -> None:
    outcome = run("simulate", "B", "-p", "KLULCB:c=4", "--checkpoints", "5,20", "--json", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    data = outcome.json
    assert set(data) == {
        "version", "problem", "seed", "precision", "policies", "differences", "bounds"
    }  # fmt: skip
    assert files.from_dict(data["problem"]) == sj.paper.SETTINGS["B"]
    (policy,) = data["policies"]
    assert (policy["name"], policy["parameters"]["c"], policy["runs"]) == ("KLULCB", 4, 4)
    assert [point["visits"] for point in policy["checkpoints"]] == [5, 20]
    assert set(policy["checkpoints"][0]) == {
        "visits",
        "regret",
        "regret_std_error",
        "regret_half_width",
        "raw_regret",
        "raw_regret_std_error",
        "steps",
    }
    assert set(data["bounds"][0]) == {"name", "theorem", "slope", "reason"}


def test_setting_file_and_options_agree(run: Run, file: str) -> None:
    ways = [["B"], [file], list(B)]
    theory = [run("theory", *way, "--json").json for way in ways]
    assert theory[0] == theory[1] == theory[2]
    small = (*SMALL, "-p", "ULCB", "--json", "--seed", "3")
    results = [run("simulate", *way, *small).json for way in ways]
    assert results[0] == results[1] == results[2]


def test_seed_and_workers(run: Run) -> None:
    def regret(*more: str) -> Any:
        return run("simulate", "B", "-p", "UCB", "--json", *SMALL, *more).json["policies"]

    assert regret("--workers", "1") == regret("--workers", "2")
    assert regret("--seed", "1") != regret("--seed", "2")


def test_default_policies_are_the_paper_s(run: Run) -> None:
    def names(*problem: str) -> list[str]:
        data = run("simulate", *problem, "--json", "--visits", "2", "--runs", "2").json
        return [policy["name"] for policy in data["policies"]]

    assert names("B") == list(TWO_STATE)
    assert names("ema-low") == list(GENERAL)


def test_an_assumption_that_fails_is_one_friendly_line(run: Run) -> None:
    outcome = run("simulate", "ema-low", "-p", "UCB", *SMALL)
    assert outcome.code == 0
    assert re.fullmatch(r"note: outside the paper's assumptions: .*\n", outcome.err)


def test_without_a_bound_the_table_has_none(run: Run) -> None:
    """With a policy and a user that other tests compile."""
    given = ("--means", "0.8,0.6,0.4", "--q", ".15,.08,.12,.06", "--log-odds", "2,0,0")
    outcome = run("simulate", *given, "-p", "Uniform", *SMALL)
    assert outcome.code == 0
    assert "the\npaper has no bound for this problem.\n" in outcome.out
    assert "slope" not in outcome.out
    assert outcome.err.startswith(
        "note: outside the paper's assumptions: leaving is the same after"
    )


MISTAKES = [
    ("theory", "give a problem: a setting of the paper"),
    ("simulate", "give a problem: a setting of the paper"),
    ("theory Z", "problem 'Z' is not known: it must be one of A, B, C, D, ema-1000"),
    ("theory none.toml", "none.toml: cannot be read (no such file or directory)"),
    ("theory A --means 0.9,0.8", "give either the problem 'A' or options"),
    ("theory --q 1,0,0,0", "give a problem"),
    ("theory --means 0.9,0.8", "describe the user with --q, or with both --theta and --c6"),
    ("theory --means 0.9,0.8 --theta 0.5", "describe the user with --q, or with both"),
    ("theory --means 0.9,x --q 1,0,0,0", "--means 0.9,x is not allowed"),
    ("theory --means 0.9 --q 1,0,0,0", "means = [0.9] is not allowed"),
    ("theory --means 0.9,0.8 --q 1,0,0", "--q 1,0,0 is not allowed: it must be four numbers"),
    ("theory --means 0.9,0.8 --q 2,0,0,0", "q00 = 2.0 is not allowed"),
    ("theory --means 0.9,0.8 --q 0,0,0,0", "every visit must end"),
    ("theory --means 0.9,0.8 --theta 1 --c6 5", "theta = 1.0 is not allowed"),
    ("theory --means 0.9,0.8 --q 1,0,0,0 --start 0:0.5,1", "user.start = "),
    ("theory --means 0.9,0.8 --q 1,0,0,0 --start 0:0.5", "must add up to 1"),
    ("theory A --user 'ema: theta=.5'", "give either the problem 'A' or options"),
    ("theory --user 'ema: theta=.5'", "give a problem"),
    ("theory --means 0.9,0.8 --user 'ema: theta=.5' --q 1,0,0,0", "describe the user with --q, or"),
    ("theory --means 0.9,0.8 --user 'ema: theta=.5' --c6 5", "describe the user with --q, or"),
    ("theory --means 0.9,0.8 --user 'ema: theta=.5'", "user.c6 is missing: an ema user has model"),
    ("theory --means 0.9,0.8 --user ema", "user.theta is missing: an ema user has model"),
    ("theory --means 0.9,0.8 --user 'markov: a=1'", "user.model = 'markov' is not allowed"),
    ("theory --means 0.9,0.8 --user 'ema: theta=.5 c7=5'", "user.c7 is not known"),
    ("theory --means 0.9,0.8 --user 'ema: theta=2 c6=5'", "theta = 2 is not allowed"),
    (
        "theory --means 0.9,0.8 --user 'ema: theta=x c6=5'",
        "--user ema: theta=x c6=5 is not allowed",
    ),
    ("theory --means 0.9,0.8 --user 'ema: theta=.5 theta=.6'", "it must be a model, a colon and"),
    ("theory --means 0.9,0.8 --user 'ema: model=1'", "it must be a model, a colon and"),
    ("theory --means 0.9,0.8 --user 'chain: next=[[0,1]] leave=[[1,1]]'", "next[0][1] = 1 is not"),
    (
        "theory --means 0.9,0.8 --user 'ema: theta=.5 c6=5 start=1' --start 0",
        "give start either in --user or as an option, not both",
    ),
    ("theory --rewards 'beta:2,5 .4' --q 1,0,0,0", "it takes rewards by 2 levels, so give"),
    ("theory --rewards 'beta(2,5) .4' --q 1,0,0,0", "a word for every arm, separated by spaces"),
    ("theory --rewards 'beta:2 .4' --q 1,0,0,0", "rewards[0] = {'beta': [2.0]} is not allowed"),
    ("theory --rewards '0:.5,1:.6 .4' --q 1,0,0,0", "rewards[0]: chances = [0.5, 0.6] is not"),
    ("theory --rewards '.5 .4' --means .5,.4 --q 1,0,0,0", "rewards is not allowed beside means"),
    ("theory --rewards '.5 .4'", "describe the user with --q, or with both"),
    ("theory --log-odds 2,0", "give a problem"),
    ("theory A --log-odds 2,0", "give either the problem 'A' or options"),
    (
        "theory --means .5,.4 --q .5,.2,.3,.1 --log-odds 2",
        "the number of its arms is 1, and there are 2",
    ),
    (
        "theory --means .5,.4 --q .5,.2,.3,.1 --log-odds 2,x",
        "--log-odds 2,x is not allowed: it must be num",
    ),
    (
        "theory --means .5,.4 --q 1,0,0,0 --q 1,0,0,1 --log-odds 2,0",
        "give either --log-odds or a user for",
    ),
    ("theory --means .5,.4 --q 1,0,0,0 --q 1,0,0,2", "user[1].q11 = 2.0 is not allowed"),
    ("theory --means .5,.4 --q 1,0,0,0 --thresholds .2,.5", "user.thresholds = [0.2, 0.5] is not"),
    (
        "theory --means .5,.4 --theta .5 --c6 9 --thresholds .5",
        "user.thresholds is not known: an ema",
    ),
    (
        "theory --means .5,.4 --user 'chain:next=[[0,0]] leave=[[1,1]]' --user 'ema:theta=.5 c6=9'",
        "user[1] = Ema(theta=0.5, leave=LogLeave(c6=9.0)) is not allowed: the users of all arms",
    ),
    ("theory --theta abc", "Invalid value for '--theta'"),
    ("theory A --what", "--what"),
    ("nonsense", "nonsense"),
    ("simulate A -p EXP3", "policy 'EXP3' is not known: it must be one of UCB, KLUCB, ULCB"),
    ("simulate A -p ULCB:d=3", "ULCB has no parameter 'd': its parameters are"),
    ("simulate A -p ULCB:c=x", "ULCB:c=x is not allowed: c must be a number"),
    ("simulate A -p ULCB:c", "ULCB:c is not allowed: c must be a number"),
    ("simulate A -p ULCB:random_ties=1", "random_ties must be true or false"),
    ("simulate A -p ULCB:c=-1", "c = -1 is not allowed"),
    ("simulate A -p UCB:opposite", "UCB has no opposite"),
    ("simulate A -p FixedArm:arm=2", "arm = 2 is not allowed"),
    ("simulate A --runs 0", "runs = 0 is not allowed"),
    ("simulate A --visits x", "Invalid value for '--visits'"),
    ("simulate A --checkpoints x", "--checkpoints x is not allowed"),
    ("simulate A --checkpoints lin:5", "checkpoints = 'lin:5' is not allowed"),
    ("simulate A --precision x", "precision = 'x' is not allowed: it must be a number greater"),
    ("simulate A --precision 0", "precision = 0.0 is not allowed"),
    ("simulate A --precision 5% --runs 10", "give either runs or precision, not both"),
    ("simulate A --max-runs 10", "max_runs needs precision"),
    ("simulate A --save r.parquet", "r.parquet: a file of results must end in .csv or .csv.gz"),
    ("simulate A --save none/r.csv", "none/r.csv: there is no folder none"),
    ("simulate A --plot r.txt", "--plot r.txt is not allowed: it must be a file in a folder"),
    ("simulate A --store none/x.db", "none/x.db: the store cannot be used"),
    ("simulate A --checkpoints 5,99999", "checkpoints = 99999 is not allowed"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_mistakes(run: Run, line: str, sentence: str) -> None:
    outcome = run(*shlex.split(line))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1


def test_files_of_all_kinds(run: Run, tmp_path: Path) -> None:
    names = {name: str(tmp_path / name) for name in ("r.csv.gz", "r.png", "runs.sqlite")}
    command = (
        "simulate", "B", "-p", "UCB", "-p", "Uniform", "--visits", "20", "--precision", "20%",
        "--checkpoints", "linear:4", "--save", names["r.csv.gz"], "--plot", names["r.png"],
        "--store", names["runs.sqlite"],
    )  # fmt: skip
    outcome = run(*command)
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    result = sj.Result.load(names["r.csv.gz"])
    assert result.checkpoints.tolist() == [5, 10, 15, 20]
    rows = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line}
    assert rows["UCB"][1] == f"{result.runs[0]:,}"
    assert run(*command) == outcome


def test_a_precision_out_of_reach_is_one_friendly_line(run: Run) -> None:
    outcome = run(
        "simulate", "B", "-p", "UCB", "--visits", "20", "--precision", "1e-6", "--max-runs", "300"
    )
    assert outcome.code == 0
    assert re.fullmatch(r"note: UCB did not reach the precision 1e-06: .*\n", outcome.err)


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_ctrl_c_prints_what_is_done_and_how_to_go_on(tmp_path: Path, as_json: list[str]) -> None:
    """On a terminal, where there is a bar to wait for."""
    command = [
        sys.executable, "-m", "sojourn", "simulate", "B", "-p", "UCB", "--runs", "100000000",
        "--visits", "200", "--workers", "1", "--store", str(tmp_path / "runs.sqlite"), *as_json,
    ]  # fmt: skip
    mine, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        seen = ""
        while not re.search(r"[1-9][\d,]* runs, [\d,]+ a second", seen):
            seen += os.read(mine, 1000).decode()
        process.send_signal(signal.SIGINT)
        while chunk := _read(mine):
            seen += chunk
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(mine)
    assert process.returncode == 130
    assert re.search(
        r"stopped with [\d,]+ runs finished; to continue, run the same again with", seen
    )
    assert "Traceback" not in seen
    if as_json:
        assert json.loads(out)["policies"][0]["runs"] > 0
    else:
        assert re.search(r"^UCB +[\d,]+ ", out, re.M)


def _read(terminal: int) -> str:
    """What is there to read; nothing at the end, which Linux calls an error."""
    try:
        return os.read(terminal, 1000).decode(errors="replace")
    except OSError:
        return ""

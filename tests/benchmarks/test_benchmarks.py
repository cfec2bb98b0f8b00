"""The benchmarks: that they measure the right thing. How long it takes is not tested."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.divergence import kl_lower, kl_upper
from sojourn.engine.kernel import REGRET
from sojourn.simulation.chunks import chunk

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import rivals
from benchmarks.__main__ import END, MARK, main, parser, write_between
from benchmarks.bare import bare_loops, coasting, forms, why_no_c
from benchmarks.peers import PEERS, Peer, lockstep_numpy
from benchmarks.plans import COMPARED, FAMILIES, GENERAL_STATE, TARGETS, Plan, for_setting
from benchmarks.policies import verdicts
from benchmarks.report import target_table
from benchmarks.timing import one_core, race

TOLERANCE = 4.5  # standard errors
TINY = Plan(
    rounds=1,
    patience=0.0,
    visits=200,
    fast_steps=1e4,
    slow_steps=1e4,
    settings=("A", "ema-1000"),
    policies=("ULCB", "DiscULCB", "QLearning", "FixedArm"),
    arms=(2, 20),
    budget=0.02,
    peer_seconds=0.01,
    check_runs=500,
    precision_runs=64,
)


@pytest.mark.parametrize("setting", [*COMPARED, "ema-low"])
@pytest.mark.parametrize("seed", [0, 2**40 + 1])
def test_bare_loops_count_what_the_package_counts(setting: str, seed: int) -> None:
    problem = sj.paper.SETTINGS[setting]
    ours = coasting(problem, seed, 5, 3, 400)
    for name, loops in bare_loops(problem).items():
        for loop in loops:
            np.testing.assert_array_equal(loop(problem, seed, 5, 3, 400), ours, err_msg=name)
    assert (ours[:, 1] == 400).all()


def test_bare_loops_play_the_best_arm_wherever_it_is_and_start_where_visits_start() -> None:
    user = sj.TwoState(q00=0.9, q01=0.3, q10=0.2, q11=0.1, start=0)
    problem = sj.Problem([0.1, 0.3, 0.7], user)
    ours = coasting(problem, 1, 0, 2, 300)
    for loops in bare_loops(problem).values():
        for loop in loops:
            np.testing.assert_array_equal(loop(problem, 1, 0, 2, 300), ours)


def test_bare_loops_in_c_are_there_or_say_why_not() -> None:
    reason = why_no_c()
    assert ("C" in bare_loops(sj.paper.SETTINGS["A"])) == (reason is None)
    assert reason is None or reason


def test_users_without_a_bare_loop_are_refused() -> None:
    user = sj.TwoState(q00=1, q01=0.1, q10=0.1, q11=0.1, start={0: 0.5, 1: 0.5})
    with pytest.raises(ValueError, match="there is no bare loop"):
        forms(sj.Problem([0.5, 0.4], user))


def test_every_policy_is_measured_somewhere() -> None:
    names = tuple(cls.__name__ for cls in sj.policies.ALL)
    measured = {name for setting in COMPARED for name in for_setting(setting, names)}
    assert measured == set(names)
    assert not set(for_setting("A", names)) & set(GENERAL_STATE)
    assert for_setting("opposite", names)["ULCB"] == sj.policies.ULCB().opposite()
    for setting, _, policies in TARGETS:
        assert set(policies) <= set(for_setting(setting, names))


def test_many_arms_are_what_they_are_said_to_be() -> None:
    for family in FAMILIES.values():
        means = family(20).means
        assert len(means) == 20 and means[0] == max(means) == 0.9 and min(means) == 0.5


def test_a_race_keeps_the_best_and_leaves_the_slow_out() -> None:
    calls = dict.fromkeys(("one", "two"), 0)

    def work(name: str) -> float:
        calls[name] += 1
        sum(range(10_000))
        return 10.0

    best = race({name: lambda n=name: work(n) for name in calls}, rounds=5, patience=0.0)
    assert set(best) == set(calls) and all(ns > 0.0 for ns in best.values())
    assert calls == {"one": 2, "two": 2}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
def test_all_cores_are_given_back() -> None:
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_verdicts_compare_with_both_bare_loops() -> None:
    rows = [{"setting": "A", "policy": "UCB", "to_plain": 0.5, "to_coasting": 1.4}]
    (found,) = verdicts(rows)
    assert found["target"] == 1.3
    assert found["reached_plain"] and not found["reached_coasting"]
    table = target_table([found, found | {"reached_plain": False, "policy": "KLUCB"}])
    words = [tuple(row[1:3]) for row in table.rows]
    assert words == [("UCB", "reached against plain"), ("KL-UCB", "goal")]


@pytest.mark.parametrize("optimism", [1.0, -1.0])
def test_the_numpy_peer_solves_for_the_bounds_of_the_package(optimism: float) -> None:
    rng = np.random.default_rng(1)
    pulls = np.floor(10.0 ** rng.uniform(0.0, 4.0, 500))
    mean = np.floor(rng.uniform(0.0, 1.0, 500) * (pulls + 1.0)) / pulls
    solved = lockstep_numpy.kl(mean, pulls, 9.0, np.full(500, optimism))
    bound = kl_upper if optimism > 0.0 else kl_lower
    expected = [bound(m, 9.0 / n) for m, n in zip(mean, pulls, strict=True)]
    np.testing.assert_allclose(solved, expected, atol=1e-9)


@pytest.mark.parametrize(
    "policy", [sj.policies.ULCB(), sj.policies.KLULCB()], ids=lambda p: type(p).__name__
)
def test_the_numpy_peer_has_the_regret_of_the_package(policy: sj.policies.Policy) -> None:
    theirs = lockstep_numpy.check(type(policy).__name__, runs=400, visits=10)
    rows = chunk(sj.paper.SETTINGS["A"], policy, 3, 0, 4000, np.array([10]))
    regret = rows[:, -1, REGRET]
    joint = np.hypot(regret.std() / np.sqrt(len(regret)), theirs["std_error"])
    assert abs(regret.mean() - theirs["regret"]) < TOLERANCE * joint


def test_peers_answer_or_are_reported_missing() -> None:
    missing = Peer("missing", "missing.py")
    found = rivals.measure(TINY, (PEERS[0], missing))
    numpy, none = found["peers"]
    assert set(found["ours"]) == {"UCB", "KLUCB", "ULCB", "KLULCB"}
    assert [row["policy"] for row in numpy["rows"]] == ["ULCB", "KLULCB"]
    assert all(row["ns"] > 0.0 and row["times"] > 0.0 for row in numpy["rows"])
    assert all(check["agrees"] for check in numpy["checks"])
    assert set(none) == {"peer", "unavailable"}


def test_figures_are_written_as_json_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, text = tmp_path / "figures.json", tmp_path / "figures.md"
    files = ["--json", str(data), "--markdown", str(text)]
    main(["--only", "policies", "many", "precision", *files], TINY)
    found: dict[str, Any] = json.loads(data.read_text())
    assert set(found) == {
        "schema", "machine", "pinned", "quick", "bare", "policies", "targets", "many", "precision",
    }  # fmt: skip
    assert set(found["machine"]) == {"cpu", "cores", "system", "versions", "date"}
    assert [row["setting"] for row in found["bare"]] == list(TINY.settings)
    assert all(row["plain"] > 0.0 and row["coasting"] > 0.0 for row in found["bare"])
    for row in found["policies"]:
        assert row["on"] > 0.0 and row["off"] > 0.0 and row["to_plain"] > 0.0
    assert {row["policy"] for row in found["targets"]} == {"ULCB", "DiscULCB"}
    for row in found["many"]:
        assert set(row) == {"family", "arms", "policy", "on", "off"}
        assert set(row["on"]) == {"visits", "steps", "ns", "long_run"}
    for row in found["precision"]:
        assert row["ratio"] == row["needed"]["rewards"] / row["needed"]["gaps"]
    printed = capsys.readouterr().out
    for title in ("Bare loops", "Targets", "Policies", "Many arms", "Cost of the paper's"):
        assert title in printed and f"### {title}" in text.read_text()


def test_only_what_is_between_the_marks_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"kept\n\n{MARK}\n\nold\n")
    write_between(page, ["new", "newer"])
    assert page.read_text() == f"kept\n\n{MARK}\n\nnew\n\nnewer\n"
    around = f"kept\n\n{MARK}\n\n{{}}\n\n{END}\n\nkept too\n"
    page.write_text(around.format("old"))
    write_between(page, ["new"])
    assert page.read_text() == around.format("new")
    page.write_text("no mark")
    write_between(page, ["new"])
    assert page.read_text() == "new\n"


def test_the_page_of_figures_has_the_mark_and_all_tables() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    _, mark, rest = page.partition(MARK)
    figures, end, _ = rest.partition(END)
    assert mark and end
    assert figures.index("### Peers") == figures.index("###")  # what most people look for
    for title in ("Bare loops", "Targets", "Policies", "Many arms", "Peers", "Cost of the"):
        assert f"### {title}" in figures
    assert "missed" not in page  # a target is reached, or a goal
    cells = {cell.strip() for line in figures.splitlines() for cell in line.split("|")}
    titled = {name for name, cls in sj.policies.POLICIES.items() if cls.title not in ("", name)}
    assert sj.policies.KLULCB.title in cells and not cells & titled


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(["--only", "nothing"])
    assert stopped.value.code == 2
    assert "invalid choice: 'nothing'" in capsys.readouterr().err

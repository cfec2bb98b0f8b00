"""Simulated users against a service: those of the simulator, and what is measured of them."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
import serving

import sojourn as sj
from benchmarks.drive import LoadReport, Traffic, adrive, arm_names, drive
from benchmarks.drive.__main__ import main as run_drive
from sojourn.client import Client, caller
from sojourn.live import Journal, Unavailable, verify
from sojourn.service import demo
from sojourn.service.catalog import Catalog
from sojourn.stats.intervals import Z95

B = sj.paper.SETTINGS["B"]
EMA = sj.Problem([0.8, 0.5, 0.7], sj.Ema(0.3, sj.users.LogLeave(c6=5), start={0.2: 0.5, 1: 0.5}))
BAIT = sj.ByArm.odds(sj.TwoState(0.8, 0.2, 0.2, 0.1), [1, 0])
GRADED = sj.Problem(
    rewards=[sj.rewards.Beta(4, 2), sj.rewards.Discrete([0, 0.25, 1], [0.3, 0.5, 0.2])],
    user=sj.users.Levels(BAIT, thresholds=[0.25]),
)
SURE = sj.policies.ULCB(random_ties=False)


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Server]:
    with serving.serve("memory://") as server:
        yield server


def driven(traffics: list[Traffic]) -> list[LoadReport]:
    """Run all of them concurrently."""

    async def main() -> list[LoadReport]:
        return await asyncio.gather(*(adrive(traffic) for traffic in traffics))

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("problem", "policy"),
    [
        (B, SURE),
        (EMA, sj.policies.DiscULCB(random_ties=False)),
        (B, sj.policies.LearnedUCB(random_ties=False)),
        (GRADED, sj.policies.LearnedUCB(random_ties=False, threshold=0.25)),
    ],
    ids=["two states", "moving average", "learned", "graded and by arm"],
)
def test_one_user_at_a_time_sees_what_the_simulator_shows(
    server: serving.Server, interpreted: Any, problem: sj.Problem, policy: Any
) -> None:
    """Step by step: the same pulls in the same states, the same rewards, the same regret."""
    name = f"exact {type(policy).__name__} {problem.arms} {problem.graded}"
    traffic = Traffic(server.url, problem, policy=policy, users=1, visits=25, seed=7)
    runs = range(3)
    reports = driven([replace(traffic, experiment=f"{name} {run}", run=run) for run in runs])
    for run, report in zip(runs, reports, strict=True):
        (row,) = interpreted(problem, policy, 7, run, [25])
        found = [report.regret, report.reward, report.steps]
        np.testing.assert_allclose(found, row[:3], rtol=1e-12)
        levels = problem.user.space.bins
        np.testing.assert_array_equal(report.pulls.ravel(), row[3 + levels :])
        assert report.visits == 25 and not report.cut


def test_a_recommender_of_ones_own_decides_where_the_caller_does(
    server: serving.Server, interpreted: Any
) -> None:
    """Its visits are those that the simulator has with it, and its chances are kept."""
    own = sj.policies.EpsilonMixture(sj.policies.FixedArm(1), epsilon=0.5)
    traffic = Traffic(
        server.url, B, experiment="own", own=own, arms=("x", "y"), users=1, visits=25, seed=7
    )
    report = drive(traffic)
    (row,) = interpreted(B, own, 7, 0, [25])
    np.testing.assert_allclose([report.regret, report.reward, report.steps], row[:3], rtol=1e-12)
    _, known = server.call("GET", "/v1/experiments/own")
    assert known["external"] and [arm["name"] for arm in known["arms"]] == ["x", "y"]
    assert [arm["pulls"] for arm in known["arms"]] == report.pulls.sum(axis=0).tolist()
    variants = {"old": {"share": 0.5, "external": True}, "new": {"share": 0.5}}
    body = {"arms": ["x", "y"], "variants": variants, "holdout": "old"}
    server.call("PUT", "/v1/experiments/own%20ab/variants", body)
    report = drive(replace(traffic, experiment="own ab", visits=40))
    _, found = server.call("GET", "/v1/experiments/own%20ab/comparison")
    visits = {variant["name"]: variant["visits"] for variant in found["variants"]}
    assert sum(visits.values()) == 40 and min(visits.values()) > 0 and not report.cut
    with pytest.raises(ValueError, match="the problem has 2 arms"):
        replace(traffic, arms=("x", "y", "z"))


def test_regret_over_http_is_that_of_the_simulator(server: serving.Server) -> None:
    """Setting B, many experiments at a time, and the policy's own coin flips."""
    experiments, visits = 32, 100
    policy = sj.policies.ULCB.for_problem(B)
    traffic = Traffic(server.url, B, policy=policy, users=1, visits=visits, seed=11)
    reports = driven(
        [replace(traffic, experiment=f"regret {run}", run=run) for run in range(experiments)]
    )
    regret = np.array([report.regret for report in reports])
    simulated = sj.simulate(B, [policy], visits=visits, runs=4000, seed=12).regret
    mean, half = simulated.mean[0, -1], simulated.half_width[0, -1]
    error = sqrt(regret.var(ddof=1) / experiments + (half / Z95) ** 2)
    assert abs(regret.mean() - mean) < 4.5 * error
    assert error < 0.15 * mean
    rewards = np.array([report.reward for report in reports])
    lost = visits * B.value() - rewards
    raw_error = sqrt(lost.var(ddof=1) / experiments + (half / Z95) ** 2)
    assert abs(lost.mean() - mean) < 4.5 * raw_error


def test_many_users_at_a_time(server: serving.Server) -> None:
    """Whatever comes first, the service has counted what was measured."""
    traffic = Traffic(server.url, B, experiment="many", users=20, visits=60)
    seen: list[tuple[int, int]] = []
    report = drive(traffic, lambda visits, steps: seen.append((visits, steps)))
    assert report.visits == 60 and report.steps == report.pulls.sum() and seen
    assert report.answers == {"200": report.steps + 60} and len(report.latencies) == sum(
        report.answers.values()
    )
    gaps = B.gaps()
    assert report.regret == pytest.approx((report.pulls * gaps).sum())
    _, known = server.call("GET", "/v1/experiments/many")
    assert [arm["name"] for arm in known["arms"]] == arm_names(B)
    assert [arm["pulls"] for arm in known["arms"]] == report.pulls.sum(axis=0).tolist()
    found = report.to_dict(B)
    assert found["raw_regret"] == pytest.approx(60 * B.value() - report.reward)
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p99"]
    again = drive(replace(traffic, visits=5))
    assert again.visits == 5


def test_another_experiment_of_the_same_name(server: serving.Server) -> None:
    with Client(server.url) as client:
        client.experiment("taken", arm_names(B), user=sj.Ema(0.5, sj.users.LogLeave(c6=5)))
    for problem, what in ((B, "states"), (EMA, "arms")):
        with pytest.raises(ValueError, match=f"experiment 'taken' has other {what} than this"):
            drive(Traffic(server.url, problem, experiment="taken"))


def test_reports_add_up() -> None:
    one = LoadReport(visits=1, reward=2.0, latencies=np.ones(2), seconds=1.0, pulls=np.ones((2, 2)))
    two = LoadReport(visits=3, reward=5.0, latencies=np.ones(1), seconds=2.0, interrupted=True)
    both = one + two
    assert (both.visits, both.reward, both.seconds) == (4, 7.0, 2.0)
    assert len(both.latencies) == 3 and both.cut and both.to_dict(B)["raw_regret"] is None


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = run_drive(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command(server: serving.Server, capsys: Any) -> None:
    code, out, _ = run(capsys, server.url, "B", "--policy", "KL-ULCB:c=4", "--visits", "20")
    assert code == 0 and "regret, by gaps" in out and re.search(r"^visits +20", out, re.M)
    described = ["--means", "0.9,0.5", "--q", ".8,.2,.2,.1", "--experiment", "described"]
    code, out, _ = run(capsys, server.url, *described, "--seconds", "0.2", "--json")
    found = json.loads(out)
    assert code == 0 and found["visits"] > 0 and found["raw_regret"] is not None
    shared = ["--experiment", "shared", "--users", "3", "--processes", "2", "--visits", "30"]
    code, out, _ = run(capsys, server.url, "B", *shared, "--json")
    assert code == 0 and json.loads(out)["visits"] == 30
    _, known = server.call("GET", "/v1/experiments/shared")
    assert sum(arm["pulls"] for arm in known["arms"]) == json.loads(out)["steps"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "url = 'nowhere' is not allowed: it must begin with http:// or https://"),
        (["http://h", "Z"], "problem 'Z' is not known"),
        (["http://h", "--users", "0"], "--users = 0 is not allowed"),
        (["http://h", "--users", "2", "--processes", "3"], "--processes = 3 is not allowed"),
        (["http://h", "--visits", "0"], "--visits = 0 is not allowed"),
        (["http://h", "--seconds", "-1"], "--seconds = -1.0 is not allowed"),
        (["http://h", "-p", "Best"], "policy 'Best' is not known"),
        (["http://127.0.0.1:9"], "no answer from the service (ConnectionRefusedError"),
    ],
)
def test_bad_input(
    arguments: list[str], sentence: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller, "FIRST_PAUSE", 0.001)
    code, out, err = run(capsys, *arguments)
    assert code == (1 if "no answer" in sentence else 2) and not out
    assert err.startswith(f"error: {sentence}") and err.count("\n") == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_prints_what_was_measured(server: serving.Server, processes: str) -> None:
    command = [sys.executable, "-m", "benchmarks.drive", server.url, "A", "--seconds", "600"]
    command += ["--users", "2", "--processes", processes, "--experiment", f"stopped {processes}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        path = f"/v1/experiments/stopped%20{processes}"
        for _ in range(600):
            status, known = server.call("GET", path)
            if status == 200 and sum(arm["pulls"] for arm in known["arms"]) > 20:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    steps = re.search(r"^steps +([\d,]+) in", out.decode(), re.M)
    assert steps is not None and int(steps[1].replace(",", "")) > 20
    assert (
        "not known: visits were cut short, and those that ended are the shorter ones"
        in out.decode()
    )
    assert err.decode().startswith("note: stopped by Ctrl-C")


def test_a_service_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visits are given up one after the other, then all of it is."""
    monkeypatch.setattr(caller, "FIRST_PAUSE", 0.0001)

    async def main() -> None:
        with serving.serve("memory://") as server:
            traffic = Traffic(server.url, B, users=2, visits=float("inf"))

            def kill(visits: int, steps: int) -> None:
                if steps:
                    server.process.kill()

            with pytest.raises(Unavailable, match="visits in a row failed: no answer"):
                await adrive(traffic, kill)

    asyncio.run(main())


def test_the_demonstration_is_a_normal_case_with_a_clear_best() -> None:
    problem = demo.problem()
    assert problem.best_arm_is_optimal and problem.mistake_cost(0) > 1.5 * problem.mistake_cost(1)


def test_the_demonstration_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PACE", 5000.0)

    async def main() -> None:
        with Journal("memory://", upkeep=False) as journal:
            catalog = Catalog(journal, compiled=False)
            task = await demo.start(catalog)
            for _ in range(1000):
                await asyncio.sleep(0.01)
                found = catalog.experiments.get(demo.NAME)
                if found and found.counts().get(("left by end", 0, 0, 0), 0) > 20:
                    break
            assert not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert found is not None and found.arms == tuple(demo.SHORTS)
            assert verify(journal.store, demo.NAME) == {}

    asyncio.run(main())


def test_serve_with_the_demonstration() -> None:
    with serving.serve("memory://", "--demo") as server:
        for _ in range(600):
            status, known = server.call("GET", "/v1/experiments/demo%3A%20shorts")
            if status == 200 and sum(arm["pulls"] for arm in known["arms"]) > 10:
                break
            time.sleep(0.05)
        else:
            raise AssertionError(server.lines)
        assert server.stop() == 0

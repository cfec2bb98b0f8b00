"""Graded rewards in logs: means of the rewards, states and departures by the threshold."""

import random
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.live import Experiment, Journal, SqliteStore, export
from sojourn.logs.deciding.playing import draw_populations

VALUES = (0.0, 0.25, 0.5, 1.0)
CHANCES = {"a": (0.1, 0.2, 0.3, 0.4), "b": (0.4, 0.3, 0.2, 0.1)}
LEAVE = {(0, 0): 0.5, (0, 1): 0.3, (1, 0): 0.3, (1, 1): 0.1}
THRESHOLD = 0.5


@pytest.fixture(scope="module")
def played() -> Experiment:
    """Visits of 300 users whose state is whether the last reward was at least a half."""
    rng, journal = random.Random(3), Journal(SqliteStore.in_memory(), upkeep=False)
    clips = Experiment(
        "clips", list(CHANCES), sj.policies.Uniform(), reward_threshold=THRESHOLD, store=journal,
        compiled=False, seed=1,
    )  # fmt: skip
    for number in range(600):
        visit, good = clips.visit(user=f"u{number % 300}"), 1
        arm = visit.choose()
        while True:
            reward = rng.choices(VALUES, CHANCES[arm])[0]
            left, good = rng.random() < LEAVE[good, reward >= THRESHOLD], int(reward >= THRESHOLD)
            if left:
                break
            arm = visit.choose(reward)
        visit.end(reward)
    return clips


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_export_is_read_as_it_was_counted(
    played: Experiment, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"clips.{suffix}"
    export(played.journal.store, "clips", path)
    fit = sj.logs.fit(path, ema=suffix == "csv")
    assert fit.threshold == THRESHOLD and fit.reading.guessed["threshold"] == "threshold"
    counts = played.counts()
    totals = {what: [0.0, 0.0] for what in ("pulls", "successes", "good")}
    for (what, i, _, k), n in counts.items():
        if what in ("pulls", "successes"):
            totals[what][i] += n
        elif what == "seen" and k == 1:
            totals["good"][i] += n
    for position, arm in enumerate(fit.arms):
        assert arm.pulls == totals["pulls"][position]
        assert arm.successes == pytest.approx(totals["successes"][position])
        assert arm.mean.value == pytest.approx(arm.successes / arm.pulls)
        assert arm.good == pytest.approx(totals["good"][position] / arm.pulls)
    cells = {cell: [0.0, 0.0] for cell in ("00", "01", "10", "11")}
    for (what, _, s, r), n in counts.items():
        if what in ("left", "seen"):
            cells[f"{s}{r}"][what == "seen"] += n
    first = {cell: np.array(fit.counts[f"first {cell[1]}"]) * (cell[0] == "1") for cell in cells}
    for cell, found in cells.items():  # the first step is in state 1
        assert (np.array(fit.counts[cell]) + first[cell]).tolist() == found
    text = str(fit)
    assert "rewards are graded: means are those of the rewards themselves; from 0.5 on" in text
    assert "good" in text and fit.to_dict()["arms"][0]["good"] == pytest.approx(fit.arms[0].good)


def test_the_fitted_problem_is_graded(played: Experiment, tmp_path: Path) -> None:
    export(played.journal.store, "clips", tmp_path / "clips.csv")
    fit = sj.logs.fit(tmp_path / "clips.csv", ema=False)
    problem = fit.problem(first_step=False)
    assert problem.graded and problem.means == pytest.approx(fit.means)
    user = sj.users.Levels(sj.TwoState(*(LEAVE[s, r] for s in (0, 1) for r in (0, 1))), [THRESHOLD])
    rewards = [sj.rewards.Discrete(VALUES, CHANCES[arm]) for arm in CHANCES]
    assert problem.value() == pytest.approx(
        sj.Problem(rewards=rewards, user=user).value(), rel=0.15
    )
    own = fit.problem()
    assert own.user.leave_probability(-2.0, 0.4, 0) == pytest.approx(fit.q[0])
    assert own.user.leave_probability(-2.0, 0.5, 0) == pytest.approx(fit.q[1])
    binary = fit.problem(graded=False)
    assert not binary.graded and binary.means == pytest.approx([arm.good for arm in fit.arms])
    assert fit.case in ("normal", "undecided")
    (drawn,) = draw_populations(fit, 1)
    assert drawn.means.max() == pytest.approx(max(binary.means), abs=0.1)


def test_what_is_not_graded_is_read_as_before(played: Experiment, tmp_path: Path) -> None:
    log = {"visit": [1, 1, 1, 2, 2, 2, 3, 3, 3], "arm": list("abaabbabb")}
    stars = sj.logs.fit(
        {**log, "stars": [4, 5, 2, 3, 1, 1, 2, 4, 5]}, reward="stars", threshold=4, ema=False
    )
    assert stars.threshold is None and stars.means == (0.25, 0.6)
    graded = {**log, "reward": [0.8, 1, 0.4, 0.6, 0.2, 0.2, 0.4, 0.8, 1]}
    assert sj.logs.fit(graded, threshold=0.8, ema=False).means == pytest.approx((0.55, 0.64))
    with pytest.raises(ValueError, match=r"has thresholds from 0.5 to 0.6: give the threshold"):
        sj.logs.fit({**graded, "threshold": [0.5] * 8 + [0.6]}, ema=False)
    with Experiment("likes", ["a", "b"], sj.policies.Uniform(), compiled=False) as likes:
        for number in range(20):
            visit = likes.visit()
            visit.choose()
            visit.choose(number % 2)
            visit.end(number % 3 == 0)
        export(likes.journal.store, "likes", tmp_path / "likes.csv")
        assert export(likes.journal.store, "likes", tmp_path / "likes.parquet") == 40
    for suffix in ("csv", "parquet"):
        binary = sj.logs.fit(tmp_path / f"likes.{suffix}", ema=False)
        assert binary.threshold is None and "threshold" not in binary.reading.guessed

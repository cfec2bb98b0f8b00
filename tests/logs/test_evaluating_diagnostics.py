"""Diagnostics of an evaluation: intervals without an upper end, wrong propensities and models."""

from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_logs import evaluated, resampled
from world import World
from worlds import WORLDS, clickbait, world

import sojourn as sj
from sojourn.logs import Evaluation
from sojourn.logs.evaluating.evaluate import OF_WEIGHTS

TOLERANCE = 4.5  # standard errors
TWO_ARMS = world((0.7, 0.4))
LOGS = 60


def always(made: World, **options: Any) -> tuple[list[Evaluation], dict[str, float]]:
    """The best arm of a world, evaluated on some logs, and its true reward and length."""
    policy, true = sj.policies.FixedArm(made.best_arm), made.by_arm[made.best_arm]
    logs = (made.log(visits=1_000, users=500, seed=seed) for seed in range(LOGS))
    return [evaluated(log, policy, **options) for log in logs], {
        "reward": true.reward,
        "length": true.steps,
    }


@pytest.mark.parametrize("name", ["two arms", "five arms", "most of them", "selection"])
def test_a_fixed_arm_without_max_steps_has_intervals_that_hold_or_no_upper_end(name: str) -> None:
    """Plain intervals of the weights hold the truth in 5 to 80 % of the first two."""
    made = {
        "two arms": TWO_ARMS,
        "five arms": world((0.7, 0.4, 0.5, 0.3, 0.6)),
        "most of them": world((0.7, 0.4), rule=(0.9, 0.1)),
        "selection": WORLDS["selection"](),
    }[name]
    found, true = always(made, methods=list(OF_WEIGHTS))
    bounded = np.mean([f.reach is not None and f.reach.enough for f in found])
    assert bounded > 0.9 if name == "most of them" else bounded < 0.1
    for what, value in true.items():
        for method in OF_WEIGHTS:
            estimates = [getattr(f, what)[method] for f in found]
            held = np.mean([e.low <= value <= e.high for e in estimates])
            assert held > 0.95 - TOLERANCE * sqrt(0.95 * 0.05 / LOGS), (what, method)
            assert min(e.low for e in estimates) > 0.3


def test_it_says_why_there_is_no_upper_end_and_what_has_one() -> None:
    log = TWO_ARMS.log(visits=1_000, users=500)
    found = evaluated(log, sj.policies.FixedArm(0))
    assert found.reach is not None and found.reach.steps == 4
    assert found.reward["PDIS"].high == found.length["DR"].high == inf
    assert found.reward["PDIS"].low > found.reward["DR"].low == 0.0
    (why,) = found.diagnostics
    assert why == (
        "PDIS and SN-PDIS have a lower limit only, DR has no interval: "
        f"{found.reach.beyond:.0%} of this policy's visits go on after step 4, where the log is "
        "worth too few of them; max_steps=4 has intervals"
    )
    assert why in " ".join(str(found).split())
    assert " or more" in str(found) and "unknown" in str(found)
    assert found.to_dict()["reward"]["PDIS"]["high"] is None
    short = evaluated(log, sj.policies.FixedArm(0), max_steps=4)
    assert not short.diagnostics and all(e.high < inf for e in short.reward.values())


def with_propensity(log: dict[str, Any], chance: float) -> dict[str, Any]:
    return {**log, "propensity": np.full(log["arm"].size, chance)}


@pytest.mark.parametrize(("chance", "mean"), [(1.0, 0.5), (1 / 3, 1.5), (0.05, 10.0)])
def test_propensities_that_are_far_off_are_refused(chance: float, mean: float) -> None:
    log = with_propensity(TWO_ARMS.log(visits=1_000, users=500), chance)
    with pytest.raises(ValueError) as refusal:
        evaluated(log, sj.policies.FixedArm(0), max_steps=3)
    assert str(refusal.value).startswith("the propensities look wrong: a policy's chance of a ")
    said = str(refusal.value).partition("it has ")[2].split()[0]
    assert float(said) == pytest.approx(mean, rel=0.05) and "\n" not in str(refusal.value)
    assert evaluated(log, sj.policies.FixedArm(0), methods=["DM"]).reach is None


def test_propensities_that_are_somewhat_off_are_doubted() -> None:
    log = with_propensity(TWO_ARMS.log(visits=4_000, users=500), 0.45)
    found = evaluated(log, sj.policies.FixedArm(0), max_steps=3).diagnostics
    assert found[0].startswith("the propensities look wrong: ") and "it has 1.1" in found[0]


def test_propensities_that_are_wrong_in_one_state_only_are_found() -> None:
    """On average they are right: too high after a 1, too low after a 0."""
    log = TWO_ARMS.log(visits=4_000, users=500)
    after_win = np.append(1, log["reward"][:-1]) == 1
    later = log["step"] > 1
    wrong = np.where(later, np.where(after_win, 0.56, 0.42), 0.5)
    found = evaluated(
        {**log, "propensity": wrong}, sj.policies.FixedArm(0), max_steps=4
    ).diagnostics
    assert "the propensities look wrong: " in found[0]


@pytest.mark.parametrize("name", ["normal", "favourites", "by state"])
def test_right_propensities_are_not_doubted(name: str) -> None:
    """At most 1 % of false alarms: 4 of 60 logs would be more than chance."""
    found, _ = always(WORLDS[name](), methods=["PDIS"], max_steps=4)
    alarms = sum("propensities" in doubt for f in found for doubt in f.diagnostics)
    assert alarms <= 3


def test_arms_that_drive_people_away_are_in_the_model() -> None:
    """Leaving that depends on the arm: with one table for all arms, DM held never."""
    found, true = always(clickbait(), methods=["DM"])
    for what, value in true.items():
        estimates = [getattr(f, what)["DM"] for f in found]
        held = np.mean([e.low <= value <= e.high for e in estimates])
        assert held > 0.95 - TOLERANCE * sqrt(0.95 * 0.05 / LOGS)
    doubted = sum(bool(f.diagnostics) for f in found)
    assert doubted <= 5


def test_errors_of_a_model_with_arms_that_differ_agree_with_the_bootstrap() -> None:
    """80 resamples have a standard error of 8 %."""
    log = clickbait().log(visits=1_200, users=400)
    found = evaluated(log, sj.policies.FixedArm(1), methods=["DM"]).reward["DM"]
    every = (
        evaluated(again, sj.policies.FixedArm(1), methods=["DM"]) for again in resampled(log, 1_200)
    )
    means = [one.reward["DM"].mean for one in every]
    assert found.std_error == pytest.approx(np.std(means), rel=0.36)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("mood", "after a 0"),
        ("fatigue", " step"),
        ("habits", " step"),
        ("better tastes leave earlier", ""),
    ],
)
def test_a_model_that_does_not_fit_the_log_is_doubted(name: str, where: str) -> None:
    log = WORLDS[name]().log(visits=4_000, users=2_000)
    doubt = evaluated(log, sj.policies.FixedArm(0), methods=["DM"]).diagnostics[0]
    assert doubt.startswith("the model does not fit this log: ") and where in doubt
    assert doubt.endswith(": do not trust DM")


def test_dm_and_dr_that_disagree_are_told_apart() -> None:
    """Unhappy users are shown the best arm: the model takes it for a bad one."""
    made = WORLDS["selection"]()
    found = evaluated(made.log(visits=8_000, users=4_000), sj.policies.FixedArm(made.best_arm))
    assert found.reach is not None
    (doubt,) = [d for d in found.diagnostics if d.startswith("DM and DR disagree: ")]
    assert f"in the first {found.reach.steps} steps" in doubt and "trust DR" in doubt
    agreeing, _ = always(TWO_ARMS, methods=["DM", "DR"], max_steps=3)
    assert sum(len(f.diagnostics) for f in agreeing) <= 4


def test_the_study_of_coverage_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from benchmarks import evaluate as study

    study.main(["--logs", "2", "--only", "clickbait, avoided"])
    rows = capsys.readouterr().out.splitlines()[4:]
    assert [row.split(" | ")[2] for row in rows] == ["none", "3"]
    short = study.Case("short", TWO_ARMS, 100, max_steps=1)
    assert study.truth(short) == pytest.approx((0.7, 1.0))

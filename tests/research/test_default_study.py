"""The study of the default: fresh problems, single runs, arms that are added, its page."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_outcomes import save

import sojourn as sj
from research.outcomes import Outcomes
from research.runs import RunsTrial
from research.studies.default import STUDY, page, trials
from research.studies.default.live import AddedTrial, TimedTrial, counted, lost, with_arms
from research.studies.default.rows import CLAIMS, Locked, Tail, worse
from research.studies.default.singles import Single, SinglesOutcome, rarest, second_best
from research.studies.default.trials import LEARNED, OFF, ON, TAILS, TRIALS
from research.worlds import catalogue
from sojourn.paper.trials import by_label
from sojourn.paper.verdicts import Report, check
from sojourn.stats.intervals import Interval

TUNED = {9_001, 9_002, 9_012, *range(20_261, 20_266)}


def test_problems_and_seeds_are_fresh() -> None:
    seeds = [getattr(trials, name) for name in dir(trials) if name.endswith("_SEED")]
    assert len({*seeds}) == len(seeds) == 6 and not TUNED & {*seeds}
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)
    assert {trial.group for trial in TRIALS} >= {"plain", TAILS, "by arm", "graded", "added"}
    seen: list[int] = []

    class Heard(RunsTrial):
        def run(self, *, quick: bool, **how: Any) -> Any:
            seen.append(how["seed"])

    class Fresh(trials.Fresh, Heard):
        pass

    Fresh("x", "B", partial(catalogue, 2, 2, 5, 0), {}, 2).run(quick=True, seed=3)
    assert seen == [trials.RUN_SEED + 3]


def two(runs: int) -> RunsTrial:
    roster = by_label(sj.policies.FixedArm(arm=1), sj.policies.FixedArm(arm=0))
    make = partial(sj.Problem, [0.6, 0.3], sj.paper.SETTINGS["B"].user)
    return RunsTrial(
        "two", "two", make, roster, runs, runs, visits=40, checkpoints=(10, 30, 40), group="few"
    )


def test_single_runs(tmp_path: Path) -> None:
    """The right arm is never wrong, the other one is in nearly every run, and shown alone."""
    trial = two(1_200)
    ends = trial.run(quick=True, seed=1, store=tmp_path / "c.db")
    outcome = SinglesOutcome.of(trial, ends)
    wrong, right = (outcome.single(x) for x in trial.labels)
    assert right.wrong == 0 and wrong.wrong > 1_100
    assert right.unseen == wrong.unseen == 1.0
    last = ends.regrets[0][:, -1]
    assert wrong.rare[-1].value == pytest.approx(np.quantile(last, 0.999))
    assert wrong.rare[-1].low < wrong.rare[-1].value <= wrong.rare[-1].high <= last.max()
    again = SinglesOutcome.from_dict(trial, json.loads(json.dumps(outcome.to_dict())))
    assert again.to_dict() == outcome.to_dict() and again.singles == outcome.singles


def test_quantiles_are_compared_run_by_run() -> None:
    """Twice the regret in every run is twice the quantile, without doubt."""
    regret = np.random.default_rng(0).exponential(size=(2_000, 1))
    rare, over = rarest([regret, 2.0 * regret])
    assert over[0][0] == Interval.exact(1.0) and over[1][0] == Interval.exact(2.0)
    assert rare[0][0].low < np.log(1_000) < rare[0][0].high


def test_what_the_second_best_arm_loses() -> None:
    """Against the gaps, for a user with rewards by state and a start in state 0."""
    user = sj.TwoState(0.1, 0.2, 0.6, 0.05, start=0)
    problem = sj.Problem([[0.6, 0.8], [0.5, 0.7], [0.3, 0.6]], user)
    onward = problem.transition_matrix(1)[:-1, :-1]
    visits = np.linalg.solve(np.eye(2) - onward.T, [1.0, 0.0])
    assert second_best(problem) == pytest.approx(visits @ problem.gaps()[:, 1])


POLICIES = (sj.policies.LearnedIMED(), sj.policies.VisitIMED())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_memory_is_made_again_from_its_counters(policy: Any) -> None:
    problem, memory = catalogue(4, 2, 5, 0), policy.memory(4)
    lost(problem, policy, memory, 1, 0, [60])
    again = with_arms(policy, counted(memory), 6).memory
    for name in ("pulls", "successes"):
        assert getattr(again, name).tolist() == [*getattr(memory, name), 0.0, 0.0]
    for name in ("moves", "clock"):
        assert (getattr(again, name) == getattr(memory, name)).all()
    assert (again.seen[:4] == memory.seen[:4]).all() and again.left.sum() == memory.left.sum()


def test_arms_that_are_added_cost_who_tries_each(tmp_path: Path) -> None:
    trial = AddedTrial(
        "added", "added", partial(catalogue, 203, 2, 5, 0), by_label(POLICIES[0]), 4, 4,
        visits=400, group="added", old=3, total=203,
    )  # fmt: skip
    outcome = SinglesOutcome.of(trial, trial.run(quick=True, seed=0))
    before, after = (f"{LEARNED}: {when}" for when in ("before", "after"))
    assert outcome.labels == (before, after)
    assert outcome.ratio(after, before).value < 0.95
    again = SinglesOutcome.from_dict(trial, json.loads(json.dumps(outcome.to_dict())))
    assert again.to_dict() == outcome.to_dict()


def test_times_are_of_the_work() -> None:
    def job(problem: sj.Problem, policy: Any) -> Any:
        return lambda: 1e9 if policy.floor == 0 else 1.0

    roster = by_label(sj.policies.LearnedIMED(), sj.policies.LearnedIMED(floor=-1))
    made = TimedTrial("t", "t", partial(catalogue, 2, 2, 5, 0), roster, 3, 3, jobs=job)
    found = made.run(quick=True)
    assert found.mean[0] < found.mean[1] and not found.covariance.any()


def made(trial: Any, spread: float = 0.01, **regret: float) -> SinglesOutcome:
    """An outcome in which everybody has a regret of 100, but for those given."""
    labels = trial.labels
    mean = np.array([regret.get(label, 100.0) for label in labels])
    one = Interval(1.2, 1.0, 1.4)
    singles = {
        label: Single([one] * len(trial.checkpoints), [one] * len(trial.checkpoints), 0, 3.0)
        for label in labels
    }
    facts = {"arms": 2.0, "length": 8.0, "value": 5.0}
    covariance = np.diag((spread * mean) ** 2)
    own = (trial, labels, 400, mean, covariance, facts)
    return SinglesOutcome(*own, visits=tuple(trial.checkpoints), singles=singles)  # type: ignore[arg-type]


def every(**regret: float) -> Outcomes[SinglesOutcome]:
    return Outcomes([made(trial, **regret) for trial in TRIALS])


def test_only_what_is_worse_beyond_noise_counts() -> None:
    plain = [t for t in TRIALS if t.group == "plain"]
    found = [made(t, **({OFF: 120.0} if i == 3 else {OFF: 102.0})) for i, t in enumerate(plain)]
    assert [o.trial for o in worse(found, OFF, LEARNED)] == [plain[3]]
    assert worse(found, LEARNED, OFF) == []


def test_goals_follow_the_numbers() -> None:
    good = {OFF: 40.0, ON: 41.0, f"{OFF}: after": 99.0, f"{ON}: after": 101.0}
    words = [page.status(check(claim, every(**good))) for claim in CLAIMS]
    assert [*dict.fromkeys(words)] == ["met"]
    bad = {OFF: 300.0, ON: 300e6, f"{OFF}: after": 50.0, f"{ON}: after": 50.0}
    words = [page.status(check(claim, every(**bad))) for claim in CLAIMS]
    assert words.count("missed") == len(CLAIMS) - 5  # not tails, wrong arms, arms never shown
    assert page.status(check(CLAIMS[0], Outcomes([]))) == "Not run."


def test_locked_runs_and_tails_are_measured() -> None:
    found = every()
    for o in found.every:
        if o.trial.group in (trials.STATES_SAME, TAILS):
            assert o.singles is not None
            tail = [Interval(2.0, 1.6, 2.4)] * len(o.visits)
            own = {x: Single([], tail, 1, 0.0) for x in o.labels}
            object.__setattr__(o, "singles", own)
    assert {m.interval.value for m in Locked(trials.STATES_SAME, 0.0).measure(found)} == {0.0025}
    tails = Tail().measure(found)
    assert {m.interval.value for m in tails} == {1.6}
    assert sum(m.what.startswith("A, ") for m in tails) == 4  # without the last quarter


def test_the_page_has_everything(tmp_path: Path, run: Any) -> None:
    found = every(**{OFF: 40.0, ON: 41.0})
    report = Report(found, [check(claim, found) for claim in CLAIMS], "command", 0, "quick")
    text = STUDY.page(report)
    assert "Not run." not in text and "{" not in text
    assert text.count("| met |") + text.count("| missed |") == len(CLAIMS)
    assert "Not run." in STUDY.page(Report(Outcomes([]), [], "command", 0, "quick"))
    save(found.every, tmp_path)
    target = tmp_path / "docs" / "engagement-index.md"
    done = run("default", "--redraw", "--out", str(tmp_path), "--page", str(target))
    assert done.code == 0 and "python -m research default" in target.read_text()
    assert (target.parent / "figures" / "frontier.png").stat().st_size > 5_000


def test_a_part_of_the_study_keeps_the_rest(tmp_path: Path) -> None:
    one, other = two(6), replace(two(8), name="other")
    replace(STUDY, trials=[one]).conduct(out=tmp_path)
    replace(STUDY, trials=[other]).conduct(out=tmp_path)
    both = replace(STUDY, trials=[one, other]).conduct(out=tmp_path, redraw=True)
    assert [o.runs for o in both.findings.every] == [6, 8]
    replace(STUDY, trials=[one]).conduct(out=tmp_path, seed=1)
    alone = replace(STUDY, trials=[one, other]).conduct(out=tmp_path, redraw=True, seed=1)
    assert [o.runs for o in alone.findings.every] == [6]


def test_a_part_goes_by_its_group(run: Any, tmp_path: Path) -> None:
    done = run("default", "--only", "tail", "--out", str(tmp_path))
    assert done.code == 2
    assert "only = 'tail' is not allowed: it must be one of plain, tails, " in done.err

"""Off-policy evaluation: a hand-computed log, slow twins, coverage of the intervals, refusals."""

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from plain_logs import evaluated, resampled

import sojourn as sj
from sojourn.logs import evaluate, learn, trajectories
from sojourn.logs.evaluating import solution, weights
from sojourn.logs.evaluating.evaluate import METHODS
from sojourn.logs.synthetic import Log, synthetic_log
from sojourn.policies import UCB, EpsilonMixture, FixedArm, Policy, Rule, Uniform

TOLERANCE = 4.5  # standard errors
TWO_STATE = sj.Problem([0.7, 0.4], sj.TwoState(0.6, 0.3, 0.35, 0.15))
EMA = sj.Problem([0.7, 0.4], sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=20)))
TARGET = Rule([[0.4, 0.6], [0.7, 0.3]])

HAND: Log = {
    "visit": np.array([0, 0, 1, 1, 2]),
    "arm": np.array([0, 1, 1, 0, 0]),
    "reward": np.array([1, 0, 0, 1, 1]),
    "propensity": np.array([0.5, 0.25, 0.5, 0.8, 0.5]),
}
HAND_TARGET = Rule([[0.4, 0.6], [0.75, 0.25]])
"""Its weights: 1.5, 1.5 in the first visit, 0.5, 0.25 in the second, 1.5 in the third."""


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take logs of any size."""
    monkeypatch.setattr(weights, "LEAST", 0.0)
    monkeypatch.setattr(weights, "DOUBTFUL", float("inf"))
    monkeypatch.setattr(weights, "MIN_SHARE", 1.1)
    monkeypatch.setattr(solution, "MIN_SHARE", 1.1)
    monkeypatch.setattr(solution, "MIN_STEPS", 0)


def with_columns(log: Log, **columns: Any) -> Log:
    return {**log, **{name: np.asarray(column) for name, column in columns.items()}}


# --- by hand -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("any_size")
def test_three_visits_give_what_is_computed_by_hand() -> None:
    found = evaluated(HAND, HAND_TARGET, methods=["PDIS", "SN-PDIS"])
    assert found.reward["PDIS"].mean == pytest.approx((1.5 + 0.25 + 1.5) / 3)
    assert found.length["PDIS"].mean == pytest.approx(((1 + 1.5) + (1 + 0.5) + 1) / 3)
    # Step 1: 3 of 3.5. Step 2: 0.25 of 3.25, the third visit keeps its 1.5.
    assert found.reward["SN-PDIS"].mean == pytest.approx(6 / 7 + 1 / 13)
    # All make step 1; those of weight 1.5 and 0.5, of 3.5 in all, make step 2.
    assert found.length["SN-PDIS"].mean == pytest.approx(1 + 4 / 7)
    assert found.effective == pytest.approx(3.25**2 / (2 * 1.5**2 + 0.25**2))
    assert found.reward["PDIS"].std_error == pytest.approx(
        np.std([1.5, 0.25, 1.5], ddof=1) / sqrt(3)
    )
    assert (found.visits, found.users, found.steps, found.cut) == (3, 3, 5, 0)


@pytest.mark.usefixtures("any_size")
def test_visits_of_one_user_are_one_observation() -> None:
    log = with_columns(HAND, user=["ann", "ann", "bob", "bob", "ann"])
    found = evaluated(log, HAND_TARGET, methods=["PDIS"])
    mean = 3.25 / 3
    by_user = np.array([3.0 - 2 * mean, 0.25 - mean]) / 3
    assert found.users == 2 and found.reward["PDIS"].mean == pytest.approx(mean)
    assert found.reward["PDIS"].std_error == pytest.approx(sqrt(2 * (by_user**2).sum()))


@pytest.mark.usefixtures("any_size")
def test_max_steps_keeps_the_first_steps() -> None:
    found = evaluated(HAND, HAND_TARGET, max_steps=1, methods=["PDIS", "SN-PDIS"])
    assert found.reward["PDIS"].mean == pytest.approx(1.0)
    assert found.reward["SN-PDIS"].mean == pytest.approx(6 / 7)
    assert found.length["PDIS"].mean == found.length["SN-PDIS"].mean == 1.0


@pytest.mark.usefixtures("any_size")
def test_the_policy_that_wrote_the_log_has_weight_one() -> None:
    policy = EpsilonMixture(epsilon=0.3)
    log = synthetic_log(TWO_STATE, policy, visits=300, seed=4)
    found = evaluated(log, policy)
    assert found.effective == pytest.approx(300)
    for method in ("PDIS", "SN-PDIS"):
        assert found.reward[method].mean == pytest.approx(log["reward"].sum() / 300)
        assert found.length[method].mean == pytest.approx(log["arm"].size / 300)


# --- twins -------------------------------------------------------------------------------------


def plain_weighted(log: Log, policy: Policy, memory: Any, learns: bool) -> tuple[float, float]:
    """Reward and length a visit, step by step."""
    reward = length = 0.0
    weight = state = 1.0
    rows = list(zip(*(log[c] for c in ("visit", "arm", "reward", "propensity")), strict=True))
    for i, (visit, arm, r, b) in enumerate(rows):
        if i == 0 or rows[i - 1][0] != visit:
            weight = state = 1.0
        last = i + 1 == len(rows) or rows[i + 1][0] != visit
        length += weight
        weight *= policy.probabilities(memory, state)[arm] / b
        reward += weight * r
        if learns:
            policy.update(memory, state, arm, float(r), last, float(r))
        state = float(r)
    return reward / (rows[-1][0] + 1), length / (rows[-1][0] + 1)


@pytest.mark.parametrize("learns", [False, True])
def test_weights_are_those_of_a_step_by_step_twin(learns: bool) -> None:
    """With a memory from elsewhere, and learning from the log as it goes."""
    policy = EpsilonMixture(epsilon=0.5)
    log = synthetic_log(TWO_STATE, Uniform(), visits=800, seed=1)
    memory = None if learns else learn(synthetic_log(TWO_STATE, Uniform(), visits=9), policy)
    twin = plain_weighted(log, policy, policy.memory(2) if learns else memory, learns)
    found = evaluated(log, policy, memory=memory, max_steps=None, methods=["PDIS"])
    assert (found.reward["PDIS"].mean, found.length["PDIS"].mean) == pytest.approx(twin)


Ends = dict[tuple[int, int], list[list[int]]]
"""Who left, by state and reward and then by arm."""


def plain_leaving(ends: Ends) -> dict[tuple[int, int], list[float]]:
    """Frequencies by arm, drawn to those of all arms the more, the less arms differ."""
    pooled = {cell: np.mean([x for left in by_arm for x in left]) for cell, by_arm in ends.items()}
    squares, rows, free = 0.0, [], 0
    for cell, by_arm in ends.items():
        q = pooled[cell]
        seen = [left for left in by_arm if left and 0 < q < 1]
        squares += sum(
            (sum(left) - len(left) * q) ** 2 / (len(left) * q * (1 - q)) for left in seen
        )
        rows += [len(left) for left in seen]
        free += max(len(seen) - 1, 0)
    excess = squares / free - 1 if free else 0.0
    if excess <= 0:
        return {cell: [float(q)] * len(ends[cell]) for cell, q in pooled.items()}
    pull = np.mean(rows) / excess
    return {
        cell: [float((sum(left) + pull * pooled[cell]) / (len(left) + pull)) for left in by_arm]
        for cell, by_arm in ends.items()
    }


def plain_model(log: Log, chances: list[list[float]], horizon: int | None) -> tuple[float, float]:
    """Frequencies of a two-state log, and the values of a rule by many rounds of its equations."""
    arms: dict[int, list[int]] = {0: [], 1: []}
    ends: dict[bool, Ends] = {True: {}, False: {}}
    for step, arm, r, left, cut, s in zip(
        *(log[c] for c in ("step", "arm", "reward", "left", "censored", "state")), strict=True
    ):
        if horizon is None or step <= horizon:
            arms[arm].append(r)
            if not cut:
                ends[step == 1].setdefault((int(s), r), [[], []])[arm].append(left)
    mean = [float(np.mean(arms[a])) for a in (0, 1)]
    leave = {first: plain_leaving(found) for first, found in ends.items()}

    def worth(first: bool, s: int, of_reward: bool, ahead: list[float]) -> float:
        total = 0.0
        for a, p in enumerate(chances[s]):
            for r, chance in ((0, 1 - mean[a]), (1, mean[a])):
                stay = 1 - leave[first].get((s, r), [1.0, 1.0])[a]
                total += p * chance * ((r if of_reward else 1) + stay * ahead[r])
        return total

    V, N = [0.0, 0.0], [0.0, 0.0]
    for _ in range(2000 if horizon is None else horizon - 1):
        V, N = (
            [worth(False, s, True, V) for s in (0, 1)],
            [worth(False, s, False, N) for s in (0, 1)],
        )
    return worth(True, 1, True, V), worth(True, 1, False, N)


@pytest.mark.parametrize("horizon", [None, 1, 3])
@pytest.mark.parametrize("cut", [None, 5])
def test_the_model_is_that_of_a_step_by_step_twin(horizon: int | None, cut: int | None) -> None:
    log = synthetic_log(TWO_STATE, Uniform(), visits=500, seed=2, max_steps=cut)
    if cut:  # every third visit even after its first step
        early = log["visit"] % 3 == 0
        log = {name: column[~early | (log["step"] == 1)] for name, column in log.items()}
        log["left"] = np.where(log["visit"] % 3 == 0, 0, log["left"])
        log["censored"] = np.where(log["visit"] % 3 == 0, 1, log["censored"])
    found = evaluated(log, TARGET, max_steps=horizon, methods=["DM"])
    twin = plain_model(log, [list(row) for row in TARGET.chances], horizon)
    assert (found.reward["DM"].mean, found.length["DM"].mean) == pytest.approx(twin)
    assert found.effective is None


@pytest.mark.parametrize("problem", [TWO_STATE, EMA], ids=["two-state", "ema"])
def test_errors_of_the_model_agree_with_the_bootstrap(problem: sj.Problem) -> None:
    """Visits of four users each; 80 resamples have a standard error of 8 %."""
    theta = 1.0 if problem is TWO_STATE else 0.5
    log = synthetic_log(problem, sj.policies.Uniform(), visits=1600, users=400, spread=0.5, seed=3)
    options: dict[str, Any] = {"theta": theta, "max_steps": 6, "methods": ["DM", "DR"]}
    found = evaluated(log, TARGET, **options)
    means = [evaluated(again, TARGET, **options) for again in resampled(log, 1_600)]
    for method in ("DM", "DR"):
        spread = np.std([m.reward[method].mean for m in means])
        assert found.reward[method].std_error == pytest.approx(spread, rel=0.36)


# --- against the truth -------------------------------------------------------------------------


def two_state_value(means: list[float], rule: Rule, q: sj.TwoState) -> tuple[float, float]:
    """Reward and length of a visit from state 1, by many rounds of the equations."""
    m = [float(np.dot(row, means)) for row in rule.chances]
    V, N = np.zeros(2), np.zeros(2)
    stay = 1 - np.array([[q.q00, q.q01], [q.q10, q.q11]])
    move = np.array([[(1 - m[s]) * stay[s, 0], m[s] * stay[s, 1]] for s in (0, 1)])
    for _ in range(500):
        V, N = m + move @ V, 1 + move @ N
    return float(V[1]), float(N[1])


def by_simulation(problem: sj.Problem, horizon: int) -> tuple[float, float]:
    """The target played; errors of 0.1 % do not matter to intervals of several percent."""
    log = synthetic_log(problem, TARGET, visits=600_000, seed=99, max_steps=horizon)
    return log["reward"].sum() / 600_000, log["arm"].size / 600_000


LOGS = 160
CASES: dict[str, tuple[Any, ...]] = {
    "two-state": (TWO_STATE, Uniform(), None),
    "two-state, learning log": (TWO_STATE, EpsilonMixture(epsilon=0.5), 4),
    "ema": (EMA, Uniform(), 5),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_the_truth(case: str) -> None:
    problem, policy, horizon = CASES[case]
    truth = (
        two_state_value(problem.means, TARGET, problem.user)
        if horizon is None
        else by_simulation(problem, horizon)
    )
    theta = 1.0 if problem is TWO_STATE else 0.5
    found = [
        evaluated(
            synthetic_log(problem, policy, visits=600, seed=7, run=run),
            TARGET, theta=theta, max_steps=horizon,
        )
        for run in range(LOGS)
    ]  # fmt: skip
    for what, value in zip(("reward", "length"), truth, strict=True):
        for method in METHODS:
            estimates = [getattr(f, what)[method] for f in found]
            means = np.array([e.mean for e in estimates])
            assert abs(means.mean() - value) < TOLERANCE * means.std() / sqrt(LOGS), (what, method)
            covered = np.mean([e.low <= value <= e.high for e in estimates])
            assert abs(covered - 0.95) < TOLERANCE * sqrt(0.95 * 0.05 / LOGS), (what, method)


def test_intervals_cover_the_truth_when_users_differ() -> None:
    """Weights assume nothing about users; clusters are needed, and the errors know it."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    odds = np.exp(1.5 * nodes)[:, None] * np.array([0.7, 0.4])
    of_users = odds / (np.array([0.3, 0.6]) + odds)
    each = [two_state_value(list(m), TARGET, TWO_STATE.user)[0] for m in of_users]
    truth = float(np.dot(weights, each) / weights.sum())
    clustered, alone = [], []
    for run in range(LOGS):
        log = synthetic_log(
            TWO_STATE, Uniform(), visits=960, users=160, spread=1.5, seed=5, run=run
        )
        clustered.append(evaluated(log, TARGET, methods=["PDIS"]).reward["PDIS"])
        log.pop("user")
        alone.append(evaluated(log, TARGET, methods=["PDIS"]).reward["PDIS"])
    means = np.array([e.mean for e in clustered])
    assert abs(means.mean() - truth) < TOLERANCE * means.std() / sqrt(LOGS)
    covered = np.mean([e.low <= truth <= e.high for e in clustered])
    assert abs(covered - 0.95) < TOLERANCE * sqrt(0.95 * 0.05 / LOGS)
    assert np.mean([e.std_error for e in alone]) < 0.9 * means.std()


def test_a_frozen_learner_is_worth_what_its_rule_is() -> None:
    """Trained on a log of 4,000 visits it is the best rule, which the model values exactly."""
    log = synthetic_log(TWO_STATE, Uniform(), visits=6_000, seed=8)
    late = log["visit"] >= 4_000
    early, rest = ({k: v[rows] for k, v in log.items()} for rows in (~late, late))
    memory = learn(early, sj.policies.Greedy())
    best = two_state_value([0.7, 0.4], sj.policies.Rule([[1, 0], [1, 0]]), TWO_STATE.user)
    frozen = evaluated(rest, sj.policies.Greedy(), memory=memory, max_steps=3)
    rule = evaluated(rest, sj.policies.FixedArm(0), max_steps=3)
    assert frozen.reward == rule.reward and frozen.length == rule.length
    whole = evaluated(rest, sj.policies.Greedy(), memory=memory, methods=["DM"])
    for estimate, value in zip((whole.reward, whole.length), best, strict=True):
        assert abs(estimate["DM"].mean - value) < TOLERANCE * estimate["DM"].std_error


# --- what it takes -----------------------------------------------------------------------------


def test_any_order_of_rows_and_any_frame_give_the_same(tmp_path: Path) -> None:
    log = synthetic_log(TWO_STATE, sj.policies.Uniform(), visits=300, seed=6)
    plain = evaluated(log, TARGET, max_steps=4)
    mixed = np.random.default_rng(1).permutation(log["arm"].size)
    shuffled = {name: column[mixed] for name, column in log.items()}
    frame = pd.DataFrame(log).drop(columns=["censored"])
    frame.to_csv(tmp_path / "log.csv", index=False)
    named = pl.DataFrame(log).rename({"propensity": "p", "visit": "visit_no"})
    for source in (log, shuffled, frame, tmp_path / "log.csv"):
        assert evaluate(source, TARGET, max_steps=4) == plain
    columns = sj.logs.LogSpec(propensity="p", visit="visit_no")
    assert evaluate(named, TARGET, columns, max_steps=4) == plain
    words = with_columns(log, arm=np.array(["news", "dance"])[log["arm"]])
    arms = {"news": "news", "dance": "dance"}
    assert evaluate(words, TARGET, arms=arms, max_steps=4) == plain


def test_a_log_is_read_once_for_several_policies() -> None:
    log = synthetic_log(TWO_STATE, sj.policies.Uniform(), visits=300, seed=6)
    once = trajectories(log)
    for policy in (TARGET, sj.policies.FixedArm(0)):
        assert evaluate(once, policy, max_steps=3) == evaluate(log, policy, max_steps=3)
    with pytest.raises(sj.InputError, match="spec is not allowed with trajectories"):
        evaluate(once, TARGET, threshold=0.5)


def test_visits_begin_in_the_state_that_the_log_has() -> None:
    """A column of texts that is called so is something else."""
    log = synthetic_log(TWO_STATE, sj.policies.Uniform(), visits=900, seed=6)
    later = log["step"] > 1
    rest = {name: column[later] for name, column in log.items()}
    assert set(trajectories(rest).with_states(1.0, 1.0).state) == {0.0, 1.0}
    found = evaluate(rest, TARGET, max_steps=1, methods=["DM"])
    assert found == evaluated(rest, TARGET, max_steps=1, methods=["DM"])
    begun = evaluate(without(rest, "state"), TARGET, max_steps=1, methods=["DM"])
    assert begun.reward["DM"].mean > found.reward["DM"].mean
    texts = with_columns(rest, state=np.array(["CA", "NY"])[rest["arm"]])
    assert evaluate(texts, TARGET, max_steps=1, methods=["DM"]) == begun


def test_the_text_has_every_method_and_says_what_is_cut_short() -> None:
    log = synthetic_log(TWO_STATE, sj.policies.Uniform(), visits=300, seed=6, max_steps=8)
    found = evaluate(log, TARGET)
    assert found.cut == log["censored"].sum() > 0
    assert all(method in str(found) for method in METHODS) and "cut short" in str(found)
    data = found.to_dict()
    assert data["reward"]["DM"]["mean"] == found.reward["DM"].mean
    assert data["policy"] == repr(TARGET)


class Mute(Policy):
    """A policy that does not know its probabilities."""

    def choose(self, memory: Any, state: float, rng: Any) -> int:
        return 0


def without(log: Log, name: str) -> Log:
    return {key: column for key, column in log.items() if key != name}


def refusals() -> list[tuple[Any, Any, dict[str, Any], str]]:
    """Log, policy, options, and how the sentence begins."""
    LOG = synthetic_log(TWO_STATE, Uniform(), visits=300, seed=6)
    SHORT = synthetic_log(TWO_STATE, Uniform(), visits=20, seed=6)
    ONE_ARM = synthetic_log(TWO_STATE, EpsilonMixture(FixedArm(0), 1e-9), visits=300, seed=6)
    NOBODY_LEAVES = with_columns(LOG, left=np.zeros(LOG["arm"].size, int))
    TINY = with_columns(LOG, propensity=np.where(LOG["arm"] == 0, 0.5, 1e-4))
    EARLY = with_columns(LOG, reward=np.where(LOG["step"] == 1, None, LOG["reward"]))
    BOTH = {"arms": {0: "0", 1: "1"}}
    return [
        (without(LOG, "propensity"), TARGET, {}, "the log has no propensities: "),
        (with_columns(LOG, propensity=0 * LOG["propensity"]), TARGET, {}, "propensity = 0.0 is "),
        (with_columns(LOG, propensity=3 * LOG["propensity"]), TARGET, {}, "propensity = 1.5 is "),
        (with_columns(LOG, propensity=np.nan * LOG["reward"]), TARGET, {}, "the frame has no prop"),
        (without(LOG, "arm"), TARGET, {}, "say which column is the arm: there are user, visit, "),
        (LOG, TARGET, {"arm": "item"}, "arm = 'item' is not a column: there are user"),
        (with_columns(LOG, reward=LOG["reward"] / 2), TARGET, {}, "the frame has "),
        (with_columns(LOG, arm=LOG["arm"][1:]), TARGET, {}, "the frame cannot be read: "),
        (EARLY, TARGET, {"bad": "skip"}, "the log is not allowed: it has no complete step"),
        (7, TARGET, {}, "source = int is not allowed: "),
        (with_columns(LOG, arm=LOG["arm"] * 0), TARGET, {}, "chances is not allowed: it has 2 col"),
        (ONE_ARM, sj.policies.FixedArm(1), BOTH, "there is no overlap: the policy plays arm '1' "),
        (ONE_ARM, sj.policies.FixedArm(1), {**BOTH, "methods": ["DM"]}, "there is too little "),
        (ONE_ARM, sj.policies.FixedArm(1), {**BOTH, "methods": ["DR"]}, "there is no overlap: "),
        (SHORT, sj.policies.FixedArm(1), {}, "there is too little overlap: the first steps of "),
        (TINY, TARGET, {}, "the propensities look wrong: "),
        (NOBODY_LEAVES, TARGET, {"methods": ["DM"]}, "the log is not allowed without max_steps: "),
        (LOG, sj.policies.UCB(), {"methods": ["DM"]}, "policy = UCB(c=0.0, random_ties=True, i"),
        (LOG, Mute(), {}, "policy = Mute() is not allowed: evaluate needs its probabilities"),
        (LOG, "UCB", {}, "policy = 'UCB' is not allowed: it must be a policy"),
        (LOG, UCB(), {"memory": UCB().memory(3)}, "memory is not allowed: it must be one of"),
        (LOG, TARGET, {"theta": 0.5}, "theta = 0.5 is not allowed: the state column of the log "),
        (LOG, TARGET, {"theta": 2}, "theta = 2 is not allowed: it must be a number from 0 to 1"),
        (without(LOG, "state"), TARGET, {"start": 0.3}, "start = 0.3 is not allowed: it must be 0"),
        (LOG, TARGET, {"max_steps": 0}, "max_steps = 0 is not allowed: it must be a whole number "),
        (LOG, TARGET, {"methods": ["magic"]}, "methods = 'magic' is not allowed: it must be one "),
        (LOG, TARGET, {"prop": "p"}, "prop is not allowed: it must be one of visit, user, time, "),
        (LOG, TARGET, {"confidence": 95}, "confidence = 95 is not allowed: "),
        (LOG, TARGET, {"arms": [1, 2]}, "arms is not allowed: it must be a mapping from items to "),
    ]  # fmt: skip


def test_what_cannot_be_evaluated_is_refused() -> None:
    for log, policy, options, message in refusals():
        with pytest.raises(ValueError) as refusal:
            evaluate(log, policy, **options)
        assert str(refusal.value).startswith(message) and "\n" not in str(refusal.value)

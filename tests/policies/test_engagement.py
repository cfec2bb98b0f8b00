"""The engagement index: its formula, what it undoes, and what it is for."""

from typing import Any

import numpy as np
import pytest
from naive_engagement import Step, Twin

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.policies import EngagementIndex
from sojourn.policies.accounts import ALIKE, DIFFERENT
from sojourn.policies.estimates import SURE, coins
from sojourn.simulation.chunks import chunk

USER = sj.TwoState(0.1, 0.1, 0.6, 0.02)
B = sj.paper.SETTINGS["B"]
SAME_ORDER = sj.Problem([[0.45, 0.8], [0.35, 0.7], [0.25, 0.6]], USER)
CROSSING = sj.Problem([[0.3, 0.8], [0.4, 0.6], [0.25, 0.6]], USER)
CLICKBAIT = sj.Problem(
    [0.8, 0.6, 0.4], sj.ByArm.odds(sj.TwoState(0.15, 0.08, 0.12, 0.06), [2, 0, 0])
)
GRADED = sj.Problem(
    rewards=[sj.rewards.Beta(30, 20), sj.rewards.Beta(27, 23), sj.rewards.Beta(25, 25)],
    user=sj.users.Levels(sj.TwoState(0.3, 0.2, 0.2, 0.1), thresholds=[0.5]),
)


def steps(problem: sj.Problem, number: int, seed: int, arm_of: Any) -> Any:
    """Steps of users, told to `arm_of` (state), which returns an arm, one after the other."""
    rng, state = np.random.default_rng(seed), 1
    for _ in range(number):
        arm = arm_of(state)
        given: Any = problem.rewards[arm]
        if problem.graded:
            reward = float(rng.beta(given.a, given.b))
        else:
            mean = given.described()[state] if problem.by_state else given.mean
            reward = float(rng.random() < mean)
        after = int(reward >= 0.5)
        level = reward if not problem.graded else float(after)
        left = bool(rng.random() < problem.user.leave_probability(float(state), level, arm))
        yield Step(state, arm, reward, left, after)
        state = 1 if left else after


def told(policy: EngagementIndex, arms: int, what: list[Step]) -> Any:
    memory = policy.memory(arms)
    for step in what:
        policy.update(
            memory, float(step.state), step.arm, step.reward, step.left, float(step.after)
        )
    return memory


def at_random(problem: sj.Problem, number: int, seed: int) -> list[Step]:
    rng = np.random.default_rng(seed + 100)
    return list(steps(problem, number, seed, lambda _: int(rng.integers(problem.arms))))


# --- the formula -------------------------------------------------------------------------------


@pytest.mark.parametrize("departures", [False, True])
@pytest.mark.parametrize(
    ("problem", "seed"), [(B, 0), (SAME_ORDER, 1), (CROSSING, 2), (GRADED, 3), (CLICKBAIT, 4)]
)
def test_decides_as_its_twin(problem: sj.Problem, seed: int, departures: bool) -> None:
    policy = EngagementIndex(bins=2, departures=departures)
    memory, twin, rng = policy.memory(problem.arms), Twin(problem.arms), policy_stream(seed, 0)
    accounts = list[bool]()

    def decide(state: int) -> int:
        scores = np.array(twin.scores(state, memory if departures else None))
        tied = scores > scores.max() - 1e-9
        chances = policy.probabilities(memory, float(state))
        np.testing.assert_allclose(chances, tied / tied.sum(), atol=1e-12)
        accounts.append(memory.strength[ALIKE] > memory.strength[DIFFERENT])
        return policy.choose(memory, float(state), rng)

    for step in steps(problem, 600, seed, decide):
        state, after = float(step.state), float(step.after)
        policy.update(memory, state, step.arm, step.reward, step.left, after)
        twin.tell(step)
    assert (memory.by_state[0] > SURE) == twin.on == problem.by_state
    assert any(accounts) == (departures and problem is CLICKBAIT)


def test_no_arm_is_played_for_being_new() -> None:
    policy = EngagementIndex(departures=False, inflation=0.0)
    what = [Step(1, 0, 1.0, False, 1)] * 30
    memory = told(policy, 50, what)
    assert policy.probabilities(memory, 1.0)[0] < 1.0  # arms may be that good
    rng, shown = policy_stream(0, 0), set()
    draws = np.random.default_rng(0)
    for _ in range(300):
        arm = policy.choose(memory, 1.0, rng)
        shown.add(arm)
        reward = float(draws.random() < (0.9 if arm == 0 else 0.1))
        policy.update(memory, 1.0, arm, reward, False, reward)
    assert 2 < len(shown) < 40  # of 50: those shown were bad, and spoke for the rest


def test_a_reward_that_varies_less_counts_as_several() -> None:
    memory = told(EngagementIndex(), 3, at_random(GRADED, 600, 5))
    exact = [d.mean * (1 - d.mean) / d.variance for d in map(moments, GRADED.rewards)]
    assert [coins(memory, a) for a in range(3)] == pytest.approx(exact, rel=0.35)
    assert coins(told(EngagementIndex(), 2, at_random(B, 77, 5)), 0) == 1.0


class moments:  # noqa: N801
    def __init__(self, reward: Any) -> None:
        a, b = reward.a, reward.b
        self.mean, self.variance = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)


@pytest.mark.parametrize(
    ("policy", "departures"),
    [
        (EngagementIndex.for_problem(B), False),
        (EngagementIndex.for_problem(CLICKBAIT), True),
        (EngagementIndex.for_problem(B, departures=True), True),
    ],
)
def test_the_account_of_departures_by_arm_is_for_problems_that_have_them(
    policy: EngagementIndex, departures: bool
) -> None:
    assert policy.departures == departures


# --- sums --------------------------------------------------------------------------------------

SUMS = ("pulls", "successes", "clock", "moves", "seen", "left", "tried", "earned", "grades")


@pytest.mark.parametrize("problem", [SAME_ORDER, GRADED])
def test_what_is_taken_back_was_never_there(problem: sj.Problem) -> None:
    policy, what = EngagementIndex(bins=2), at_random(problem, 230, 6)
    memory, wanted = told(policy, 3, what), told(policy, 3, what[:200])
    for step in reversed(what[200:]):
        policy.take_back(memory, float(step.state), *step[1:])
    for name in SUMS:
        np.testing.assert_allclose(getattr(memory, name), getattr(wanted, name), atol=1e-9)
    for one in (memory, wanted):  # what is concluded follows from the sums
        one.prior[:] = 0.5, 2.0
        one.strength[:] = 0.0
        one.effect[:] = 0.0
        one.interaction[:] = 0.0
        for _ in range(30):
            policy.think(one)
    for state in (0.0, 1.0):
        np.testing.assert_array_equal(
            policy.probabilities(memory, state), policy.probabilities(wanted, state)
        )


def test_faded_sums_are_as_if_less_had_been_seen() -> None:
    policy, what = EngagementIndex(bins=2), at_random(GRADED, 100, 7)
    memory, twice = told(policy, 3, what), told(policy, 3, what + what)
    policy.fade(twice, 0.5)
    for name in SUMS:
        np.testing.assert_allclose(getattr(twice, name), getattr(memory, name), rtol=1e-12)


def test_an_arm_that_is_forgotten_is_as_good_as_new() -> None:
    policy = EngagementIndex(bins=2)
    memory = told(policy, 3, at_random(SAME_ORDER, 400, 8))
    policy.forget_arm(memory, 1)
    fresh = told(policy, 4, [])
    for name in ("pulls", "successes", "tried", "earned", "grades"):
        assert (getattr(memory, name)[1] == getattr(fresh, name)[1]).all()
    assert policy.estimate(memory, 1, 1.0)[1] == memory.prior[1]
    assert memory.seen[3].sum() > 0.0


def test_among_some_arms_it_is_as_if_there_were_no_others() -> None:
    """The best arm of all is not what the rest are compared with."""
    policy = EngagementIndex(bins=2)
    memory = told(policy, 3, at_random(CLICKBAIT, 4_000, 9))
    assert memory.strength[ALIKE] > memory.strength[DIFFERENT]
    assert policy.probabilities(memory, 1.0).argmax() == 1
    rest = [0, 2]
    rows = {
        n: getattr(memory, n)[rest] for n in ("pulls", "successes", "tried", "earned", "grades")
    }
    blocks = {n: getattr(memory, n)[[*rest, 3]] for n in ("seen", "left", "terms", "interaction")}
    some = memory._replace(effect=memory.effect[[*rest, 3]], **rows, **blocks)
    assert (
        policy.greedy_values(some, 1.0).tolist() == policy.greedy_values(memory, 1.0)[rest].tolist()
    )
    assert policy.probabilities(some, 1.0).max() == 1.0


def test_among_some_arms_visits_are_valued_as_if_there_were_no_others() -> None:
    """The arm left out holds people: visits without it are worth less than half as much."""
    user, means, odds = sj.TwoState(0.15, 0.08, 0.12, 0.06), [0.7, 0.65, 0.5], [-2.0, 0.0, 0.0]
    policy = EngagementIndex(bins=2)
    memory = told(policy, 3, at_random(sj.Problem(means, sj.ByArm.odds(user, odds)), 20_000, 11))
    assert memory.strength[ALIKE] > memory.strength[DIFFERENT]
    rest = {n: getattr(memory, n)[1:] for n in (*SUMS[:2], *SUMS[4:])}
    rest |= {n: getattr(memory, n)[1:].copy() for n in ("terms", "effect", "interaction")}
    some, alone = memory._replace(**rest), sj.Problem(means[1:], user)
    before = policy.greedy_values(some, 1.0)
    policy.among(some)
    exact = [alone.value() - gap for gap in alone.gaps()[1]]
    assert policy.greedy_values(some, 1.0) == pytest.approx(exact, rel=0.1)
    assert before.min() > 1.5 * max(exact)


def test_memory_grows_with_the_arms_only() -> None:
    policy = EngagementIndex()
    one, two = (sum(a.size for a in policy.memory(arms)) for arms in (1_000, 2_000))
    assert two < 2 * one < 2_000 * 100


# --- what it is for ----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [SAME_ORDER, CROSSING])
def test_does_not_lock_in_where_rewards_depend_on_the_state(problem: sj.Problem) -> None:
    """Locked: a visit of the last quarter loses half as much as with the second best arm alone.

    About a quarter of LearnedIMED's runs are, so that 40 runs without any have a chance of 1e-5.
    """
    others = [chunk(problem, sj.policies.FixedArm(a), 0, 0, 1, np.array([2_000])) for a in range(3)]
    wrong = sorted(rows[0, 0, 0] / 2_000 for rows in others)[1]
    locked = []
    for policy in (EngagementIndex.for_problem(problem), sj.policies.LearnedIMED()):
        rows = chunk(problem, policy, 11, 0, 40, np.array([1_500, 2_000]))
        locked.append(int(((rows[:, 1, 0] - rows[:, 0, 0]) / 500 > 0.5 * wrong).sum()))
    assert locked[0] == 0 < locked[1]


def test_a_catalogue_speaks_for_its_new_items() -> None:
    means = np.random.default_rng(12).beta(2, 5, 200).tolist()
    problem = sj.Problem(means, sj.TwoState(0.2, 0.1, 0.15, 0.05))
    found = sj.simulate(
        problem, [sj.policies.IMED(), EngagementIndex.for_problem(problem)],
        visits=500, runs=8, seed=1,
    )  # fmt: skip
    gain = found.difference(0, 1)
    assert gain.mean[-1] > 4 * gain.std_error[-1]


@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_rewards_that_vary_little_are_told_apart_sooner() -> None:
    ours = EngagementIndex.for_problem(GRADED)
    found = sj.simulate(GRADED, [sj.policies.EmpiricalIMED(), ours], visits=600, runs=60, seed=1)
    gain = found.difference(0, 1)
    assert gain.mean[-1] > 4 * gain.std_error[-1]


@pytest.mark.parametrize("follow", [False, True])
def test_people_are_shown_what_they_like_least_only_if_that_is_asked_for(follow: bool) -> None:
    improper = sj.Problem([0.8, 0.7, 0.6], sj.TwoState(0.1, 0.05, 0.1, 0.6))
    policy = EngagementIndex(follow_improper=follow)
    with pytest.warns(sj.theory.AssumptionWarning):
        result = sj.simulate(improper, [policy], visits=500, runs=8, seed=1)
    pulls = result.pulls.mean[0, -1, 1]  # by arm, in state 1
    assert pulls[2 if follow else 0] > 0.8 * pulls.sum()


@pytest.mark.parametrize(
    ("name", "value"), [("faith", -1), ("bins", 101), ("growth", -0.1), ("departures", 1)]
)
def test_bad_parameters(name: str, value: Any) -> None:
    with pytest.raises(sj.InputError, match=f"^{name} = {value} is not allowed: it must be "):
        EngagementIndex(**{name: value})

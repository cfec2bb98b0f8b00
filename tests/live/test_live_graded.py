"""What an experiment takes for a reward: 0 and 1, or graded ones with a threshold."""

import asyncio

import numpy as np
import pytest
from rows import row_of

import sojourn as sj
from sojourn.live import Ask, Conflict, Experiment, Journal, Settings, SqliteStore, verify
from sojourn.registry import described
from sojourn.users import LastReward, MovingAverage, User

ONLY_BINARY = r"reward = 0.73 is not allowed: rewards of this experiment are 0 or 1, .* such as 0.5"


def opened(journal: Journal | None = None, **settings: object) -> Experiment:
    journal = journal or Journal(SqliteStore.in_memory(), upkeep=False)
    given = {"policy": sj.policies.LearnedUCB(bins=2), "compiled": False, "seed": 1, **settings}
    return Experiment("clips", ["a", "b"], store=journal, **given)  # type: ignore[arg-type]


def test_without_a_threshold_only_0_and_1_are_taken_through_every_door() -> None:
    experiment = opened(late_horizon=3600.0)
    visit = experiment.visit(id="v")
    visit.choose()
    visit.choose()  # the first step may now have a late reward
    doors = [
        lambda: visit.reward(0.73),
        lambda: visit.reward(0.73, step=1),
        lambda: visit.choose(0.73),
        lambda: visit.end(0.73),
        lambda: asyncio.run(visit.areward(0.73)),
        lambda: asyncio.run(visit.adecide(Ask(reward=0.73))),
        lambda: asyncio.run(visit.aend(0.73)),
        lambda: experiment.decide("new", Ask(reward=0.73)),
    ]
    for door in doors:
        with pytest.raises(ValueError, match=ONLY_BINARY):
            door()
    with pytest.raises(ValueError, match="default_" + ONLY_BINARY):
        opened(default_reward=0.73)
    assert visit.info().step == 2 and row_of(visit).gained == 0.0
    assert [visit.reward(True, step=1), visit.reward(1.0)] == ["learned", "learned"]


@pytest.mark.parametrize("threshold", [None, 0.5])
@pytest.mark.parametrize("wrong", [float("nan"), 2, -0.1, "0.5", None])
def test_what_is_no_reward_at_all_is_refused_as_ever(
    threshold: float | None, wrong: object
) -> None:
    visit = opened(reward_threshold=threshold).visit()
    visit.choose()
    with pytest.raises(ValueError, match=r"reward = .* must be a number from 0 to 1"):
        visit.reward(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("user", "states"), [(LastReward(), [1, 0, 1, 0]), (MovingAverage(0.5), [1, 0.7, 0.6, 0.5])]
)
def test_means_have_the_reward_and_departures_its_level(user: User, states: list[float]) -> None:
    experiment = opened(user=user, reward_threshold=0.5)
    visit = experiment.visit(id="v")
    seen = [visit.decide(Ask(reward=reward)).state for reward in (None, 0.4, 0.5, 0.4)]
    assert seen == pytest.approx(states)
    visit.end(0.9)
    counts = experiment.counts()
    total = sum(n for (what, *_), n in counts.items() if what == "successes")
    assert total == pytest.approx(2.2) == experiment.memory.successes.sum()
    good = dict.fromkeys((0, 1), 0.0)
    for (what, _, r, _), n in counts.items():
        if what == "moves":
            good[r] += n
    assert good == {0: 2.0, 1: 2.0}
    assert verify(experiment.journal.store, "clips") == {}


def test_the_default_learns_how_much_rewards_vary() -> None:
    """Late and retracted rewards included; what was known before has no state."""
    policy = sj.policies.EngagementIndex(bins=2)
    experiment = opened(policy=policy, reward_threshold=0.5, late_horizon=3600.0)
    visit = experiment.visit(id="v")
    for reward in (None, 0.4, 0.5, None, 0.25):
        visit.choose(reward)
    visit.reward(0.75, step=3)  # late: the step was resolved without a reward
    visit.end(1.0)
    memory, grades = experiment.memory, [0.24, 0.25, 0.25 * 0.75, 0.75 * 0.25]
    assert memory.grades.sum() == pytest.approx(sum(grades))
    np.testing.assert_allclose(memory.tried.sum(axis=1), memory.pulls)
    np.testing.assert_allclose(memory.earned.sum(axis=1), memory.successes)
    again = Experiment.open("clips", experiment.journal, compiled=False)
    for name in ("grades", "tried", "earned", "pulls", "seen"):
        np.testing.assert_allclose(getattr(again.memory, name), getattr(memory, name), atol=1e-12)
    told = opened(policy=policy)
    told.warm_start({"a": (10, 4)})
    known = told.memory
    assert known.pulls.tolist() == [10, 0] and not known.tried.any()


def test_a_policy_that_splits_rewards_itself_has_the_threshold_of_the_experiment() -> None:
    settings = Settings(policy=sj.policies.LearnedUCB(), reward_threshold=0.3)
    assert described(settings.policy)[1].get("threshold", 0.3) == 0.3
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "half", True, float("nan")])
def test_a_threshold_is_a_number_from_0_to_1(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"reward_threshold = .* must be a number from 0 to 1"):
        opened(reward_threshold=wrong)


@pytest.mark.parametrize(("was", "given"), [(None, 0.5), (0.5, None), (0.5, 0.6)])
def test_what_is_a_reward_cannot_change(was: float | None, given: float | None) -> None:
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        opened(journal, reward_threshold=was).visit().end()
        with pytest.raises(Conflict, match=r"reward_threshold = .* has .*, which cannot change"):
            opened(journal, reward_threshold=given)
        again = Experiment.open("clips", journal, compiled=False)
        assert again.settings.reward_threshold == was


def test_with_a_threshold_of_0_any_reward_above_0_is_good() -> None:
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        experiment = opened(journal, reward_threshold=0.0)
        visit = experiment.visit(id="v")
        visit.choose()
        visit.choose(0.25)  # above 0: good, and the state is the reward itself
        assert visit.info().state == 0.25
        visit.end(0.0)
        assert experiment.counts()["moves", 1, 1, 0] == 1.0
        assert verify(journal.store, "clips") == {}
        with pytest.raises(Conflict, match=r"has 0.0, which cannot change"):
            opened(journal, reward_threshold=0.5)


def test_a_user_who_takes_rewards_by_level_brings_the_threshold() -> None:
    user = sj.users.Levels(sj.TwoState(0.5, 0.1, 0.3, 0.05), thresholds=[0.3])
    settings = opened(user=user).settings
    assert (settings.user, settings.reward_threshold) == (LastReward(), 0.3)
    assert opened(user=sj.ByArm.odds(user.user, [2, 0])).settings.reward_threshold is None
    with pytest.raises(ValueError, match=r"reward_threshold = 0.5 .* the user's own is 0.3"):
        opened(user=user, reward_threshold=0.5)
    three = sj.Chain(next=[[0, 0, 1], [0, 1, 1]], leave=[[0.5, 0.4, 0.1], [0.3, 0.2, 0.1]])
    with pytest.raises(ValueError, match="cannot be served: it tells 3 levels of the reward apart"):
        opened(user=sj.users.Levels(three, thresholds=[0.3, 0.6]))

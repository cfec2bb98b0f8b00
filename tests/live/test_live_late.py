"""Late rewards that are learned: the default one is taken back, the late one counted, once."""

import pytest
from rows import row_of
from small import Clock

import sojourn as sj
from sojourn.live import Conflict, Experiment, Journal, SqliteStore, conformance, export, verify
from sojourn.live.records import LEARNED_LATE, fold


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(clock: Clock, **settings: object) -> Experiment:
    journal = Journal(SqliteStore.in_memory(clock), upkeep=False)
    given = {
        "policy": sj.policies.LearnedUCB(),
        "late_horizon": 3600.0,
        "compiled": False,
        **settings,
    }
    return Experiment("shop", ["a", "b"], store=journal, seed=1, **given)  # type: ignore[arg-type]


def sums(experiment: Experiment) -> tuple[list[float], list[float]]:
    return experiment.memory.pulls.tolist(), experiment.memory.successes.tolist()


def test_a_late_reward_takes_the_place_of_the_default_one(clock: Clock) -> None:
    experiment = opened(clock, default_reward=0.25, reward_threshold=0.5)
    visit = experiment.visit(id="v")
    assert [visit.choose(), visit.choose()] == ["a", "b"]
    assert sums(experiment) == ([1.0, 0.0], [0.25, 0.0])
    moves = experiment.memory.moves.copy()
    clock.now += 3600.0
    assert visit.reward(1, step=1) == "learned"
    assert sums(experiment) == ([1.0, 0.0], [1.0, 0.0])
    assert (experiment.memory.moves == moves).all()  # the visit went on from where it went
    assert visit.reward(1, step=1) == "same"
    with pytest.raises(Conflict, match="step 1 of visit 'v' has the reward 1, and 0 came later"):
        visit.reward(0, step=1)
    assert sums(experiment) == ([1.0, 0.0], [1.0, 0.0])
    visit.end(0.5)
    clock.now += 1.0
    counts = experiment.counts()
    assert counts[LEARNED_LATE, 0, 0, 0] == 1 and ("late", 0, 0, 0) not in counts
    assert row_of(visit).gained == 1.5
    experiment._reload()
    assert sums(experiment) == ([1.0, 1.0], [1.0, 0.5])
    store = experiment.journal.store
    counted, events = conformance.all_of(store, "shop")
    assert counted == fold(events, experiment.settings.bins, 0.5)
    assert verify(store, "shop") == {}


@pytest.mark.parametrize("ended", [False, True])
def test_beyond_the_horizon_it_is_logged_only(clock: Clock, ended: bool) -> None:
    experiment = opened(clock)
    visit = experiment.visit(id="v")
    visit.choose()
    visit.end() if ended else visit.choose()
    before = sums(experiment)
    clock.now += 3600.5
    assert visit.reward(1, step=1) == "late" == visit.reward(1, step=1)
    assert sums(experiment) == before and experiment.counts()["late", 0, 0, 0] == 1


def test_after_the_end_it_is_learned_too(clock: Clock) -> None:
    experiment = opened(clock)
    visit = experiment.visit(id="v")
    visit.choose()
    visit.end()
    clock.now += 3000.0
    assert visit.reward(1) == "learned" and sums(experiment)[1] == [1.0, 0.0]


def test_an_export_has_the_reward_that_was_learned(clock: Clock, tmp_path) -> None:  # type: ignore[no-untyped-def]
    experiment = opened(clock, reward_threshold=0.5)
    visit = experiment.visit(id="v")
    visit.choose()
    visit.choose()
    visit.end()
    visit.reward(0.75, step=1)
    assert export(experiment.journal.store, "shop", tmp_path / "steps.csv") == 2
    lines = (tmp_path / "steps.csv").read_text().splitlines()
    assert [line.split(",")[4] for line in lines] == ["reward", "0.75", "0.0"]


def test_a_policy_that_cannot_take_back_is_refused() -> None:
    with pytest.raises(ValueError, match="late_horizon = 60 is not allowed: QLearning learns from"):
        Experiment("shop", ["a"], sj.policies.QLearning(), late_horizon=60, compiled=False)
    with pytest.raises(ValueError, match="late_horizon = -1"):
        Experiment("shop", ["a"], late_horizon=-1, compiled=False)

"""Leases, bounds and coasting change the speed of a simulation, and nothing else."""

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rosters import ON_AVERAGES, roster

import sojourn as sj
from sojourn.engine import board, kernel
from sojourn.engine.coasting import Coaster, CurveCoaster, WordCoaster, coaster_for
from sojourn.engine.divergence import bernoulli_kl
from sojourn.engine.engagement_leases import EngagementLeaser
from sojourn.engine.imed import ImedLeaser
from sojourn.engine.index_leases import AheadLeaser, HoeffdingLeaser, KLLeaser
from sojourn.engine.kernel import Leaser
from sojourn.engine.leases import FixedLeaser, Mixed, Watching, leaser_for
from sojourn.engine.rewards import Coins
from sojourn.engine.steps import make_tally, make_world
from sojourn.paper import SETTINGS
from sojourn.policies import EngagementIndex, Policy
from sojourn.simulation.chunks import NEVER, chunk
from sojourn.values import ByState, CommonPrices

many = settings(max_examples=70, deadline=None, derandomize=True)
some = settings(max_examples=50, deadline=None, derandomize=True)
few = settings(max_examples=30, deadline=None, derandomize=True)

optimisms = st.sampled_from([-1.0, 1.0]) | st.floats(-1.5, 1.5)


@st.composite
def index_policies(
    draw: st.DrawFn, classes: Sequence[type[Policy]] = tuple(sj.policies.ALL)
) -> Policy:
    cls = draw(st.sampled_from([cls for cls in classes if issubclass(cls, sj.policies.Index)]))
    parameters = {
        "c": draw(st.sampled_from([0.0, 0.0, 4.0, 0.7])),
        "random_ties": draw(st.booleans()),
        "introduce_in_any_state": draw(st.booleans()),
    }
    if issubclass(cls, sj.policies.optimism.Graded):
        parameters |= {"c0": draw(optimisms), "c1": draw(optimisms)}
    if issubclass(cls, sj.policies.optimism.TopBin):
        parameters["n"] = draw(st.integers(2, 6))
    if issubclass(cls, sj.policies.learned.Learned):
        parameters |= {"bins": draw(st.integers(2, 9)), "growth": draw(st.sampled_from([0, 0.1]))}
        parameters["floor"] = draw(st.sampled_from([-1.0, -0.4, 0.0, 0.5]))
    if issubclass(cls, sj.policies.priced.AheadExplorer):
        parameters |= {
            "ahead": draw(st.sampled_from([1.0, 8.0, 300.0])),
            "thrift": draw(st.sampled_from([0.0, 2.0, 6.0])),
            "visits": draw(st.sampled_from([0, 30, 400])),
        }
    return cls(**parameters)


means = st.lists(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 1.0), min_size=2, max_size=7)
chances = st.sampled_from([0.0, 0.2, 1.0]) | st.floats(0.02, 1.0)


def problem_or_none(arms: list[float], user: sj.User) -> sj.Problem | None:
    try:
        problem = sj.Problem(arms, user)
    except ValueError:  # someone stays for ever
        return None
    return problem if problem.length.mean < 200 else None


def same_with_and_without(problem: sj.Problem, policy: Policy, visits: int, seed: int) -> None:
    grid = np.array([max(visits // 3, 1), visits])
    fast = chunk(problem, policy, seed, 0, 1, grid, leases=True)
    slow = chunk(problem, policy, seed, 0, 1, grid, leases=False)
    np.testing.assert_array_equal(fast, slow)


@many
@given(index_policies(), means, st.tuples(chances, chances, chances, chances), st.integers(0, 99))
def test_two_state_users(
    policy: Policy, arms: list[float], q: tuple[float, float, float, float], seed: int
) -> None:
    if problem := problem_or_none(arms, sj.TwoState(*q, start=seed % 2)):
        same_with_and_without(problem, policy, 400, seed)


@some
@given(
    index_policies(ON_AVERAGES), means, st.floats(0.05, 0.95), st.floats(0.5, 2000.0),
    st.integers(0, 99),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the values of")
def test_moving_average_users(
    policy: Policy, arms: list[float], theta: float, c6: float, seed: int
) -> None:
    user = sj.Ema(theta=theta, leave=sj.users.LogLeave(c6=c6), start=(seed % 3) / 2)
    if problem := problem_or_none(arms, user):
        same_with_and_without(problem, policy, 60, seed)


@many
@given(
    st.booleans(), st.integers(2, 5), st.sampled_from([0.0, 0.1]), means,
    st.tuples(chances, chances, chances, chances),
    st.lists(st.sampled_from([-2.0, 0.0, 1.0]), min_size=7, max_size=7), st.integers(0, 99),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_the_engagement_index(
    departures: bool, bins: int, growth: float, arms: list[float],
    q: tuple[float, float, float, float], odds: list[float], seed: int,
) -> None:  # fmt: skip
    """Where leaving depends on the arm and where it does not, with both accounts and with one."""
    policy = EngagementIndex(departures=departures, bins=bins, growth=growth)
    user = sj.TwoState(*q, start=seed % 2)
    try:
        users = user, sj.ByArm.odds(user, odds[: len(arms)])
    except sj.InputError:  # a chance of 0 or 1 has no odds
        users = (user,)
    for each in users:
        if problem := problem_or_none(arms, each):
            same_with_and_without(problem, policy, 300, seed)


ON_PAPER = [
    (cls, setting)
    for setting in ("A", "C", "D", "opposite", "ema-1000", "ema-low")
    for cls in roster(SETTINGS[setting])
    if cls is sj.policies.QLearning
    or type(leaser_for(cls.for_problem(SETTINGS[setting]))) is not Leaser
]
"""All that have leases, and one that has none."""


@pytest.mark.parametrize(("cls", "setting"), ON_PAPER, ids=lambda x: getattr(x, "__name__", x))
def test_every_policy_on_the_paper(cls: type[Policy], setting: str) -> None:
    problem = SETTINGS[setting]
    policy = cls.for_problem(problem)
    visits = 1_500 if setting in "AD" else 4_000
    same_with_and_without(problem, policy, visits, 7)
    if isinstance(policy, sj.policies.optimism.Graded):
        same_with_and_without(problem, policy.opposite(), visits, 8)


BOUNDS = (
    sj.policies.UCB(), sj.policies.KLULCB(), sj.policies.ContULCB(), sj.policies.Greedy(),
    sj.policies.PricedIndex(), sj.policies.PricedIndex(visits=2_000),
)  # fmt: skip


@pytest.mark.parametrize("policy", BOUNDS, ids=repr)
def test_many_arms(policy: Policy) -> None:
    """More arms than are few: horizons, searches and ties among many."""
    rng = np.random.default_rng(1)
    problem = sj.Problem(rng.uniform(0.2, 0.9, 150).tolist(), SETTINGS["B"].user)
    same_with_and_without(problem, policy, 1_500, 3)


IMEDS = (
    sj.policies.IMED(),
    sj.policies.IMED(random_ties=False),
    sj.policies.GatedIMED(c=0.7),
    sj.policies.GatedIMED(c0=-0.5, c1=-1.0),
    sj.policies.LearnedIMED(),
    sj.policies.LearnedIMED(floor=-1.0, bins=2),
    sj.policies.LearnedIMED(floor=-1.0, bins=5, c=4.0, introduce_in_any_state=False),
)


@pytest.mark.parametrize("policy", IMEDS, ids=repr)
@pytest.mark.parametrize("kind", ["apart", "alike", "clear", "averages"])
def test_evidence_against_many_arms(policy: Policy, kind: str) -> None:
    """Floors that hold and fall, leaders that change, ties among many."""
    user = SETTINGS["ema-1000" if kind == "averages" else "B"].user
    means = {
        "apart": np.random.default_rng(1).uniform(0.2, 0.9, 150),
        "alike": np.repeat([0.5, 0.9, 1.0, 0.0], [40, 90, 2, 5]),
        "clear": np.array([0.9, *np.linspace(0.6, 0.3, 40)]),
        "averages": np.array([0.5, 0.7, 0.7, 0.2, 0.6]),
    }[kind]
    if kind != "averages" or type(policy) in ON_AVERAGES:
        problem = sj.Problem(means.tolist(), user)
        same_with_and_without(problem, policy, {"clear": 4_000, "averages": 300}.get(kind, 800), 3)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_that_round_to_one(seed: int) -> None:
    """Bounds of different budgets may be the same number, and then a tie is drawn."""
    policy = sj.policies.PricedIndex(ahead=1e9, thrift=0.0)
    problem = sj.Problem([1.0, 0.7, 0.7, 1.0], SETTINGS["B"].user)
    same_with_and_without(problem, policy, 100, seed)


def test_budgets_that_shrink_during_a_lease() -> None:
    """A known number of visits: whenever one ends, less is ahead."""
    problem = sj.Problem([0.55, 0.575], sj.TwoState(0.25, 0.15, 0.65, 0.08))
    policy = sj.policies.PricedIndex(visits=1_000, thrift=0.0, c=1.0)
    fast, slow = (
        chunk(problem, policy, 5, 0, 200, np.array([1_000]), leases=on) for on in (True, False)
    )
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("arms", [2, 8])
def test_what_a_step_is_worth_changes_every_bound(arms: int) -> None:
    """Where mistakes are cheap in a rare state, it is found out during leases."""
    problem = sj.Problem(np.linspace(0.7, 0.4, arms).tolist(), sj.TwoState(0.03, 0.3, 0.3, 0.02))
    fast, slow = (
        chunk(problem, sj.policies.PricedIndex(), 3, 0, 60, np.array([400]), leases=on)
        for on in (True, False)
    )
    np.testing.assert_array_equal(fast, slow)


def test_every_explorer_has_its_leases_alone_and_with_learned_optimism() -> None:
    for alone, learned, leaser in (
        (sj.policies.UCB(), sj.policies.LearnedUCB(), HoeffdingLeaser()),
        (sj.policies.KLULCB(), sj.policies.LearnedKLUCB(), KLLeaser()),
        (sj.policies.GatedIMED(), sj.policies.LearnedIMED(), ImedLeaser()),
        (sj.policies.Thompson(), sj.policies.LearnedThompson(), Leaser()),
    ):
        assert leaser_for(alone) == leaser
        assert leaser_for(learned) == Watching(leaser)
        assert leaser_for(sj.policies.EpsilonMixture(learned)) == Mixed(Watching(leaser))
    assert leaser_for(sj.policies.PricedIndex()) == Watching(AheadLeaser())
    assert leaser_for(sj.policies.PricedIndex(visits=9)) == Watching(AheadLeaser())
    assert leaser_for(EngagementIndex()) == Watching(EngagementLeaser())
    assert leaser_for(EngagementIndex(follow_improper=True)) == Leaser()
    assert leaser_for(sj.policies.FixedArm()) == FixedLeaser()
    assert leaser_for(sj.policies.QLearning()) == Leaser()


def test_every_kind_of_lease_is_tried_with_every_user() -> None:
    problem = SETTINGS["ema-1000"]
    tried, known = (
        {type(leaser_for(cls.for_problem(problem))) for cls in classes}
        for classes in (ON_AVERAGES, sj.policies.ALL)
    )
    assert tried == known


def test_most_steps_of_a_long_run_are_leased(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, policy = SETTINGS["A"], sj.policies.KLULCB()
    decided = []
    plain = board.decide
    monkeypatch.setattr(
        "sojourn.engine.index_leases.decide", lambda *given: decided.append(1) or plain(*given)
    )
    out = np.zeros((1, kernel.columns(2, 2)))
    kernel.play(
        policy, problem.user, leaser_for(policy), coaster_for(problem.user),
        problem.coins, problem.values.prices, 2, 0, 0,
        np.array([2_000]), True, NEVER, np.zeros(2, np.int64), out,
    )  # fmt: skip
    steps = out[0, kernel.STEPS]
    assert steps > 100_000 and len(decided) < 0.02 * steps


def free_arms(*means: float) -> tuple[Coins, CommonPrices]:
    """Arms, and prices of nothing to come."""
    arms = np.array(means)
    return Coins(arms), CommonPrices(ByState(np.zeros(2)), arms, arms.max(), arms.min(), True)


@few
@given(
    st.tuples(chances, chances, chances, chances),
    st.floats(0.0, 1.0),
    st.lists(
        st.tuples(st.integers(1, 300), st.integers(1, 9), st.just(0.0) | st.floats(0, 1)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 1),
)
def test_64_steps_at_a_time_are_64_steps(
    q: tuple[float, float, float, float],
    mean: float,
    legs: list[tuple[int, int, float]],
    start: int,
) -> None:
    user = sj.TwoState(*q, start=start)
    coaster, coins, prices = coaster_for(user), *free_arms(mean, 0.5)
    assert type(coaster) is WordCoaster
    kit, policy, leaser = (
        coaster.kit(user),
        sj.policies.LearnedIMED(bins=2),
        leaser_for(sj.policies.LearnedIMED()),
    )
    memories = [policy.memory(2) for _ in range(2)]
    worlds = [make_world(coins, prices, 5, 9) for _ in range(2)]
    tallies = [make_tally(2, coins) for _ in range(2)]
    states, visit = [float(start), float(start)], 1
    for steps, visits, least in legs:
        fast = coaster.coast(
            leaser, policy, memories[0], user, worlds[0], tallies[0], kit,
            0, least, states[0], visit, steps, visits,
        )  # fmt: skip
        slow = Coaster().coast(
            leaser, policy, memories[1], user, worlds[1], tallies[1], kit,
            0, least, states[1], visit, steps, visits,
        )  # fmt: skip
        assert fast == slow
        states, visit = [fast[0], slow[0]], visit + fast[2]
        for mine, theirs in zip(
            [*tallies[0][:3], *memories[0]], [*tallies[1][:3], *memories[1]], strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)


@few
@given(st.floats(0.05, 0.95), st.floats(0.1, 5000.0), st.floats(0.02, 0.98), st.integers(0, 50))
def test_the_leave_table_decides_as_the_curve(
    theta: float, c6: float, mean: float, seed: int
) -> None:
    user = sj.Ema(theta=theta, leave=sj.users.LogLeave(c6=c6))
    policy, leaser = sj.policies.LearnedIMED(), leaser_for(sj.policies.LearnedIMED())
    coins, prices = free_arms(mean, 0.0)
    assert type(coaster_for(user)) is CurveCoaster
    runs = []
    for coaster in (coaster_for(user), Coaster()):
        world = make_world(coins, prices, seed, 2)
        tally = make_tally(4, coins)
        memory = policy.memory(2)
        end = coaster.coast(
            leaser, policy, memory, user, world, tally, coaster.kit(user), 0, 0.0, 1.0, 1, 700, 60
        )
        noted = [array.tolist() for array in (memory.moves, memory.seen, memory.left)]
        runs.append((end, tally.pulls.tolist(), tally.won.tolist(), noted))
    assert runs[0] == runs[1]


@given(st.floats(0.01, 0.98), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_what_the_kl_argument_rests_on(low: float, a: float, b: float, c: float) -> None:
    """For m_i < m_a < p < p', kl(m_i, p) / kl(m_a, p) falls as p grows (docs/leases.md)."""
    high = low + (0.99 - low) * (0.05 + 0.9 * a)
    p, q = sorted(high + (1.0 - high) * (0.02 + 0.96 * x) for x in (b, c))
    ratios = [bernoulli_kl(low, x) / bernoulli_kl(high, x) for x in (p, q)]
    assert ratios[1] <= ratios[0] * (1 + 1e-9)


@given(st.sampled_from([0.0, 1.0, 4.0]), st.floats(0.2, 1.5), st.floats(0.0, 60.0))
def test_the_time_at_which_a_bound_is_reached_is_not_late(c: float, a: float, y: float) -> None:
    evidence = a * y + c * log(max(y, 1.0))
    found = board.when(a, c, evidence)
    assert found <= y + 1e-9 * max(1.0, y)
    assert found == pytest.approx(y, abs=1e-6)


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=40), st.data())
def test_trees_of_maxima(values: list[float], data: st.DataObject) -> None:
    made = board.make_board(len(values))
    for arm, value in enumerate(values):
        board.set_leaf(made.tops, arm, value)
    arm = data.draw(st.integers(0, len(values) - 1))
    values[arm] = -9.0
    board.set_leaf(made.tops, arm, -9.0)
    assert made.tops[1] == max(values)
    leaves, i = [], 1
    while i > 0:
        if i < made.tops.size // 2:
            i = 2 * i
        else:
            leaves.append(i - made.tops.size // 2)
            i = board.next_node(i)
    assert leaves == list(range(made.tops.size // 2))


@given(st.sets(st.integers(0, 20), min_size=1), st.data())
def test_picking_among_tied_arms(arms: set[int], data: st.DataObject) -> None:
    first = data.draw(st.sampled_from(sorted(arms)))
    listed = np.array([first, *sorted(arms - {first})])
    found = [board.pick(listed, len(listed), skip) for skip in range(len(listed))]
    assert found == sorted(arms)


def test_a_stopped_chunk_returns_at_once() -> None:
    stop = np.ones(1, np.int8)
    grid = np.array([10**9])
    rows = chunk(SETTINGS["B"], sj.policies.Uniform(), 0, 0, 1, grid, stop=stop)
    assert rows[0, 0, kernel.STEPS] == 0.0

"""The least Bayes regret: against fractions, published numbers, and itself."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from naive import TinyBandit
from numpy.polynomial.legendre import leggauss

import sojourn as sj
from sojourn.theory import bayes
from sojourn.theory.induction import count_states, layout, step_back
from sojourn.theory.quadrature import Ends, Nodes, incomplete_beta, of_greatest, posteriors
from sojourn.values.finite import FiniteUser, Horizon, Visits
from sojourn.values.prior import find_counts

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
IMPROPER = sj.TwoState(q00=0.1, q01=0.05, q10=0.1, q11=0.6)
"""Who leaves after two good ones in a row: the best arm is wrong in state 1."""

LEAVE = ((Fraction(1, 2), Fraction(1, 8)), (Fraction(3, 4), Fraction(1, 4)), (1, 1))
Q = {(s, r): Fraction(q) for s, row in enumerate(LEAVE) for r, q in enumerate(row)}
MOVES = {0: [(1, Fraction(2, 3)), (2, Fraction(1, 3))], 1: [(2, Fraction(1))]}
TINY = sj.Chain(
    next=[[[0, 2 / 3, 1 / 3], [0, 2 / 3, 1 / 3]], [2, 2], [2, 2]],
    leave=[[float(Q[s, r]) for r in (0, 1)] for s in range(3)],
    start=0,
)
"""At most three steps per visit, and a random next state."""


@pytest.mark.parametrize(
    ("priors", "pulls"),
    [([(1, 1)] * 2, 5), ([(1, 1), (2, 3)], 4), ([(1, 2)] * 3, 3), ([(1, 1), (2, 1), (1, 2)], 2)],
)
@pytest.mark.parametrize("fixed", [False, True])
def test_it_is_what_plain_recursion_finds(
    priors: list[tuple[int, int]], pulls: int, fixed: bool
) -> None:
    again = None if fixed else Fraction(2, 3)
    naive = TinyBandit(Q, MOVES, priors, again, 3)
    told = naive.told(tuple(priors), 0, 3)
    found = sj.theory.bayes_optimum(
        TINY, arms=len(priors), prior=priors, visits=3, fixed=fixed, pulls=pulls
    )
    assert found.told == pytest.approx(float(told), rel=1e-13)
    assert found.high == pytest.approx(float(told - naive.value("commit", pulls)), abs=1e-12)
    assert found.low == pytest.approx(float(told - naive.value("told", pulls)), abs=1e-12)


def test_sixty_pulls_without_leaving_have_the_published_moments() -> None:
    """BinaryBandit (Jacko): Bayes-optimal play of 60 pulls, on means .3 and .5."""
    one_pull = sj.TwoState(1, 1, 1, 1)
    best = sj.theory.bayes_optimum(one_pull, visits=60, fixed=True, pulls=60, plan=True)
    assert best.low == pytest.approx(best.high, abs=1e-12)
    assert best.plan is not None
    reward = best.plan.reward([0.3, 0.5])
    assert reward.mean == pytest.approx(27.667781619675154, abs=1e-10)
    assert reward.variance == pytest.approx(23.650456467947016, abs=1e-10)


@pytest.mark.parametrize("prior", [(1, 1), (0.5, 2), [(2, 1), (1, 3)]])
def test_with_one_visit_that_ends_at_a_failure_one_stays_on_a_winner(prior: Any) -> None:
    """Berry and Viscusi, Stochastic Processes and their Applications 11 (1981)."""
    user = sj.TwoState(q00=1, q01=0.03, q10=1, q11=0.03)
    plan = sj.theory.bayes_optimum(user, prior=prior, visits=1, pulls=30, plan=True).plan
    assert plan is not None

    def best_arms(n: tuple[int, int]) -> set[int]:
        order, all_won = np.zeros(3, np.int64), np.array([*n, 0])
        row = find_counts(all_won, all_won, 2, plan.alike, plan.where[sum(n)], order)
        masks = plan.masks.reshape(-1, plan.visits.size)[row]
        assert len(set(masks.tolist())) == 1
        return {int(order[j]) for j in range(2) if masks[0] >> j & 1}

    for n in [(i, j) for i in range(29) for j in range(29 - i)]:
        for arm in best_arms(n):
            after = (n[0] + 1, n[1]) if arm == 0 else (n[0], n[1] + 1)
            assert arm in best_arms(after), (n, arm)


def test_the_prototype_with_its_own_end() -> None:
    """Plugging posterior means into the end, as an earlier program did, gives its figures.

    41.19694 at 120 pulls, that is a regret of 2.63465: above what committing attains, because the
    value of a visit is convex in the mean.
    """
    pulls, visits = 120, Visits(FiniteUser.of(B), Horizon.of(10, False))
    blocks, _ = layout(pulls, 2, True)
    layer = []
    for n in blocks:
        k0, k1 = np.meshgrid(np.arange(n[0] + 1.0), np.arange(n[1] + 1.0), indexing="ij")
        best = np.maximum((k0 + 1) / (n[0] + 2), (k1 + 1) / (n[1] + 2))
        ends = visits.values(visits.user.values(best, 1.0 - best))
        layer.append(np.moveaxis(np.array([ends, ends]), (0, 1), (2, 3)).ravel())
    later = np.concatenate(layer)
    for t in range(pulls - 1, -1, -1):
        now = np.empty(count_states(t, 2, True) * 4)
        step_back(t, 2, True, np.ones((2, 2)), visits.moves(), 2, later, now, np.zeros(0, np.uint8))
        later = now
    assert later[1] == pytest.approx(41.19694, abs=5e-6)
    best = sj.theory.bayes_optimum(B, visits=10, pulls=120)
    assert best.low < best.high < best.told - later[1]
    assert best.told - later[1] == pytest.approx(2.635, abs=1e-3)
    assert (best.low, best.high) == (
        pytest.approx(2.54380, abs=1e-5),
        pytest.approx(2.60675, abs=1e-5),
    )


def test_the_bracket_closes() -> None:
    found = [sj.theory.bayes_optimum(B, visits=3, pulls=pulls) for pulls in (10, 20, 40, 80)]
    lows, highs = [b.low for b in found], [b.high for b in found]
    assert lows == sorted(lows) and highs == sorted(highs, reverse=True)
    assert all(low < high for low, high in zip(lows, highs, strict=True))
    assert highs[-1] - lows[-1] < 3e-3
    more = sj.theory.bayes_optimum(B, visits=3, pulls=40, arms=3)
    assert more.low > highs[-1]


def test_arms_of_one_prior_may_be_told_apart() -> None:
    """The symmetry that saves half of the work changes nothing."""
    for arms, pulls in ((2, 30), (3, 12)):
        alike = sj.theory.bayes_optimum(B, arms=arms, visits=4, pulls=pulls)
        priors = [(1.0, 1.0)] * (arms - 1) + [(1.0, 1.0 + 1e-13)]
        apart = sj.theory.bayes_optimum(B, arms=arms, prior=priors, visits=4, pulls=pulls)
        assert (apart.low, apart.high) == pytest.approx((alike.low, alike.high), abs=1e-11)


@pytest.mark.parametrize(
    ("user", "arms", "pulls"), [(sj.users.StaysFirst(B), 2, 10), (B, 3, 3), (IMPROPER, 2, 8)]
)
def test_the_plan_attains_the_regret(user: sj.User, arms: int, pulls: int) -> None:
    """The mean of its reward over the prior is the Bayes value; this is where it has to commit."""
    best = sj.theory.bayes_optimum(user, arms=arms, visits=5, pulls=pulls, plan=True)
    assert best.plan is not None and best.plan.by_rule == (user is IMPROPER)
    sure = best.value if user is not IMPROPER else best.value + error_of_told(best)
    points, weights = leggauss(12 if arms == 2 else 9)
    points, weights = (points + 1) / 2, weights / 2
    total = 0.0
    for place in np.ndindex(*[points.size] * arms):
        chance = np.prod(weights[list(place)])
        total += chance * best.plan.reward(points[list(place)].tolist()).mean
    assert total == pytest.approx(sure, rel=1e-7)


def error_of_told(best: sj.theory.BayesOptimum) -> float:
    """By which the upper end of the bracket is raised."""
    visits = Visits(FiniteUser.of(best.user), best.horizon)
    return Ends(best.user, visits, best.priors, best.pulls).told_at_once()[1]


def test_who_is_told_plays_by_the_best_rule_even_if_it_is_not_the_best_arm() -> None:
    found = [sj.theory.bayes_optimum(IMPROPER, visits=5, pulls=pulls) for pulls in (20, 40, 80)]
    points, weights = leggauss(24)
    points, weights = (points + 1) / 2, weights / 2
    told = 0.0
    for high, outer in zip(points, weights, strict=True):
        for share, inner in zip(points, weights, strict=True):  # twice the triangle below
            value = sj.Problem([high, high * share], IMPROPER).value()
            told += 2.0 * high * outer * inner * 5.0 * value
    for best in found:
        assert abs(best.told - told) < error_of_told(best) < 2e-2
    lows, highs = [b.low for b in found], [b.high for b in found]
    assert lows == sorted(lows) and highs == sorted(highs, reverse=True)
    assert 0.6 < lows[-1] < highs[-1] < 1.1 * lows[-1]


def test_the_first_step_counts() -> None:
    shy = sj.theory.bayes_optimum(sj.users.StaysFirst(B), visits=3, pulls=30)
    assert shy.told > sj.theory.bayes_optimum(B, visits=3, pulls=30).told


# --- its parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["A", "B", "C", "opposite"])
def test_values_are_those_of_the_solver(problem: str) -> None:
    user = sj.paper.SETTINGS[problem].user
    for mean in (0.05, 0.5, 0.95):
        solved = sj.Problem([mean, mean / 2], user)
        finite = FiniteUser.of(user)
        values = finite.values(np.array([mean]), np.array([1 - mean]))
        assert values[:, 0] == pytest.approx([solved.value(s) for s in (0, 1)], rel=1e-12)
        costs = finite.mistake_costs(values)[:, 0]
        assert costs == pytest.approx([solved.mistake_cost(s) for s in (0, 1)], rel=1e-9)


def test_posteriors_are_beta_distributions() -> None:
    nodes = Nodes.fine_enough(303, 0.4)
    for a, b, n in ((1.0, 1.0, 300), (0.4, 2.7, 50), (3.0, 0.5, 0)):
        rows = posteriors(nodes, a, b, n)
        k = np.arange(n + 1)
        assert rows.chance @ nodes.x == pytest.approx((a + k) / (a + b + n), rel=1e-12)
        for row in (0, n // 2, n):
            there = incomplete_beta(a + row, b + n - row, nodes.x, nodes.y)
            np.testing.assert_allclose(rows.below[row], there, atol=1e-12)
    one, other = posteriors(nodes, 1.0, 1.0, 7), posteriors(nodes, 0.4, 2.7, 200)
    np.testing.assert_allclose(of_greatest([one, other], np.ones((1, nodes.x.size))), 1, atol=1e-12)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "given", "message"),
    [
        (sj.Ema(0.5, sj.users.LogLeave(c6=5)), {}, "it must have finitely many states"),
        (sj.ByArm([B, B]), {}, "leave alike after every arm"),
        (sj.TwoState(1, 0, 0, 0), {}, "prior = (1.0, 1.0) is not allowed: as a mean nears 1 visits "
         "of this user become so long that they are worth infinitely much on average, unless b is "
         "above 2"),
        (IMPROPER, {"arms": 3}, "it is better to show the arm of lower mean"),
        (B, {"arms": 4}, "arms = 4 is not allowed"),
        (B, {"prior": (0, 1)}, "prior = (0, 1) is not allowed: give a and b"),
        (B, {"prior": [(1, 1)] * 3}, "or a pair for each of 2 arms"),
        (B, {"visits": 0.5}, "visits = 0.5 is not allowed"),
        (B, {"visits": 2.5, "fixed": True}, "visits = 2.5 is not allowed"),
        (B, {"pulls": 0}, "pulls = 0 is not allowed"),
    ],
)  # fmt: skip
def test_mistakes(user: sj.User, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        sj.theory.bayes_optimum(user, **given)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_memory_is_known_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (
        {"pulls": 50},
        {"pulls": 9, "arms": 3, "plan": True},
        {"visits": 7, "fixed": True},
    ):
        made: list[int] = []
        empty = np.empty

        def counted(shape: Any, *more: Any, made: list[int] = made, empty: Any = empty) -> Any:
            array = empty(shape, *more)
            made.append(array.nbytes)
            return array

        with monkeypatch.context() as patched:
            patched.setattr(bayes.np, "empty", counted)
            sj.theory.bayes_optimum(B, **{"pulls": 20, **given})
        large = sorted(made)[-3:] if given.get("plan") else sorted(made)[-2:]
        assert sum(large) == sj.theory.bayes_memory(B, **{"pulls": 20, **given})
    monkeypatch.setattr(bayes, "available_memory", lambda: 10**6)
    with pytest.raises(sj.theory.TooLarge, match=r"it takes 0.0438 GB of memory, and 0.001 GB"):
        sj.theory.bayes_optimum(B, pulls=200)


def test_progress_and_ctrl_c() -> None:
    seen: list[float] = []
    sj.theory.bayes_optimum(B, pulls=12, progress=seen.append)
    assert len(seen) == 12 and seen == sorted(seen) and seen[-1] == 1.0

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sj.theory.bayes_optimum(B, pulls=12, progress=stop)

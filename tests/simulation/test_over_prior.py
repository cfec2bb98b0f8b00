"""The optimal policy played, and Bayes regret by simulation."""

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.simulation.over_prior import drawn, over_prior
from sojourn.theory.quadrature import Nodes
from sojourn.values.finite import FiniteUser

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
ERRORS = 4.5
"""Standard errors that a seeded estimate may be off by."""


@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
@pytest.mark.parametrize("user", [sj.users.StaysFirst(B), sj.TwoState(0.1, 0.05, 0.1, 0.6)])
def test_the_plan_is_played_as_it_was_meant(user: sj.User, compiled: Any, interpreted: Any) -> None:
    """On given means: first steps of their own, visits left, arms and rules to settle on."""
    plan = sj.theory.bayes_optimum(user, visits=4, fixed=True, pulls=12, plan=True).plan
    policy, problem = sj.policies.Planned.of(plan), sj.Problem([0.6, 0.3], user)
    result = sj.simulate(problem, [policy], visits=4, runs=4_000, seed=1)
    expected = 4 * problem.value() - plan.reward(problem.means).mean
    assert abs(result.regret.mean[0, -1] - expected) < ERRORS * result.regret.std_error[0, -1]
    (told,) = result.to_dict()["policies"]
    assert told["label"] == "Bayes optimum"
    assert told["parameters"] == {"arms": 2, "last": 12, "visits": 4}
    for run in range(20):
        rows = (play(problem, policy, 3, run, [1, 4]) for play in (compiled, interpreted))
        np.testing.assert_array_equal(*rows)


def test_it_knows_which_visit_and_which_step_it_is_at() -> None:
    plan = sj.theory.bayes_optimum(
        sj.users.StaysFirst(B), visits=3, fixed=True, pulls=6, plan=True
    ).plan
    policy = sj.policies.Planned.of(plan)
    memory = policy.memory(2)
    first, zero, one = (plan.visits.user.codes.index(code) for code in (-2.0, 0.0, 1.0))
    for left in (2, 1, 0, 0):  # after this visit; a fourth one is played like the third
        assert policy.place_of(memory, 1.0) == 3 * left + first
        policy.update(memory, 1.0, 0, 0.0, False, 0.0)
        assert policy.place_of(memory, 0.0) == 3 * left + zero
        assert policy.place_of(memory, 1.0) == 3 * left + one
        policy.update(memory, 0.0, 1, 0.0, True, 0.0)


def test_regret_over_the_prior() -> None:
    best = sj.theory.bayes_optimum(B, visits=4, pulls=60, plan=True)
    found = over_prior(
        best,
        [sj.policies.FixedArm(), sj.policies.Uniform(), sj.policies.Planned.of(best.plan)],
        runs=1_200,
    )
    error = found.control.std() / found.runs**0.5
    assert abs(found.control.mean() - best.high) < ERRORS * error
    # Always one arm: the values of visits with the best mean, and with any.
    nodes, user = Nodes.fine_enough(2, 1.0), FiniteUser.of(B)
    any_mean = user.start @ (user.values(nodes.x, nodes.y) @ nodes.weight)
    fixed = found.regret(0)
    error = (fixed.high - fixed.value) / 1.96
    assert abs(fixed.value - (best.told - 4 * any_mean)) < ERRORS * error
    # The control knows that the optimum is the optimum.
    assert found.multiple(2).value == pytest.approx(1.0, abs=1e-9)
    assert found.multiple(1).low > 1.2
    plain = over_prior(
        sj.theory.bayes_optimum(B, visits=4, pulls=60), sj.policies.Uniform(), runs=1_200
    )
    np.testing.assert_array_equal(plain.regrets[0], found.regrets[1])
    width = [r.high - r.low for r in (plain.regret(0), found.regret(1))]
    assert width[1] < width[0]


def test_runs_do_not_depend_on_their_number() -> None:
    best = sj.theory.bayes_optimum(B, prior=[(2, 1), (1, 3)], visits=5, pulls=5)
    few, many = drawn(best, 20, 7), drawn(best, 40, 7)
    assert [p.means for p in few[0]] == [p.means for p in many[0][:20]]
    np.testing.assert_array_equal(few[1], many[1][:20])
    assert 3.0 < np.mean(drawn(best, 500, 7)[1]) < 7.0
    exact = sj.theory.bayes_optimum(B, visits=5, fixed=True, pulls=5)
    assert set(drawn(exact, 5, 7)[1]) == {5}


def test_mistakes() -> None:
    best = sj.theory.bayes_optimum(B, visits=2, pulls=5)
    with pytest.raises(ValueError, match=r"plan = None is not allowed"):
        sj.policies.Planned.of(best.plan)
    with pytest.raises(ValueError, match=r"runs = 1 is not allowed"):
        over_prior(best, [sj.policies.Uniform()], runs=1)
    with pytest.raises(ValueError, match=r"which is not a policy"):
        over_prior(best, ["UCB"])  # type: ignore[list-item]
    plan = sj.theory.bayes_optimum(B, visits=2, pulls=5, plan=True).plan
    with pytest.raises(ValueError, match=r"this plan is for 2 arms, and there are 3"):
        sj.simulate(sj.Problem([0.1, 0.2, 0.3], B), [sj.policies.Planned.of(plan)])
    blind = sj.Chain(next=[[0, 1]] * 2, leave=[[0.8, 0.2], [0.2, 0.1]], seen=[0.5, 0.5])
    plan = sj.theory.bayes_optimum(blind, visits=2, pulls=5, plan=True).plan
    with pytest.raises(ValueError, match=r"states of the user apart that look alike"):
        sj.policies.Planned.of(plan)

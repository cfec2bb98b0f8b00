"""Many arms: what a step costs, overall and in the long run.

One run is made with more and more visits, twice as many each time, until it takes its budget of
seconds or all visits are done. The difference between the last two gives the cost of a step in
the second half of the visits: the long run, if the best arm has been found by then.
"""

from typing import Any

from sojourn import Problem
from sojourn.policies import Policy

from .plans import FAMILIES, Plan, candidates, leases
from .policies import run_policy
from .timing import seconds_and_steps

Row = dict[str, Any]
DOUBLINGS = 8
SLOW_SHARE = 0.5  # of the budget, for runs without leases
CLEAR = "clear"


def best_of(
    problem: Problem, policy: Policy, on: bool, visits: int, rounds: int, budget: float
) -> tuple[float, float]:
    """The least time of one run, and its steps; slow runs are not repeated."""
    seconds, steps = seconds_and_steps(lambda: run_policy(problem, policy, on, visits, 1))
    for _ in range(rounds - 1):
        if seconds < budget / 10.0:
            again, _ = seconds_and_steps(lambda: run_policy(problem, policy, on, visits, 1))
            seconds = min(seconds, again)
    return seconds, steps


def long_run(problem: Problem, policy: Policy, on: bool, plan: Plan) -> Row:
    """Visits made, nanoseconds a step over all of them and over the second half."""
    budget = plan.budget if on and leases(policy) else SLOW_SHARE * plan.budget
    run_policy(problem, policy, on, 1, 1)
    before, found = (0.0, 0.0), (0.0, 0.0)
    visits = 1
    for i in reversed(range(DOUBLINGS)):
        visits = max(1, plan.visits >> i)
        before, found = found, best_of(problem, policy, on, visits, plan.rounds, budget)
        if found[0] > budget / 3.0:  # the next one would take too long
            break
    second_half = 1e9 * (found[0] - before[0]) / max(1.0, found[1] - before[1])
    return {
        "visits": visits,
        "steps": found[1],
        "ns": 1e9 * found[0] / found[1],
        "long_run": max(0.0, second_half),
    }


def measure(plan: Plan) -> list[Row]:
    """A row for every policy, family of means and number of arms."""
    rows = []
    for family, make in FAMILIES.items():
        for arms in plan.arms:
            problem = make(arms)
            for name, policy in candidates(problem, plan.policies).items():
                if family == CLEAR and not leases(policy):
                    continue  # every step is decided: who is best changes nothing
                row: Row = {"family": family, "arms": arms, "policy": name}
                row["on"] = long_run(problem, policy, True, plan)
                row["off"] = long_run(problem, policy, False, plan) if leases(policy) else None
                rows.append(row)
    return rows

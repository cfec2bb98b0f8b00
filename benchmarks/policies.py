"""Policies against the bare loops, with leases and without."""

from functools import partial
from typing import Any

import numpy as np

from sojourn import Problem
from sojourn.engine.kernel import STEPS
from sojourn.paper import SETTINGS
from sojourn.policies import Policy
from sojourn.simulation.chunks import chunk

from .bare import Bare, bare_loops
from .plans import TARGETS, Plan, for_setting, leases
from .timing import Work, race

Row = dict[str, Any]
SEED = 1


def run_policy(
    problem: Problem, policy: Policy, with_leases: bool, visits: int, runs: int
) -> float:
    """Simulate; the steps made."""
    rows = chunk(problem, policy, SEED, 0, runs, np.array([visits]), leases=with_leases)
    return float(rows[:, -1, STEPS].sum())


def run_bare(problem: Problem, loop: Bare, visits: int, runs: int) -> float:
    """Play the one arm; the steps made."""
    return float(loop(problem, SEED, 0, runs, visits)[:, 2:].sum())


def enough_runs(problem: Problem, visits: int, steps: float) -> int:
    """Runs that make about so many steps."""
    return max(1, round(steps / (visits * problem.length.mean)))


def jobs_of(problem: Problem, policies: dict[str, Policy], plan: Plan) -> dict[str, Work]:
    """Everything to be timed on one problem, compiled."""
    fast = enough_runs(problem, plan.visits, plan.fast_steps)
    slow = enough_runs(problem, plan.visits, plan.slow_steps)
    jobs: dict[str, Work] = {}
    for name, all_forms in bare_loops(problem).items():
        for i, loop in enumerate(all_forms):
            run_bare(problem, loop, 1, 1)
            jobs[f"bare {name} {i}"] = partial(run_bare, problem, loop, plan.visits, fast)
    for name, policy in policies.items():
        for on in (True, False):
            run_policy(problem, policy, on, 1, 1)
            runs = fast if on and leases(policy) else slow
            jobs[f"{name} {on}"] = partial(run_policy, problem, policy, on, plan.visits, runs)
    return jobs


def measure_setting(setting: str, plan: Plan) -> tuple[Row, list[Row]]:
    """Nanoseconds a step on one setting: of the bare loops, and of every policy."""
    problem, policies = SETTINGS[setting], for_setting(setting, plan.policies)
    best = race(jobs_of(problem, policies, plan), plan.rounds, plan.patience)
    bare: Row = {"setting": setting, "plain": None, "C": None, "coasting": None}
    for name in bare_loops(problem):
        bare[name] = min(ns for job, ns in best.items() if job.startswith(f"bare {name} "))
    rows = []
    for name, policy in policies.items():
        on, off = best[f"{name} True"], best[f"{name} False"]
        rows.append(
            {
                "setting": setting,
                "policy": name,
                "leases": leases(policy),
                "on": on,
                "off": off,
                "to_plain": on / bare["plain"],
                "to_coasting": on / bare["coasting"],
                "off_to_plain": off / bare["plain"],
                "off_to_on": off / on,
            }
        )
    return bare, rows


def measure(plan: Plan) -> dict[str, list[Row]]:
    """The same on all settings, and the targets."""
    bare, rows = [], []
    for setting in plan.settings:
        loops, found = measure_setting(setting, plan)
        bare.append(loops)
        rows.extend(found)
    return {"bare": bare, "policies": rows, "targets": verdicts(rows)}


def verdicts(rows: list[Row]) -> list[Row]:
    """The targets that were measured, with the ratios found."""
    found = {(row["setting"], row["policy"]): row for row in rows}
    return [
        {
            "setting": setting,
            "policy": policy,
            "target": target,
            "to_plain": found[setting, policy]["to_plain"],
            "to_coasting": found[setting, policy]["to_coasting"],
            "reached_plain": found[setting, policy]["to_plain"] <= target,
            "reached_coasting": found[setting, policy]["to_coasting"] <= target,
        }
        for setting, target, names in TARGETS
        for policy in names
        if (setting, policy) in found
    ]

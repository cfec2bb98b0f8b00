"""How long one decision takes, by policy and number of arms: without store, network or rewards."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.live import Settings
from sojourn.live.learner import Learner
from sojourn.live.records import Arm
from sojourn.policies import KLULCB, ULCB, LearnedIMED, Policy, Thompson

from .plans import Plan
from .report import Table, number
from .timing import race

POLICIES: tuple[Policy, ...] = (LearnedIMED(), KLULCB(), ULCB(), Thompson())
PULLS = 50.0
"""Of an arm on average: enough to have some idea, not enough to be sure."""


def learner(policy: Policy, arms: int) -> Learner:
    """One that has seen each arm some times, with means from 0.9 down to 0.5."""
    rng = np.random.default_rng(1)
    made = Learner(Settings(policy=policy), seed=1)
    pulls = rng.integers(1, 2 * PULLS, arms).astype(float)
    successes = np.floor(pulls * np.linspace(0.9, 0.5, arms))
    counts = zip(pulls.tolist(), successes.tolist(), strict=True)
    made.forget([Arm(n, str(n), 0, *pair) for n, pair in enumerate(counts)])
    made.conclude()
    return made


def deciding(made: Learner, times: int) -> Callable[[], float]:
    """Choose so often, in turns to an engaged and to a disappointed user."""

    def work() -> float:
        for step in range(times):
            made.choose(float(step % 2), 2)
        return float(times)

    return work


def measure(plan: Plan) -> list[dict[str, Any]]:
    """Nanoseconds a decision."""
    rows = []
    for arms in plan.deciding_arms:
        jobs = {}
        for policy in POLICIES:
            made = learner(policy, arms)
            made.choose(1.0, 2)  # compiled now
            jobs[type(policy).__name__] = deciding(made, max(20, int(plan.decisions / arms)))
        rows.append({"arms": arms, "ns": race(jobs, plan.rounds, plan.patience)})
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    """As text."""
    return Table(
        "One decision, microseconds",
        ("arms", *(policy.label for policy in POLICIES)),
        [
            (
                f"{r['arms']:,}",
                *(number(r["ns"][type(policy).__name__] / 1e3) for policy in POLICIES),
            )
            for r in rows
        ],
        "Called from Python, as a server does for each step; every arm has been pulled. Thompson "
        "sampling also tells its propensities.",
    )

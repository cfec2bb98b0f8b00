"""Logs whose columns are what they are called, evaluated without an engine that reads them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sojourn.logs import Evaluation, Trajectories, evaluate
from sojourn.logs.evaluating.trajectories import in_order
from sojourn.policies import Policy


def in_arrays(log: dict[str, Any]) -> Trajectories:
    """The columns in order: a visit ends with a departure unless there is a column `left`."""
    visit = np.unique(log["visit"], return_inverse=True)[1]
    step = log.get("step", np.arange(visit.size))
    order = np.lexsort((step, visit))
    last = np.diff(visit[order], append=-1) != 0
    names = ("user", "arm", "reward", "left", "propensity", "state")
    rows = {"visit": visit, "user": visit, **{n: np.asarray(log[n]) for n in names if n in log}}
    ordered = {name: column[order] for name, column in rows.items()}
    return in_order({"left": last, **ordered})


def evaluated(log: dict[str, Any], policy: Policy, **options: Any) -> Evaluation:
    """As `evaluate` of the same log; a test says so."""
    return evaluate(in_arrays(log), policy, **options)


def resampled(log: dict[str, Any], visits: int, users: int = 400) -> Iterator[dict[str, Any]]:
    """Eighty logs of as many users, drawn from those of a log; each drawn user is a new one."""
    rows, rng = [np.flatnonzero(log["user"] == u) for u in range(users)], np.random.default_rng(0)
    for _ in range(80):
        drawn = rng.integers(users, size=users)
        picked = np.concatenate([rows[u] for u in drawn])
        again = {name: column[picked] for name, column in log.items()}
        copy = np.repeat(np.arange(users), [rows[u].size for u in drawn])
        yield again | {"user": copy, "visit": copy * visits + again["visit"]}

"""One log and ways to read it, for every engine."""

from typing import Any

import numpy as np
import pandas as pd
import psycopg

import sojourn as sj
from sojourn.logs.synthetic import synthetic_log

PROBLEM = sj.Problem([0.7, 0.5, 0.4], sj.TwoState(q00=0.3, q01=0.15, q10=0.2, q11=0.1))


def events() -> pd.DataFrame:
    """Text users, screens of two items, grades some of which are missing, rows in any order."""
    log = synthetic_log(PROBLEM, sj.policies.Uniform(), visits=250, users=50, seed=4, max_steps=15)
    rng = np.random.default_rng(0)
    size = log["visit"].size
    rows = {
        "person": np.char.add("user-", log["user"].astype(str)),
        "at": pd.Timestamp("2024-03-01")
        + pd.to_timedelta(log["visit"] * 9000 + log["step"] // 2 * 40.25, unit="s"),
        "seconds": rng.integers(1, 30, size),
        "place": log["step"],
        "session": log["visit"],
        "topic": np.char.add("t", log["arm"].astype(str)),
        "stars": np.where(
            rng.random(size) < 0.02, -1.0, log["reward"] * 3 + rng.integers(0, 3, size)
        ),
    }
    return pd.DataFrame(rows).iloc[rng.permutation(size)].reset_index(drop=True)


GRADED = {"arm": "topic", "reward": "stars", "threshold": 3, "unknown": [-1], "bad": "skip"}

WAYS: dict[str, dict[str, Any]] = {
    "visit": {**GRADED, "visit": "session", "user": "person", "step": "place"},
    "gap": {**GRADED, "user": "person", "time": "at", "step": "place", "gap": "30min"},
    "screens": {
        **GRADED,
        "user": "person",
        "time": "at",
        "step": "place",
        "gap": "30min",
        "ties": "half",
        "duration": "seconds",
    },
    "map": {
        **GRADED,
        "visit": "session",
        "step": "place",
        "arms": {"t0": "good", "t1": "rest", "t2": "rest"},
    },
}


def load(frame: pd.DataFrame, address: str) -> None:
    """Write the log to a table `events` of PostgreSQL."""
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE events (person text, at timestamp, seconds int, place int,"
            " session bigint, topic text, stars double precision)"
        )
        with cursor.copy("COPY events FROM STDIN") as copy:
            for row in frame.itertuples(index=False):
                copy.write_row(row)

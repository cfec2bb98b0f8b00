"""``python -m benchmarks.logs``: fit a synthetic log of ten million events, time and memory.

The log is written by DuckDB as a Parquet file, its rows in no order. Writing, every fit and the
query that a person would write instead (`hand_query`) run in processes of their own, so that the
peak of memory is that of reading and fitting alone. Times are medians of some runs in turn.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from .machine import cores, describe

VISIT_LENGTH = 10
ARMS = 20

WRITE = """
COPY (
    WITH visits AS (
        SELECT range AS visit, (hash(range) % {users})::BIGINT AS "user",
               1 + floor(-ln(1 - random()) * {length})::INT AS length
        FROM range({visits})
    ), steps AS (
        SELECT visit, "user", unnest(range(1, length + 1)) AS step FROM visits
    )
    SELECT "user", visit, step, 'arm ' || hash(visit, step) % {arms} AS arm,
           (random() < 0.6)::TINYINT AS reward, visit * 7200.0 + step * 20 AS time
    FROM steps ORDER BY hash(step, visit)
) TO '{path}' (FORMAT parquet)
"""

MEMORY = "500MB"
"""What the query by hand may keep in memory: as much as a fit (`logs.reading.source.MEMORY`)."""

BY_HAND = "by hand, no fit"

WAYS: dict[str, dict[str, Any]] = {
    BY_HAND: {},
    "visit ids and steps": {"visit": "visit", "user": "user", "step": "step"},
    "the same, no ema": {"visit": "visit", "user": "user", "step": "step", "ema": False},
    "user, time and gap": {"user": "user", "time": "time", "gap": "30min"},
}


def write(path: Path, events: int) -> None:
    """A log of about so many events: a million visits for ten million, half as many users."""
    import duckdb

    duckdb.execute("SELECT setseed(0.5)")
    visits = max(events // VISIT_LENGTH, 10)
    sizes = {"visits": visits, "users": max(visits // 2, 5), "length": VISIT_LENGTH, "arms": ARMS}
    duckdb.execute(WRITE.format(path=path, **sizes))


def once(path: Path, way: str) -> dict[str, Any]:
    """Fit in this process: seconds, processor seconds, and the peak of its memory in MB."""
    start = time.perf_counter()
    if way == BY_HAND:
        from .hand_query import run

        steps = run(path, MEMORY, path.parent)
    else:
        import sojourn as sj

        found = sj.fit(path, arm="arm", reward="reward", guess=False, **WAYS[way])
        steps = int(found.totals.steps.sum()) if found.totals is not None else 0
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0)
    return {
        "way": way,
        "events": steps,
        "seconds": seconds,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": peak,
    }


def measure(events: int, runs: int) -> list[dict[str, Any]]:
    """One row for each way to say what a visit is, medians of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        again = [sys.executable, "-m", "benchmarks.logs", "--path", str(path)]
        subprocess.run([*again, "--events", str(events)], check=True)
        rounds = [
            [json.loads(subprocess.check_output([*again, "--way", way])) for way in WAYS]
            for _ in range(runs)
        ]
    return [
        {k: v if isinstance(v, str) else median(r[k] for r in rows) for k, v in rows[0].items()}
        for rows in zip(*rounds, strict=True)
    ]


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.logs", description=__doc__)
    options.add_argument("--events", type=int, default=10_000_000)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.way is not None:
        print(json.dumps(once(given.path, given.way)))
        return
    if given.path is not None:
        write(given.path, given.events)
        return
    machine = describe(cores())
    print(f"{machine['cpu']}, {machine['cores']} cores")
    print(
        f"{'visits by':<22}{'events':>12}{'seconds':>9}{'processor s':>13}{'peak MB':>9}"
        f"{'times by hand':>20}"
    )
    rows = measure(given.events, given.runs)
    for row in rows:
        ratios = [row[k] / rows[0][k] for k in ("processor_seconds", "peak_mb")]
        print(
            f"{row['way']:<22}{row['events']:>12,.0f}{row['seconds']:>9.1f}"
            f"{row['processor_seconds']:>13.1f}{row['peak_mb']:>9.0f}"
            f"{ratios[0]:>12.2f}{ratios[1]:>8.2f}"
        )


if __name__ == "__main__":
    main()

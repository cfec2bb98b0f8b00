"""What a person would write for one log in DuckDB: steps, cells, arms, and both by user.

The yardstick of `python -m benchmarks.logs`: it knows its columns, checks nothing, and stops where
a fit begins.
"""

from pathlib import Path

STEPS = """
CREATE TEMP TABLE steps AS
SELECT "user", visit, arm, reward, lag(reward) OVER w AS previous,
       lead(step) OVER w IS NULL AS leaves
FROM '{path}' WINDOW w AS (PARTITION BY visit ORDER BY step)
"""

TOTALS = (
    "SELECT previous, reward, count(*), sum(leaves::INT) FROM steps GROUP BY ALL",
    "SELECT arm, count(*), sum(reward) FROM steps GROUP BY ALL",
    """SELECT previous, reward, sum(n * n), sum(n * k), sum(k * k) FROM (
        SELECT "user", previous, reward, count(*) AS n, sum(leaves::INT) AS k
        FROM steps GROUP BY ALL
    ) GROUP BY ALL""",
    """SELECT arm, sum(n * n), sum(n * s), sum(s * s) FROM (
        SELECT "user", arm, count(*) AS n, sum(reward) AS s FROM steps GROUP BY ALL
    ) GROUP BY ALL""",
)


def run(path: Path, memory: str, spill: Path) -> int:
    """The number of steps, after all queries."""
    import duckdb

    with duckdb.connect(config={"memory_limit": memory, "temp_directory": str(spill)}) as engine:
        engine.execute(STEPS.format(path=path))
        first, *_ = [engine.execute(query).fetchall() for query in TOTALS]
    return sum(row[2] for row in first)

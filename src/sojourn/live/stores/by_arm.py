"""The third version of the tables: who left after which arm.

Until then departures were counted for all arms together (`gone`). Events say after which arm they
were. Those of visits that were archived are not in the store: what is known of them stays together,
as of an arm that is none (`records.NO_ARM`), so that the sums over arms are as they were.
"""

from typing import Any

from ..records import NO_ARM
from .base import Run, plain_settings

STAYED = "next.step = step.step + 1 AND next.kind = 'decide'"
LEFT = "next.step = step.step AND next.kind = 'leave'"


def count_by_arm(run: Run) -> None:
    """Count steps and departures by [arm, bin, level of the reward]."""
    for name, text in run("SELECT name, settings FROM sojourn_experiment"):
        settings = plain_settings(text)
        if isinstance(settings.get("bins"), int):  # else it cannot be served
            _count(run, name, settings)


def _count(run: Run, name: str, settings: dict[str, Any]) -> None:
    bins, threshold = settings["bins"], float(settings.get("reward_threshold") or 0.0)
    stayed, left = (_steps(known, bins, threshold) for known in (STAYED, LEFT))
    for table in ("sojourn_counter", "sojourn_archived"):
        run(f"DELETE FROM {table} WHERE experiment = ? AND what IN ('seen', 'left')", (name,))
    for what, steps in (("seen", (stayed, left)), ("left", (left,))):
        run(
            f"INSERT INTO sojourn_counter SELECT experiment, writer, '{what}', arm, bin, level, "
            f"COUNT(*) FROM ({' UNION ALL '.join(steps)}) AS steps GROUP BY 1, 2, 3, 4, 5, 6",
            (name,) * len(steps),
        )
    for what, of in (("seen", "moves"), ("left", "gone")):
        run(
            f"INSERT INTO sojourn_archived SELECT experiment, '{what}', {NO_ARM}, i, j, SUM(n) "
            f"FROM sojourn_archived WHERE experiment = ? AND what = '{of}' GROUP BY 1, 2, 3, 4, 5",
            (name,),
        )
    run(
        "INSERT INTO sojourn_counter SELECT experiment, '', what, i, j, k, n FROM sojourn_archived "
        "WHERE experiment = ? AND what IN ('seen', 'left')",
        (name,),
    )
    for table in ("sojourn_counter", "sojourn_archived"):
        run(f"DELETE FROM {table} WHERE experiment = ? AND what = 'gone'", (name,))


def _steps(known: str, bins: int, threshold: float) -> str:
    """SQL for the resolved steps of an experiment after which such an event is known."""
    place = f"step.state * {bins}"
    return (
        "SELECT step.experiment AS experiment, next.writer AS writer, step.arm AS arm, "
        f"CASE WHEN {place} >= {bins} THEN {bins - 1} ELSE FLOOR({place}) END AS bin, "
        f"CASE WHEN step.reward > 0 AND step.reward >= {threshold!r} THEN 1 ELSE 0 END AS level "
        "FROM sojourn_event AS step JOIN sojourn_event AS next "
        f"ON next.experiment = step.experiment AND next.visit = step.visit AND {known} "
        "WHERE step.experiment = ? AND step.kind = 'resolve'"
    )

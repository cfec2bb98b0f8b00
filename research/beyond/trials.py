"""What the study simulates, as data: which problem, who plays, how many visits, how many runs."""

from collections.abc import Mapping

from sojourn.paper.trials import VISITS, Trial

from .problems import PROBLEMS
from .rosters import ROSTERS

NANOSECONDS, SLOW, TASTES = 15.0, 300.0, 200.0
"""Of a step, approximately: index policies, those without leases, users with tastes (no leases)."""


def trial(group: str, problem: str, roster: str, visits: int, runs: int, quick: int = 0) -> Trial:
    """A roster on one problem; `runs` and `quick` are numbers of runs (0: left out)."""
    slow = SLOW if roster in ("sampling", "published") else NANOSECONDS
    return Trial(
        f"{problem} ({roster})",
        problem,
        PROBLEMS[group][problem],
        ROSTERS[roster],
        quick,
        runs,
        visits=visits,
        checkpoints=(visits,),
        group=group,
        roster=roster,
        nanoseconds=TASTES if problem.startswith(("rewards shift", "tastes")) else slow,
    )


RUNS: Mapping[str, tuple[int, int]] = {
    "A": (512, 16),
    "D": (512, 16),
    "B": (1024, 128),
    "C": (1024, 128),
    "ema-1000": (256, 8),
    "ema-100": (256, 8),
    "ema-low": (1024, 32),
}
"""Runs on the paper's settings, full and quick: their visits last from 3 to 110 steps."""


def _paper() -> list[Trial]:
    return [
        trial("paper", name, "ema" if name.startswith("ema") else "main", VISITS, *RUNS[name])
        for name in PROBLEMS["paper"]
    ]


AMOUNTS: Mapping[str, tuple[int, int, int]] = {
    "opposite": (VISITS, 1024, 32),
    "near-neutral": (VISITS, 1024, 32),
    "logs": (VISITS, 512, 16),
    "violations": (5_000, 512, 16),
}
"""Visits and runs, full and quick, of the other groups."""


def _others() -> list[Trial]:
    random = enumerate(PROBLEMS["random"])
    return [
        *(trial(g, name, "main", *many) for g, many in AMOUNTS.items() for name in PROBLEMS[g]),
        *(trial("random", name, "main", 2_000, 40, 8 if i < 20 else 0) for i, name in random),
    ]


HEADLINES = (
    ("paper", "A"),
    ("paper", "B"),
    ("paper", "C"),
    ("paper", "D"),
    ("opposite", "opposite"),
)

SAMPLED: Mapping[tuple[str, str], tuple[int, int]] = {
    ("paper", "A"): (2_000, 128),
    ("paper", "B"): (5_000, 1024),
    ("paper", "C"): (5_000, 512),
    ("paper", "D"): (2_000, 128),
    ("opposite", "opposite"): (5_000, 1024),
    ("near-neutral", "neutral"): (5_000, 256),
    ("logs", "OULAD"): (5_000, 64),
    ("logs", "RoboMission"): (5_000, 128),
}
"""Visits and runs of rosters without leases, where a step takes a hundred times as long."""

CAUTIOUS = {
    "caution": (("paper", "A"), ("paper", "B"), ("paper", "C"), ("paper", "D")),
    "caution, opposite": (
        ("opposite", "opposite"),
        ("opposite", "disappointed"),
        ("opposite", "disappointed, long visits"),
        ("logs", "RoboMission"),
    ),
}
CONFIDENT = (
    ("paper", "A"), ("paper", "B"), ("paper", "C"), ("opposite", "opposite"),
    ("opposite", "disappointed, long visits"), ("near-neutral", "neutral"),
    ("near-neutral", "nearly neutral, 1.06"), ("logs", "OULAD"), ("logs", "RoboMission"),
)  # fmt: skip


def _open_choices() -> list[Trial]:
    full = {name: RUNS[name][0] for name in ("A", "B", "C", "D")}
    return [
        *(
            trial(group, name, roster, visits, runs, 8)
            for roster in ("sampling", "published")
            for (group, name), (visits, runs) in SAMPLED.items()
        ),
        *(
            trial(group, name, "headline", VISITS, full.get(name, 1024), 16)
            for group, name in HEADLINES
        ),
        *(
            trial(group, name, roster, VISITS, full.get(name, 1024), 16)
            for roster, places in CAUTIOUS.items()
            for group, name in places
        ),
        *(
            trial(group, name, "confidence", VISITS, full.get(name, 1024) // 2, 8)
            for group, name in CONFIDENT
        ),
    ]


TRIALS: tuple[Trial, ...] = (*_paper(), *_others(), *_open_choices())

"""What the study simulates, as data: which policies on which problem, how many visits and runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.paper.trials import GENERAL, VISITS, Roster, Trial, by_label
from sojourn.policies import (
    IMED,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    EngagementIndex,
    ExactIndex,
    GatedIMED,
    GatedThompson,
    KLUCBSwitch,
    LearnedAdaUCB,
    LearnedIMED,
    LearnedKLUCB,
    LearnedThompson,
    LearnedUCB,
    PricedIndex,
    Thompson,
)
from sojourn.problem import Problem
from sojourn.simulation import simulate

from ...outcomes import BASELINE as BASELINE
from ...problems import PLAYS, PROBLEMS


@dataclass(frozen=True)
class Family:
    """An explorer: plain, with optimism fixed for a case, and with learned optimism, by label."""

    plain: str
    fixed: tuple[str, ...]
    learned: str


GATED_KL = (KLUCB(), KLULCB(), KLULCB().opposite())
GATED_IMED = (GatedIMED(), GatedIMED().opposite())
GATED_THOMPSON = (GatedThompson(), GatedThompson().opposite())
BOUND_THOMPSON = LearnedThompson(floor=-1)

PAPER = by_label(UCB(), ULCB(), ULCB().opposite(), *GATED_KL)
"""What the paper compares on users with two states; with a moving average it is `GENERAL`."""

ENGAGEMENT = EngagementIndex.title
DEFAULT: Roster = {ENGAGEMENT: EngagementIndex.for_problem}

BEYOND: Roster = {
    **by_label(
        IMED(),
        *GATED_IMED,
        LearnedUCB(),
        LearnedKLUCB(),
        LearnedIMED(floor=-1),
        LearnedIMED(),
        PricedIndex(),
    ),
    **DEFAULT,
}
PUBLISHED: Roster = {
    **by_label(KLUCB(), LearnedAdaUCB(), KLUCBSwitch(), LearnedIMED(), PricedIndex()), **DEFAULT,
}  # fmt: skip
"""Beside them, policies of other papers that need not be told the case."""
SAMPLING = by_label(*GATED_KL, Thompson(), *GATED_THOMPSON, BOUND_THOMPSON)
CAUTION = by_label(KLULCB(), KLULCB(c0=0), GatedIMED(), GatedIMED(c0=0))
CAUTION_OPPOSITE = by_label(
    KLULCB().opposite(), KLULCB(c0=0).opposite(), GatedIMED().opposite(), GatedIMED(c0=0).opposite()
)
"""Where not to explore, the lower confidence bound or the empirical mean: pairs of policies."""


def exact_index(problem: Problem) -> ExactIndex:
    """The exact index, told how people leave and how many visits there are."""
    return ExactIndex(problem.user, visits=VISITS)


HEADLINE: Roster = {
    **by_label(*GATED_KL, LearnedIMED(), PricedIndex()), **DEFAULT, "Exact index": exact_index,
}  # fmt: skip
"""The paper's best, ours, and what can be had if all but the means is known."""

CONFIDENCE: Roster = {
    "IMED": IMED(),
    **{
        f"{LearnedIMED(floor=floor).label}, confidence={z:g}": LearnedIMED(
            confidence=z, floor=floor
        )
        for floor in (-1, 0)
        for z in (1.0, 1.5, 2.0, 3.0)
    },
}

ROSTERS: Mapping[str, Roster] = {
    "main": {**PAPER, **BEYOND},
    "ema": {**GENERAL, **BEYOND},
    "headline": HEADLINE,
    "published": PUBLISHED,
    "sampling": SAMPLING,
    "caution": CAUTION,
    "caution, opposite": CAUTION_OPPOSITE,
    "confidence": CONFIDENCE,
}

BOUND, LEARNED = LearnedIMED(floor=-1).label, LearnedIMED().label
"""Learned optimism that plays the lower bound where mistakes are costly, or the empirical mean."""

PRICED = PricedIndex().label

OURS = tuple(BEYOND)
PAPERS = tuple({**PAPER, **GENERAL})
"""The labels of the paper's policies: the best of them in hindsight is a yardstick."""

FAMILIES = (
    Family("UCB", ("ULCB", "ULCB, opposite", "DISC-ULCB", "CONT-ULCB"), "Learned UCB"),
    Family(
        "KL-UCB", ("KL-ULCB", "KL-ULCB, opposite", "DISC-KL-ULCB", "CONT-KL-ULCB"), "Learned KL-UCB"
    ),
    *(Family("IMED", tuple(by_label(*GATED_IMED)), learned) for learned in (BOUND, LEARNED)),
    Family("Thompson", tuple(by_label(*GATED_THOMPSON)), BOUND_THOMPSON.label),
)
"""Every explorer once; a roster has those of the fixed cases that go with its users."""

NANOSECONDS, SLOW, TASTES = 15.0, 300.0, 200.0
"""Per step, approximately: index policies, those without leases, users with tastes (no leases)."""


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
        nanoseconds=TASTES if problem in PLAYS else slow,
        play=PLAYS.get(problem, simulate),
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
    "by state": (5_000, 256, 16),
    "catalogues": (2_000, 16, 2),
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

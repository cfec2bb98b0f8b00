"""What is simulated: every problem is fresh, and so is every seed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sojourn.paper.trials import Roster, Trial, by_label
from sojourn.policies import (
    IMED,
    KLUCB,
    EmpiricalIMED,
    EngagementIndex,
    LearnedIMED,
    PricedIndex,
    Thompson,
    VisitIMED,
)
from sojourn.problem import Problem
from sojourn.problem_files import SETTINGS
from sojourn.users import Chain, StaysFirst, TwoState

from ...problems import NORMAL_Q, OPPOSITE_Q, drawn, random_problems
from ...runs import RunsTrial
from ...worlds import CROSSING, SAME_ORDER, by_state, catalogue, random_by_state, random_graded
from ..by_arm import clickbait, random_by_arm
from ..horizon.trials import PROBLEMS as FIVE
from .live import AddedTrial, TimedTrial, deciding, simulating, ten_thousand

RANDOM_SEED, BY_ARM_SEED, CATALOGUE_SEED = 28_001, 28_002, 28_003
BY_STATE_SEED, GRADED_SEED = 28_004, 28_005
RUN_SEED = 2_801
"""Of the runs; `--seed` is added. Seeds used for tuning: 9001, 9002, 9012, 20261 to 20265."""

PLAIN, BY_ARM, DRAWS = 200, 60, 6
"""Problems drawn at random: plain, by arm, and of the other kinds."""

TAIL_VISITS, TAIL_RUNS = 2_000, 10_000

OFF, ON = "Engagement index", "Engagement index, account on"
LEARNED, KL, PLAIN_IMED, VISIT = (
    policy.label for policy in (LearnedIMED(), KLUCB(), IMED(), VisitIMED())
)
EMPIRICAL = EmpiricalIMED().label

DEFAULT: Roster = {OFF: EngagementIndex.for_problem}
BOTH: Roster = {**DEFAULT, ON: partial(EngagementIndex.for_problem, departures=True)}
"""As it is made for a problem; and with the account of departures that is on where nobody knows."""

INFLATIONS = (0.0, 0.2, 0.3, 0.5)
INFLATED = {f"{OFF}, inflation {b:g}": b for b in INFLATIONS}
OTHERS = by_label(IMED(), PricedIndex(), Thompson())

AGAINST: Roster = {**by_label(LearnedIMED()), **BOTH}
TAIL: Roster = {**by_label(LearnedIMED(), KLUCB()), **BOTH}
FRONTIER: Roster = {
    **TAIL,
    **{x: partial(EngagementIndex.for_problem, inflation=b) for x, b in INFLATED.items()},
    **OTHERS,
}

TAILS, STATES_SAME, STATES_CROSSING = "tails", "same order", "best arm by state"
ADDED, DECIDING, SIMULATING = "added", "decision", "simulation"
DISTRIBUTIONS = ((2.0, 5.0), (1.0, 20.0), (8.0, 2.0))
CATALOGUES = tuple(f"Beta({a:g}, {b:g})" for a, b in DISTRIBUTIONS)


class Fresh(Trial):
    """A trial whose seed is one of this study."""

    def run(self, *, quick: bool, **how: Any) -> Any:
        return super().run(quick=quick, **{**how, "seed": RUN_SEED + how["seed"]})


@dataclass(frozen=True)
class FreshRuns(Fresh, RunsTrial):
    """Single runs."""


@dataclass(frozen=True)
class FreshAdded(Fresh, AddedTrial):
    """Arms that are added."""


def _trial(
    group: str, problem: str, make: Callable[[], Problem], policies: Roster, visits: int,
    runs: int, quick: int, *, early: tuple[int, ...] = (), nanoseconds: float = 60.0,
) -> Trial:  # fmt: skip
    """The last quarter of the visits is looked at for itself."""
    return FreshRuns(
        f"{problem} ({group})", problem, make, policies, quick, runs, visits=visits,
        checkpoints=(*early, visits * 3 // 4, visits), group=group, roster=group,
        nanoseconds=nanoseconds,
    )  # fmt: skip


def _setting(name: str) -> Callable[[], Problem]:
    return partial(SETTINGS.__getitem__, name)


def ten_arms() -> Problem:
    """Ten arms with means from 0.75 to 0.3, in the normal case."""
    return Problem([0.75 - 0.05 * i for i in range(10)], TwoState(*NORMAL_Q))


NAMED: Mapping[str, Callable[[], Problem]] = {
    **{name: _setting(name) for name in ("A", "B", "C", "D", "opposite")},
    "five arms": FIVE["five arms"],
    "ten arms": ten_arms,
}


def _plain() -> list[Trial]:
    draw = partial(random_problems, PLAIN, RANDOM_SEED)
    return [
        *(_trial("plain", name, make, AGAINST, 2_000, 400, 8) for name, make in NAMED.items()),
        *(
            _trial("plain", f"random {i}", partial(drawn, draw, i), AGAINST, 2_000, 24,
                   4 if i < DRAWS else 0)
            for i in range(PLAIN)
        ),
    ]  # fmt: skip


def _tails() -> list[Trial]:
    early = {"A": (200, 500, 1_000)}
    return [
        _trial(
            TAILS, name, NAMED[name], FRONTIER if name in FRONTIER_PROBLEMS else TAIL,
            TAIL_VISITS, TAIL_RUNS, 200, early=early.get(name, (200,)),
        )
        for name in ("A", "C", *FRONTIER_PROBLEMS)
    ]  # fmt: skip


FRONTIER_PROBLEMS = ("B", "opposite", "five arms")


def _by_arm() -> list[Trial]:
    roster: Roster = {**by_label(VisitIMED()), **DEFAULT, **by_label(LearnedIMED())}
    clicks = {
        "clickbait": partial(clickbait, 0.8, 2.0),
        "mild clickbait": partial(clickbait, 0.65, 0.5),
    }
    draw = partial(random_by_arm, BY_ARM, BY_ARM_SEED)
    return [
        *(_trial("clickbait", name, make, roster, 4_000, 600, 8) for name, make in clicks.items()),
        *(
            _trial("by arm", f"by arm {i}", partial(drawn, draw, i), roster, 2_000, 16,
                   4 if i < DRAWS else 0, nanoseconds=400.0)
            for i in range(BY_ARM)
        ),
    ]  # fmt: skip


def _by_state() -> list[Trial]:
    found = []
    for group, crossing, means in (
        (STATES_SAME, False, SAME_ORDER),
        (STATES_CROSSING, True, CROSSING),
    ):
        draw = partial(random_by_state, crossing, DRAWS, BY_STATE_SEED)
        problems: dict[str, Callable[[], Problem]] = {
            f"{group}, opposite": partial(by_state, means, OPPOSITE_Q),
            f"{group}, normal": partial(by_state, means, NORMAL_Q),
            **{f"{group} {i}": partial(drawn, draw, i) for i in range(DRAWS)},
        }
        found += [
            _trial(group, name, make, TAIL, 2_000, 400, 4, nanoseconds=300.0)
            for name, make in problems.items()
        ]
    return found


def _graded() -> list[Trial]:
    roster: Roster = {EMPIRICAL: EmpiricalIMED.for_problem, **DEFAULT}
    draw = partial(random_graded, 2 * DRAWS, GRADED_SEED)
    return [
        _trial("graded", f"graded {i}", partial(drawn, draw, i), roster, 2_000, 60, 4,
               nanoseconds=300.0)
        for i in range(2 * DRAWS)
    ]  # fmt: skip


CATALOGUE_DRAWS = 4


def _catalogues() -> list[Trial]:
    roster: Roster = {**by_label(IMED()), **DEFAULT, **by_label(Thompson())}
    return [
        _trial(
            f"500 arms, {name}", f"500 arms, {name}, {i}",
            partial(catalogue, 500, *given, CATALOGUE_SEED + i), roster, 2_000, 8, 2,
            nanoseconds=5_000.0,
        )
        for given, name in zip(DISTRIBUTIONS, CATALOGUES, strict=True)
        for i in range(CATALOGUE_DRAWS)
    ]  # fmt: skip


def _added() -> list[Trial]:
    roster: Roster = {**by_label(IMED()), **BOTH}
    return [
        FreshAdded(
            f"{old} arms and 500 of {name}, {i}", f"{old} arms and 500, {name}, {i}",
            partial(catalogue, old + 500, *given, CATALOGUE_SEED + 100 + i), roster, 2, 8,
            visits=2_000, group=ADDED, roster=ADDED, nanoseconds=5_000.0, old=old, total=old + 500,
        )
        for old in (10, 500)
        for given, name in zip(DISTRIBUTIONS, CATALOGUES, strict=True)
        for i in range(CATALOGUE_DRAWS)
    ]  # fmt: skip


_CHAIN = Chain(next=[[0, 1], [0, 2], [1, 2]], leave=[[0.6, 0.1], [0.3, 0.05], [0.1, 0.04]])
_RANDOM_CHAIN = Chain(
    next=[[[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [[0.5, 0.4, 0.1], [0.1, 0.4, 0.5]],
          [[0.3, 0.4, 0.3], [0.0, 0.2, 0.8]]],
    leave=[[0.3, 0.25], [0.2, 0.1], [0.15, 0.03]],
)  # fmt: skip


def stays_first(name: str) -> Problem:
    """A setting whose users never leave at the first step."""
    return Problem(SETTINGS[name].means, StaysFirst(SETTINGS[name].user))


OTHER_USERS: Mapping[str, tuple[Callable[[], Problem], int]] = {
    "moving average, ema-1000": (_setting("ema-1000"), 40),
    "moving average, ema-100": (_setting("ema-100"), 40),
    "moving average, ema-low": (_setting("ema-low"), 100),
    "chain of three states": (partial(Problem, [0.7, 0.6, 0.5], _CHAIN), 400),
    "chain with chances": (partial(Problem, [0.7, 0.6, 0.5], _RANDOM_CHAIN), 400),
    **{f"stays first, {name}": (partial(stays_first, name), 400) for name in ("B", "opposite")},
}
"""Problems, and runs."""

BINS = 16


def _other_users() -> list[Trial]:
    fine: Roster = {
        LEARNED: LearnedIMED(bins=BINS),
        OFF: EngagementIndex(bins=BINS, departures=False),
        ON: EngagementIndex(bins=BINS),
    }
    return [
        _trial("other users", f"{name}{words}", make, roster, 2_000, runs, 4, nanoseconds=200.0)
        for words, roster in (("", AGAINST), (f", {BINS} bins", fine))
        for name, (make, runs) in OTHER_USERS.items()
        if not words or name.startswith("moving")
    ]


FEW, MANY = 10, 10_000


def _times() -> list[Trial]:
    roster: Roster = {**by_label(VisitIMED()), **BOTH}
    found: list[Trial] = [
        TimedTrial(
            f"decision among {arms:,}", f"{arms:,} arms", make, roster, 1, 9,
            group=DECIDING, roster=DECIDING, seconds=20.0, jobs=deciding(arms, decisions),
        )
        for arms, make, decisions in (
            (FEW, partial(catalogue, FEW, 2, 5, 0), 5_000), (MANY, ten_thousand, 50),
        )
    ]  # fmt: skip
    found += [
        TimedTrial(
            f"simulation of {name}",
            name,
            _setting(name),
            {**by_label(IMED()), **BOTH},
            1,
            7,
            group=SIMULATING,
            roster=SIMULATING,
            seconds=10.0,
            jobs=simulating(visits),
        )
        for name, visits in (("A", 2_000), ("B", 5_000), ("C", 5_000))
    ]
    return found


TRIALS: tuple[Trial, ...] = (
    *_plain(), *_tails(), *_by_arm(), *_by_state(), *_graded(), *_catalogues(), *_added(),
    *_other_users(), *_times(),
)  # fmt: skip

"""The study of arms that raise the exit rate: leaving that depends on the arm."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.paper.trials import Roster, Trial, by_label
from sojourn.paper.verdicts import Measure, Measured
from sojourn.policies import (
    IMED,
    KLUCB,
    EngagementIndex,
    LearnedIMED,
    QLearning,
    Uniform,
    VisitIMED,
    VisitThompson,
)
from sojourn.problem import Problem
from sojourn.problem_files import SETTINGS
from sojourn.stats.intervals import Interval, share
from sojourn.users import ByArm, TwoState
from sojourn.users.wrappers import shifted

from .. import problems
from ..outcomes import Outcome, Outcomes, PathOutcome, spread
from ..problems import (
    ASSISTMENTS_2015,
    LONGEST,
    NORMAL_Q,
    SHORTEST,
    draw_problem,
    drawn,
    fitted,
    random_problems,
)
from ..study import (
    NOT_RUN,
    Group,
    Ratio,
    TypicalRatio,
    claim,
    regrets,
    short,
    study,
    table,
    trials_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Findings = Outcomes[PathOutcome]

CLICKBAIT_Q = (0.15, 0.08, 0.12, 0.06)


def clickbait(best: float, odds: float) -> Problem:
    """Three arms, of which the first has the highest mean and adds log odds of leaving.

    >>> [round(clickbait(*given).value(), 2) for given in ((0.8, 2.0), (0.65, 0.5))]
    [6.34, 6.34]
    """
    user = ByArm.odds(TwoState(*CLICKBAIT_Q, start=0), [odds, 0.0, 0.0])
    return Problem([best, 0.6, 0.4], user)


DRAWS = 200
SPREAD = (0.1, 2.0)


@cache
def random_by_arm(draws: int = DRAWS, seed: int = 14) -> tuple[Problem, ...]:
    """Problems drawn from the prior that `templates/priors.md` states.

    >>> problem = random_by_arm(1)[0]
    >>> problem.by_arm, problem == random_by_arm(1)[0]
    (True, True)
    """
    rng, found = np.random.default_rng(seed), list[Problem]()
    while len(found) < draws:
        common = draw_problem(rng, assumption_1=len(found) % 2 == 0)
        assert isinstance(common.user, TwoState)
        tau = float(np.exp(rng.uniform(*np.log(SPREAD))))
        added = tau * rng.standard_normal((common.arms, 1))
        added = added + tau / 2.0 * rng.standard_normal((common.arms, 4))
        q = list(common.user.settings().values())
        users = tuple(TwoState(*map(shifted, q, row)) for row in added.tolist())
        problem = Problem(common.means, ByArm(users))
        if SHORTEST <= problem.length.mean <= LONGEST:
            found.append(problem)
    return tuple(found)


def _ten_arms() -> Problem:
    return Problem(np.linspace(0.75, 0.3, 10).tolist(), TwoState(*NORMAL_Q))


ROSTER = by_label(
    Uniform(), KLUCB(), IMED(), LearnedIMED(), QLearning(), VisitThompson(), VisitIMED(),
    EngagementIndex(),
)  # fmt: skip
IMPROPER: Roster = {
    **ROSTER,
    **by_label(
        *(policy(follow_improper=True) for policy in (VisitThompson, VisitIMED, EngagementIndex))
    ),
}
"""Where the best arm is not optimal: with those that follow the sign of D, too."""

OURS, LEARNED, RANDOM = VisitIMED().label, LearnedIMED().label, Uniform().label
FOLLOWING = VisitIMED(follow_improper=True).label

FIRST = 20
"""Problems of a prior that a quick study has."""


def _group(
    name: str,
    made: Mapping[str, Callable[[], Problem]],
    checkpoints: tuple[int, ...],
    runs: tuple[int, int],
    policies: Roster = ROSTER,
    first: int | None = None,
) -> Group:
    return Group(name, made, policies, checkpoints, runs, first, 80.0, "main")


GROUPS = (
    _group(
        "clickbait",
        {
            "clickbait": partial(clickbait, 0.8, 2.0),
            "mild clickbait": partial(clickbait, 0.65, 0.5),
        },
        (1_000, 4_000),
        (32, 256),
    ),
    _group(
        "paper",
        {name: partial(SETTINGS.__getitem__, name) for name in ("A", "B", "C", "D", "opposite")},
        (1_000, 4_000),
        (16, 128),
    ),
    _group(
        "improper",
        {
            "best arm is not optimal": partial(
                Problem, [0.8, 0.7, 0.6], TwoState(0.1, 0.05, 0.1, 0.6)
            ),
            "ASSISTments 2015": partial(fitted, *ASSISTMENTS_2015),
        },
        (1_000, 5_000),
        (16, 128),
        IMPROPER,
    ),
    _group("early", {"ten arms": _ten_arms}, (10, 20, 50, 100, 200), (200, 2_000)),
    *(
        _group(
            name,
            {f"{name} {i}": partial(drawn, draw, i) for i in range(DRAWS)},
            (2_000,),
            (4, 12),
            first=FIRST,
        )
        for name, draw in (("random", random_problems), ("by arm", random_by_arm))
    ),
)
TRIALS: tuple[Trial, ...] = trials_of(*GROUPS)

SHARE, NEAR, TYPICAL, SELDOM = 0.9, 1.25, 1.15, 0.05


def worse_than(outcomes: Sequence[Outcome], label: str, other: str) -> Interval:
    """The share of problems on which a policy has significantly more regret, and Wilson's."""
    found = share(sum(o.ratio(label, other).low > 1.0 for o in outcomes), len(outcomes))
    assert found is not None
    return found


@dataclass(frozen=True)
class Late(Measure[Findings]):
    """Reward after the first checkpoint, as a share of the optimum."""

    def measure(self, findings: Findings) -> list[Measured]:
        found = findings.of("clickbait", OURS)
        return [Measured(o.trial.problem, o.late_share(OURS), SHARE, above=True) for o in found]


@dataclass(frozen=True)
class Seldom(Measure[Findings]):
    """On how many random problems it has significantly more regret than choosing at random."""

    def measure(self, findings: Findings) -> list[Measured]:
        there = findings.of("by arm", OURS, RANDOM)
        if not there:
            return []
        worse = worse_than(there, OURS, RANDOM)
        return [Measured(f"{len(there)} problems", worse, SELDOM, above=False)]


CLAIMS = (
    claim(
        f"{OURS} earns at least {SHARE:.0%} of the optimal reward per visit from visit 1,000 on, "
        "with clickbait and with its mild form.",
        Late(),
    ),
    claim(
        f"On A, B, C, D and opposite its regret is at most {NEAR} of {LEARNED}'s.",
        Ratio("paper", OURS, LEARNED, NEAR),
    ),
    claim(
        f"Over the random problems in which leaving does not depend on the arm it is at most "
        f"{TYPICAL} of {LEARNED}'s in geometric mean.",
        TypicalRatio("random", OURS, LEARNED, TYPICAL),
    ),
    claim(
        f"Over those in which it does, it is below {LEARNED}'s in geometric mean.",
        TypicalRatio("by arm", OURS, LEARNED, 1.0),
    ),
    claim(
        f"There it is significantly above that of choosing at random on at most {SELDOM:.0%} of "
        "problems.",
        Seldom(),
    ),
    claim(
        f"Where the best arm is not optimal (D < 0), with `follow_improper` it is at most a tenth "
        f"of {LEARNED}'s.",
        Ratio("improper", FOLLOWING, LEARNED, 0.1),
    ),
)


def tables(findings: Findings) -> dict[str, Any]:
    """The tables of the page, one for each group."""
    return {
        "learned": LEARNED,
        "clickbait": _clickbait(findings.of("clickbait", OURS)),
        "paper": _multiples(findings.of("paper", OURS), LEARNED),
        "improper": regrets(findings.of("improper", OURS)),
        "early": _early(findings.of("early", OURS)),
        "draws": DRAWS,
        "problems": problems,
        "spread": SPREAD,
        "random": _compared(findings.of("random", OURS)),
        "by_arm": _compared(findings.of("by arm", OURS)),
    }


def _clickbait(outcomes: Sequence[PathOutcome]) -> str:
    heads, rows = ["policy"], []
    for o in outcomes:
        heads += [f"{o.trial.problem}: regret", "share of the optimum from visit 1,000 on"]
    for label in outcomes[0].labels if outcomes else ():
        row = [label]
        for o in outcomes:
            row += [str(o.regret(label)), short(o.late_share(label))]
        rows.append(row)
    return table(heads, rows)


def _multiples(outcomes: Sequence[PathOutcome], base: str) -> str:
    if not outcomes:
        return NOT_RUN
    rows = [[f"{base}: regret", *(str(o.regret(base)) for o in outcomes)]]
    others = [label for label in outcomes[0].labels if label != base]
    rows += [[label, *(short(o.ratio(label, base)) for o in outcomes)] for label in others]
    return table(["policy", *(o.trial.problem for o in outcomes)], rows)


def _early(outcomes: Sequence[PathOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    (o,) = outcomes
    base = o.path[o.labels.index("KL-UCB")]
    rows = [["KL-UCB: regret", *(f"{x:.1f}" for x in base)]]
    for label, path in zip(o.labels, o.path, strict=True):
        if label != "KL-UCB":
            rows.append([label, *(f"{x:.2f}" for x in path / base)])
    return table(["policy", *(f"{k} visits" for k in o.visits)], rows)


def _compared(outcomes: Sequence[PathOutcome]) -> str:
    if len(outcomes) < 2:
        return NOT_RUN
    rows = []
    for label in outcomes[0].labels:
        others = [
            "1" if label == other else str(spread(outcomes, label, other).typical)
            for other in (LEARNED, RANDOM)
        ]
        lost = "" if label == RANDOM else str(worse_than(outcomes, label, RANDOM))
        worst = max(o.ratio(label, LEARNED).value for o in outcomes)
        rows.append([label, *others, f"{worst:.2f}", lost])
    heads = (
        "policy", f"regret / {LEARNED}'s, geometric mean", f"regret / {RANDOM}'s",
        f"greatest / {LEARNED}'s", f"share of problems significantly worse than {RANDOM}",
    )  # fmt: skip
    return table(heads, rows)


DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
PANELS = (
    ("random", LEARNED, "leaving does not depend on the arm"),
    ("by arm", RANDOM, "leaving depends on the arm"),
)
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def draw_by_arm(findings: Findings) -> "Picture":
    """Regret over that of a yardstick: a dot for each problem, a row for each policy."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(9.0, 3.6), dpi=DPI, layout="constrained")
    for ax, (group, other, title) in zip(picture.subplots(1, 2), PANELS, strict=True):
        outcomes = findings.of(group, other)
        labels = [x for x in outcomes[0].labels if x != other] if outcomes else []
        jitter = np.random.default_rng(0)
        for row, label in enumerate(labels):
            _row(ax, row, [o.ratio(label, other).value for o in outcomes], jitter)
        ax.set_xscale("log")
        ax.set_xticks(TICKS, [f"{t:g}" for t in TICKS], fontsize=TEXT)
        ax.set_xlim(TICKS[0] / 2.0, TICKS[-1] * 2.0)
        ax.minorticks_off()
        ax.axvline(1.0, color="#444444", linewidth=0.8)
        ax.set_yticks(range(len(labels)), labels, fontsize=TEXT)
        ax.invert_yaxis()
        ax.set_title(title, fontsize=TEXT + 1)
        ax.set_xlabel(f"regret / regret of {other}; red: geometric mean", fontsize=TEXT)
        ax.spines[["top", "right"]].set_visible(False)
    return picture


def _row(ax: Any, row: int, ratios: list[float], jitter: np.random.Generator) -> None:
    at = np.clip(ratios, TICKS[0] / 1.8, TICKS[-1] * 1.8)
    y = row + jitter.uniform(-0.25, 0.25, at.size)
    ax.plot(at, y, "o", color=GREY, markersize=2.0, linestyle="none", markeredgewidth=0)
    middle = float(np.exp(np.mean(np.log(ratios))))
    ax.vlines(middle, row - 0.4, row + 0.4, color=RED, linewidth=1.5)


STUDY = study("by-arm", TRIALS, CLAIMS, tables, {"by-arm": draw_by_arm})

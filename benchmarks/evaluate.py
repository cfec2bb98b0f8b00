"""``python -m benchmarks.evaluate``: how often the intervals of an evaluation hold the truth.

Logs of made-up worlds (those of the tests) are evaluated for the arm that is best there. For each
method: the share of 95 % intervals of the reward and of the length that hold what is true. Where a
log cannot tell how much more it may be, an interval has no upper end; how many have both is said.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sojourn.logs import Evaluation
from sojourn.logs.evaluating.evaluate import METHODS
from sojourn.policies import FixedArm

from .report import Table

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from plain_logs import evaluated
from world import World
from worlds import WORLDS, world


class Case(NamedTuple):
    """Logs of a world to evaluate."""

    name: str
    world: World
    visits: int
    max_steps: int | None = None


def uniform(arms: int) -> World:
    """The model itself; the log shows any of so many arms."""
    return world((0.7, 0.4, 0.5, 0.3, 0.6)[:arms])


def cases() -> list[Case]:
    """A fixed arm without a limit of steps, with one, and worlds that break the model."""
    made = [
        Case(f"{arms} arms, any", uniform(arms), visits)
        for arms, visits in ((2, 2_000), (3, 2_000), (5, 2_000), (2, 10_000), (5, 10_000))
    ]
    made += [
        Case(f"2 arms, {100 * share:.0f} % the best", world((0.7, 0.4), rule=(share, 1 - share)), n)
        for share, n in ((0.8, 2_000), (0.9, 500), (0.9, 2_000))
    ]
    made += [Case(f"{arms} arms, any", uniform(arms), 2_000, max_steps=3) for arms in (2, 3)]
    known = (
        "clickbait", "clickbait, avoided", "taste", "looks normal", "better tastes leave earlier",
        "two kinds", "favourites", "selection", "mood", "fatigue", "habits", "quota",
    )  # fmt: skip
    made += [Case(name, WORLDS[name](), 2_000, h) for name in known for h in (None, 3)]
    return made


def truth(case: Case) -> tuple[float, float]:
    """Reward and length of a visit that is shown the best arm."""
    found = case.world
    if case.max_steps is not None:
        layers = np.minimum(np.arange(case.max_steps), found.layers - 1)
        leave = found.leave[:, layers].copy()
        leave[:, -1] = 1.0
        found = replace(found, leave=leave)
    worth = found.worth(found.always(case.world.best_arm))
    return worth.reward, worth.steps


def measure(case: Case, logs: int) -> dict[str, Any]:
    """Shares of intervals that hold the truth, by method, and what was said."""
    true, policy = truth(case), FixedArm(case.world.best_arm)
    found, refused = [], 0
    for seed in range(logs):
        log = case.world.log(case.visits, users=case.visits // 2, seed=seed)
        try:
            found.append(evaluated(log, policy, max_steps=case.max_steps))
        except ValueError as error:
            refused += 1
            print(f"{case.name}: {error}", file=sys.stderr)
    fitting = [f for f in found if not _says(f, "model", "DM")]

    def held(name: str, of: Sequence[Evaluation]) -> list[float]:
        return [
            float(np.mean([e.low <= value <= e.high for e in (getattr(f, what)[name] for f in of)]))
            for what, value in zip(("reward", "length"), true, strict=True)
        ]

    return {
        "refused": refused / logs,
        "both ends": np.mean([f.reach is not None and f.reach.enough for f in found]),
        "held": {name: held(name, found) for name in METHODS},
        "fitting": held("DM", fitting) if len(fitting) >= 0.1 * len(found) else None,
        "misfit": np.mean([_says(f, "model", "DM") for f in found]),
        "propensities": np.mean([_says(f, "propensities") for f in found]),
    }


def _says(found: Evaluation, *words: str) -> bool:
    """Whether a diagnostic begins with one of the words."""
    return any(said.removeprefix("the ").startswith(words) for said in found.diagnostics)


def row(case: Case, logs: int) -> list[str]:
    """One world, as text."""
    found = measure(case, logs)
    until = "none" if case.max_steps is None else str(case.max_steps)
    return [
        case.name, f"{case.visits:,}", until, f"{found['both ends']:.0%}",
        *(_pair(pair) for pair in found["held"].values()), f"{found['misfit']:.1%}",
        _pair(found["fitting"]), f"{found['propensities']:.1%}", f"{found['refused']:.1%}",
    ]  # fmt: skip


def _pair(shares: Sequence[float] | None) -> str:
    return "-" if shares is None else f"{shares[0]:.1%}, {shares[1]:.1%}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.evaluate", description=__doc__)
    options.add_argument("--logs", type=int, default=500, help="of each world")
    options.add_argument("--only", help="worlds whose name has this in it")
    given = options.parse_args(arguments)
    header = (
        "world", "visits", "max_steps", "both ends", *METHODS, "model doubted",
        "model where not", "propensities doubted", "refused",
    )  # fmt: skip
    chosen = [case for case in cases() if given.only is None or given.only in case.name]
    rows = []
    for case in chosen:
        rows.append(row(case, given.logs))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(Table(f"Intervals that hold the truth, {given.logs} logs", header, rows).markdown())


if __name__ == "__main__":
    main()

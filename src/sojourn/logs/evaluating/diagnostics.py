"""Warnings about the estimates of an evaluation, each one sentence with its numbers."""

from collections.abc import Collection, Iterator
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ...stats.intervals import z
from ...validation import InputError
from .model import FittedModel
from .trajectories import Flags, Floats, Trajectories, estimate
from .weights import Weights

if TYPE_CHECKING:
    from .evaluate import Task

CONFIDENCE = 0.99
"""Confidence with which propensities or a model are called wrong, over all that is tried."""
RARE = 5
"""Unlikely choices of the log, each of which counts for many, that may be chance."""
TOLERATED = 0.8, 1.25
"""Bounds for the mean weight of single steps, beyond which nothing is estimated from them."""
LATER = {
    "at step 2": (2, 2),
    "at step 3": (3, 3),
    "at steps 4 and 5": (4, 5),
    "at steps 6 to 9": (6, 9),
    "from step 10 on": (10, inf),
}
"""Classes of steps in which a model must fit: their first and their last."""


def check_propensities(weights: Weights) -> Iterator[str]:
    """Whether the weights of single steps have mean 1, as they do if the propensities are right.

    That holds given all that came before, so first steps, later ones and states count apart, and no
    weight is a product. Refuses propensities that are far off; a sentence if they are a little.
    """
    log = weights.log
    here = weights.before > 0.0
    ratio = np.divide(weights.after, weights.before, out=np.zeros(here.size), where=here)
    first = log.step == 0
    places = {
        "": here,
        " at the first step of a visit": here & first,
        " at later steps": here & ~first,
        **{f" {where}": here & rows for where, rows in _states(log).items()},
    }
    level = z(1.0 - (1.0 - CONFIDENCE) / len(places))
    for where, rows in places.items():
        count = max(int(rows.sum()), 1)
        mean = float(ratio[rows].sum()) / count
        influence = log.by_visit(np.where(rows, ratio - mean, 0.0)) / count
        found = estimate(log.user, mean, influence, level, skewed=True)
        few = RARE * float(ratio.max()) / count
        low, high = found.low - few, found.high + few
        if not rows.any() or low <= 1.0 <= high:
            continue
        words = (
            "the propensities look wrong: a policy's chance of a choice over the log's has mean 1 "
            f"if they are right, and{where} it has {mean:.3g} ({low:.3g} to {high:.3g})"
        )
        if low > TOLERATED[1] or high < TOLERATED[0]:
            raise InputError(f"{words}; methods=['DM'] needs none")
        yield f"{words}: all estimates but DM depend on them"
        return


def diagnostics(task: "Task", methods: Collection[str]) -> Iterator[str]:
    """Warnings about these methods on this log."""
    if "DM" in methods:
        yield from misfit(task.solutions[False].model)
    if "DM" in methods and "DR" in methods:
        yield from disagreement(task)
    names = [name for name in methods if name.endswith("PDIS")]
    if (names or "DR" in methods) and not task.reach.enough:
        steps, beyond = task.reach.steps, task.reach.beyond
        has = "has" if len(names) == 1 else "have"
        lacks = [f"{' and '.join(names)} {has} a lower limit only"] if names else []
        lacks += ["DR has no interval"] if "DR" in methods else []
        yield (
            f"{', '.join(lacks)}: {beyond:.0%} of this policy's visits go on after step {steps}, "
            f"where the log is worth too few of them; max_steps={steps} has intervals"
        )


def misfit(model: FittedModel) -> Iterator[str]:
    """Whether rewards and departures of the log itself are other than the model expects."""
    log, step = model.log, model.log.step + 1
    left = log.left.astype(float)
    leaving = model.leaving[1].at(log.place(log.state, log.reward), log.arm)
    tried: list[tuple[str, str, Flags, Floats, Floats]] = []
    for where, (first, last) in LATER.items():
        rows = ~log.censored & (step >= first) & (step <= last)
        tried.append(("left", where, rows, left, leaving))
    for where, rows in _states(log).items():
        tried.append(("liked what they saw", where, rows, log.reward, model.means[log.arm]))
    level = z(1.0 - (1.0 - CONFIDENCE) / len(tried))
    for what, where, rows, seen, expected in tried:
        off = np.where(rows, seen - expected, 0.0)
        count = max(int(rows.sum()), 1)
        by_user = np.bincount(log.user, log.by_visit(off))
        if abs(off.sum()) > level * np.sqrt((by_user**2).sum()):
            yield (
                f"the model does not fit this log: {where} {seen[rows].sum() / count:.1%} {what}, "
                f"and it expects {expected[rows].sum() / count:.1%}: do not trust DM"
            )
            return


def disagreement(task: "Task") -> Iterator[str]:
    """Whether DM and DR differ by more than chance within the reach of the log."""
    steps = task.reach.steps
    within = task if task.max_steps is not None and task.max_steps <= steps else task.until(steps)
    for of_reward, what in ((True, "rewards"), (False, "steps")):
        (dm, by_dm), (dr, by_dr) = within.dm(of_reward), within.dr(of_reward)
        level = z(1.0 - (1.0 - CONFIDENCE) / 2.0)
        gap = estimate(task.log.user, dm - dr, by_dm - by_dr, level)
        if abs(gap.mean) > level * gap.std_error:
            yield (
                f"DM and DR disagree: in the first {steps} steps of a visit DM has {dm:.3g} {what} "
                f"and DR {dr:.3g}, {abs(gap.mean):.2g} ± {z() * gap.std_error:.2g} apart: trust "
                "DR, if the propensities are right"
            )
            return


def _states(log: Trajectories) -> dict[str, Flags]:
    """The rows in the lower and in the upper half of the states, after the first step."""
    low, high = (
        ("after a 0", "after a 1") if log.theta == 1.0 else ("in low states", "in high ones")
    )
    later = log.step > 0
    return {low: later & (log.state < 0.5), high: later & (log.state >= 0.5)}

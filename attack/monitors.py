"""Rhythm that is no change, and propensities that are wrong: the monitor believes neither."""

import time
from itertools import count, cycle

import numpy as np

from benchmarks import drifting, shadowing

from .ground import Ground
from .tally import Tally

QUIET = ("nothing", "daily rhythm", "weekend", "mood")
LEVEL = 0.05
MISLED = shadowing.KINDS["by state"]._replace(tries=0.0)


def mislead(_: Ground, tally: Tally, seconds: float) -> None:
    """Eight weeks in which nothing changes, a fall of one arm, logs with right chances and wrong.

    A call is a world or a log. False alarms may be as many as their level allows, to 4.5 errors.
    """
    end, alarms, doubts, late = time.monotonic() + seconds, 0, 0, 0
    for run, kind in zip(count(), cycle(QUIET)):
        random = np.random.default_rng([9, run])
        alarms += drifting.first_alarm(drifting.world(random, kind)) is not None
        late += max(drifting.delays(kind, 28, 1, seed=run)) > 14
        right, wrong = (shadowing.log(random, MISLED, marginal) for marginal in (0.0, 1.0))
        doubts += shadowing.read(right, 3).cannot_tell < np.inf
        tally.expect(shadowing.read(wrong, 3).ready == np.inf, "ready on wrong propensities")
        tally.calls += 4
        if run + 1 >= len(QUIET) and time.monotonic() > end:
            break
    worlds = run + 1
    most = LEVEL * worlds + 4.5 * np.sqrt(LEVEL * (1.0 - LEVEL) * worlds)
    tally.expect(alarms <= most, f"{alarms} false alarms in {worlds} worlds of eight weeks")
    tally.expect(doubts <= most, f"right propensities are doubted in {doubts} of {worlds} logs")
    tally.expect(late <= most, f"{late} of {worlds} falls are not found in 14 days")
    tally.note = f"{worlds} worlds: {alarms} false alarms, {doubts} right chances doubted"


SCENARIOS = {"monitor": (mislead, 15)}

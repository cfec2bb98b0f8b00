"""Does leaving depend on what was shown, given the rewards? A test for each arm."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ...stats.departures import contrasts, holm
from ...stats.intervals import Interval
from .controlled import JointModel


@dataclass(frozen=True)
class ArmEffect:
    """What an arm does beyond its rewards.

    `times` is how many times as often people leave after it as after the average arm, with the
    same rewards, at the same steps, the same people; `differs` if that is not 1, with all arms
    tested at once. `worth` and `length` are rewards and steps of a visit that shows this arm
    alone, `mean` its rewards for the average user.
    """

    name: str
    times: Interval
    differs: bool
    worth: Interval
    length: Interval
    mean: float


def arm_effects(found: JointModel) -> tuple[ArmEffect, ...]:
    """By arm, in the order of the log's."""
    arms, layout = len(found.names), found.layout
    rows = contrasts(layout.leaving, found.pulls, layout.size)[:arms]
    effects = rows @ found.joint.estimate
    moves = found.joint.moves @ rows.T
    users = len(moves)
    errors = np.sqrt((moves**2).sum(axis=0) * users / max(users - 1.0, 1.0))
    differs = holm(effects / errors)
    half = NormalDist().inv_cdf(0.975) * errors
    times = [found.times_as_often(at) for at in (effects, effects - half, effects + half)]
    means = found.tables().means.T @ found.shares
    return tuple(
        ArmEffect(name, Interval(*map(float, ends)), bool(flag), *worth, float(mean))
        for name, ends, flag, worth, mean in zip(
            found.names, np.transpose(times), differs, found.worth, means, strict=True
        )
    )

"""Overlap: a log that has next to nothing on what a policy does is refused."""

from collections.abc import Sequence

import numpy as np

from ...validation import InputError
from .model import FittedModel
from .solution import Stage
from .trajectories import Floats, Trajectories

MIN_STEPS = 30
"""Steps that the log must have of every arm and, in two states, of every state and reward."""
MIN_SHARE = 0.01
"""What makes less than this share of the policy's steps may be missing."""


def check_arms(log: Trajectories, planned: Floats) -> None:
    """Refuse weights that miss arms the policy plays.

    `planned` are the weighted probabilities of the arms, a row for each part of [0, 1] by state.
    """
    levels, arms = planned.shape
    level = np.minimum((log.state * levels).astype(int), levels - 1)
    played = np.bincount(level * arms + log.arm, minlength=levels * arms).reshape(planned.shape)
    total = planned.sum(axis=1, keepdims=True)
    share = np.divide(planned, total, out=np.zeros_like(planned), where=total > 0.0)
    for state, arm in np.argwhere((share >= MIN_SHARE) & (played == 0)):
        where = ("below 1/2", "from 1/2 on")[state] if log.theta < 1.0 else state
        raise InputError(
            f"there is no overlap: the policy plays arm {log.arms[arm]!r} in state {where} with "
            f"chance {share[state, arm]:.2g}, and the log never does"
        )


def check_reach(log: Trajectories, steps: int, least: float) -> None:
    """Refuse a log whose visits part from the policy at once."""
    if not steps:
        raise InputError(
            f"there is too little overlap: the first steps of the log's {log.visits:,} visits are "
            f"worth fewer than {least:g} visits of this policy; a longer log or a policy closer "
            "to the log's may help"
        )


def check_model(model: FittedModel, stages: Sequence[Stage]) -> None:
    """Refuse a model that was fitted to too few steps of the kind that the policy makes."""
    log, total = model.log, np.sum([stage.occupancy.sum() for stage in stages])
    plays = np.sum([stage.occupancy @ stage.chances for stage in stages], axis=0) / total
    for arm in np.flatnonzero((plays >= MIN_SHARE) & (model.pulls < MIN_STEPS)):
        raise InputError(
            f"there is too little overlap: {plays[arm]:.0%} of the policy's steps are with arm "
            f"{log.arms[arm]!r}, which the log has {model.pulls[arm]:.0f} times, and at least "
            f"{MIN_STEPS} are needed"
        )
    if log.theta < 1.0:
        return
    seen = np.bincount(log.place(log.state, log.reward)[~log.censored].astype(int), minlength=4)
    steps = [
        np.bincount(b.place.astype(int), stage.occupancy * b.chance, 4)
        for stage in stages
        for b in stage.branches
    ]
    share = np.sum(steps, axis=0) / total
    for cell in np.flatnonzero((share >= MIN_SHARE) & (seen < MIN_STEPS)):
        raise InputError(
            f"there is too little overlap: {share[cell]:.0%} of the policy's steps are in state "
            f"{cell // 2} with reward {cell % 2}, which the log has {seen[cell]} times with a "
            f"known end, and at least {MIN_STEPS} are needed"
        )

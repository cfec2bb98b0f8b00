"""The decisions of IMED without weighing the evidence against every arm.

The IMED index of an arm, N kl(m, m*) + log N, changes when the arm is pulled and when m*, the
greatest mean, does; in m* it grows from m on. So its value at a `floor` below m* bounds it from
below until the arm is pulled or m* falls below the floor. A tree of maxima holds these bounds, as
scores: with their signs changed. A decision searches it for arms that may have the greatest score
and evaluates those few. The means, of which m* is the greatest, are in a tree of their own, and so
are bounds on the scores at low optimism.

How far below m* to put the floor: nearer makes closer bounds, farther makes them hold for longer.
The distance doubles when m* falls below a floor, and halves when as many arms were evaluated in
vain as a new floor takes. docs/leases.md has the proofs.
"""

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..policies.base import Array
from ..policies.gated import evidence
from ..policies.index import extra_of
from .board import NOBODY, SAFE, next_node, set_leaf
from .loops import jitable

FLOOR, LEADER, PAUSE, READY, MARGIN, WASTED = 0, 1, 2, 3, 4, 5
FIRST_MARGIN, LEAST_MARGIN, GREATEST_MARGIN = 0.01, 1e-5, 0.25
FEW = 64.0
"""So many evaluations in vain do not matter."""
MANY = 8
"""With more arms than this it pays to look where to begin a search, and when to end it."""


class Evidence(NamedTuple):
    """What is known of all arms but the leader, the one with the most pulls.

    Trees of maxima as in `Board`.
    """

    means: Array
    bounds: Array  # scores where optimism is positive, at the floor
    keys: Array  # on scores at low optimism, until the arm is pulled, if only one occurs
    tied: NDArray[np.int64]  # scratch: arms of equal greatest score
    notes: Array  # floor, leader, pause, ready, margin, evaluations in vain


@jitable
def make_evidence(arms: int) -> Evidence:
    """Nothing is known yet."""
    size = 1
    while size < arms:
        size *= 2
    return Evidence(
        np.full(2 * size, NOBODY),
        np.full(2 * size, NOBODY),
        np.full(2 * size, NOBODY),
        np.zeros(arms, np.int64),
        np.zeros(6),
    )


@jitable
def bound_at(pulls: Array, successes: Array, arm: int, floor: float) -> float:
    """The greatest score that an arm can have where optimism is positive, for m* >= floor."""
    mean = successes[arm] / pulls[arm]
    return -evidence(mean, pulls[arm], max(mean, floor))


@jitable
def set_arm(
    policy: Any, pulls: Array, successes: Array, board: Evidence, arm: int, log_t: float
) -> None:
    """What is known of one arm; of the leader nothing."""
    mean = bound = key = NOBODY
    if arm != board.notes[LEADER]:
        mean = successes[arm] / pulls[arm]
        bound = bound_at(pulls, successes, arm, board.notes[FLOOR])
        if policy.lowest() <= 0.0:
            # At an optimism of 0 or less scores fall with time, and with the optimism.
            x = policy.highest() if policy.highest() <= 0.0 else policy.lowest()
            key = policy.index(mean, pulls[arm], log_t, extra_of(policy.c, log_t), x)
    set_leaf(board.means, arm, mean)
    set_leaf(board.bounds, arm, bound)
    set_leaf(board.keys, arm, key)


@jitable
def note_pull(
    policy: Any, pulls: Array, successes: Array, board: Evidence, arm: int, log_t: float
) -> None:
    """After a pull: bound the arm anew, or let it lead if it has the most pulls now.

    Once all arms were played, all are put on the board.
    """
    leader, notes = int(board.notes[LEADER]), board.notes
    first, last, apart = arm, arm, 1
    if notes[READY] == 0.0:
        for other in range(pulls.size):
            if pulls[other] == 0.0:
                return
            if pulls[other] > pulls[leader]:
                leader = other
        first, last = 0, pulls.size - 1
        notes[READY], notes[MARGIN], notes[LEADER] = 1.0, FIRST_MARGIN, leader
    elif pulls[arm] > pulls[leader]:
        first, last, apart = min(arm, leader), max(arm, leader), abs(arm - leader)
        notes[LEADER] = arm
    for other in range(first, last + 1, apart):
        set_arm(policy, pulls, successes, board, other, log_t)


@jitable
def hold_floor(pulls: Array, successes: Array, tree: Array, notes: Array, target: float) -> None:
    """See to it that the bounds hold for this target, and are close."""
    fell = target < notes[FLOOR]
    if fell or notes[WASTED] > pulls.size + FEW:
        margin = notes[MARGIN] * (2.0 if fell else 0.5)
        notes[MARGIN] = min(max(margin, LEAST_MARGIN), GREATEST_MARGIN)
        notes[FLOOR], notes[WASTED] = target - notes[MARGIN], 0.0
        size = tree.size // 2
        for arm in range(pulls.size):
            if arm != notes[LEADER]:
                tree[size + arm] = bound_at(pulls, successes, arm, notes[FLOOR])
        for i in range(size - 1, 0, -1):
            tree[i] = max(tree[2 * i], tree[2 * i + 1])


@jitable
def greatest_bound(
    pulls: Array, successes: Array, tree: Array, notes: Array, target: float, enough: float
) -> float:
    """The greatest score, where optimism is positive, of any arm but the leader if m* >= target.

    The target is not below the floor. Once a score above `enough` is found, it may be less than
    the greatest.
    """
    size, i, top = tree.size // 2, 1, NOBODY
    while i > 0 and top <= enough:
        if tree[i] <= top:
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            notes[WASTED] += 1.0
            top = max(top, bound_at(pulls, successes, i - size, target))
            i = next_node(i)
    return top


@jitable
def find_greatest(
    policy: Any, pulls: Array, successes: Array, tree: Array, notes: Array,
    tied: NDArray[np.int64], log_t: float, optimism: float, target: float,
) -> int:  # fmt: skip
    """Write down the arms of greatest score, the leader before others, and say how many.

    Evaluates only arms whose bounds in `tree` allow them to win.
    """
    arm, extra = int(notes[LEADER]), extra_of(policy.c, log_t)
    top, least, ties, size, i = -inf, NOBODY, 0, tree.size // 2, 1
    if optimism > 0.0 and size > MANY:
        # The arm of greatest bound is likely to win: others have to come close to it.
        while i < size:
            i = 2 * i if tree[2 * i] >= tree[2 * i + 1] else 2 * i + 1
        least, i = max(bound_at(pulls, successes, i - size, target) - SAFE, NOBODY), 1
    while i > 0:
        mean = successes[arm] / pulls[arm]
        value = policy.worth(mean, pulls[arm], log_t, extra, optimism, target)
        if value > top:
            top, ties, least = value, 0, max(value - SAFE, least)
        if value == top:
            tied[ties] = arm
            ties += 1
        elif optimism > 0.0:
            notes[WASTED] += 1.0
        while i > 0 and (i < size or i - size == arm or tree[i] <= least):
            i = next_node(i) if i >= size or tree[i] <= least else 2 * i
        arm = i - size
    return ties

"""The decisions and leases of IMED, and the leases of its form for whole visits.

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

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..policies.accounts import ALIKE, DIFFERENT, LEADS, against
from ..policies.base import Array, Counts
from ..policies.gated import ImedExplorer, evidence
from ..policies.index import extra_of
from ..policies.visit import VisitIMED
from .board import NOBODY, SAFE, empty_tree, next_node, pick, set_leaf
from .index_leases import SHORT, fall, lower_bound_exceeds
from .kernel import NOT_SOON, CountingLeaser, Lease, Leaser
from .loops import jitable
from .streams import Stream, draw_uniform

FLOOR, LEADER, READY, MARGIN, WASTED = 0, 1, 2, 3, 4
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
    notes: Array  # floor, leader, ready, margin, evaluations in vain


@jitable
def make_evidence(arms: int) -> Evidence:
    """Nothing is known yet."""
    trees = empty_tree(arms), empty_tree(arms), empty_tree(arms)
    return Evidence(trees[0], trees[1], trees[2], np.zeros(arms, np.int64), np.zeros(5))


@jitable
def bound_at(policy: Any, memory: Any, arm: int, floor: float) -> float:
    """The greatest score that an arm can have where optimism is positive, for m* >= floor."""
    mean, pulls = policy.record(memory, arm)
    return -evidence(mean, pulls, max(mean, floor))


@jitable
def set_arm(policy: Any, memory: Any, board: Evidence, arm: int, log_t: float) -> None:
    """What is known of one arm; of the leader nothing."""
    mean = bound = key = NOBODY
    if arm != board.notes[LEADER]:
        mean, pulls = policy.record(memory, arm)
        bound = bound_at(policy, memory, arm, board.notes[FLOOR])
        if policy.lowest() <= 0.0:
            # At an optimism of 0 or less scores fall with time, and with the optimism.
            x = policy.highest() if policy.highest() <= 0.0 else policy.lowest()
            key = policy.index(mean, pulls, log_t, extra_of(policy.c, log_t), x)
    set_leaf(board.means, arm, mean)
    set_leaf(board.bounds, arm, bound)
    set_leaf(board.keys, arm, key)


@jitable
def note_pull(policy: Any, memory: Any, board: Evidence, arm: int, log_t: float) -> None:
    """After a pull: bound the arm anew, or let it lead if it has the most pulls now.

    Once all arms were played, all are put on the board.
    """
    leader, notes, pulls = int(board.notes[LEADER]), board.notes, memory.pulls
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
        set_arm(policy, memory, board, other, log_t)


@jitable
def hold_floor(policy: Any, memory: Any, board: Evidence, target: float) -> None:
    """See to it that the bounds hold for this target, and are close."""
    tree, notes = board.bounds, board.notes
    fell = target < notes[FLOOR]
    if fell or notes[WASTED] > memory.pulls.size + FEW:
        margin = notes[MARGIN] * (2.0 if fell else 0.5)
        notes[MARGIN] = min(max(margin, LEAST_MARGIN), GREATEST_MARGIN)
        notes[FLOOR], notes[WASTED] = target - notes[MARGIN], 0.0
        size = tree.size // 2
        for arm in range(memory.pulls.size):
            if arm != notes[LEADER]:
                tree[size + arm] = bound_at(policy, memory, arm, notes[FLOOR])
        for i in range(size - 1, 0, -1):
            tree[i] = max(tree[2 * i], tree[2 * i + 1])


@jitable
def greatest_bound(
    policy: Any, memory: Any, board: Evidence, target: float, enough: float
) -> float:
    """The greatest score, where optimism is positive, of any arm but the leader if m* >= target.

    The target is not below the floor. Once a score above `enough` is found, it may be less than
    the greatest.
    """
    tree, i, top = board.bounds, 1, NOBODY
    size = tree.size // 2
    while i > 0 and top <= enough:
        if tree[i] <= top:
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            board.notes[WASTED] += 1.0
            top = max(top, bound_at(policy, memory, i - size, target))
            i = next_node(i)
    return top


@jitable
def find_greatest(
    policy: Any, memory: Any, board: Evidence, tree: Array,
    log_t: float, optimism: float, target: float,
) -> int:  # fmt: skip
    """Write down the arms of greatest score, the leader before others, and say how many.

    Evaluates only arms whose bounds in `tree` allow them to win.
    """
    arm, extra = int(board.notes[LEADER]), extra_of(policy.c, log_t)
    top, least, ties, size, i = -inf, NOBODY, 0, tree.size // 2, 1
    if optimism > 0.0 and size > MANY:
        # The arm of greatest bound is likely to win: others have to come close to it.
        while i < size:
            i = 2 * i if tree[2 * i] >= tree[2 * i + 1] else 2 * i + 1
        least, i = max(bound_at(policy, memory, i - size, target) - SAFE, NOBODY), 1
    while i > 0:
        mean, pulls = policy.record(memory, arm)
        value = policy.worth(mean, pulls, log_t, extra, optimism, target)
        if value > top:
            top, ties, least = value, 0, max(value - SAFE, least)
        if value == top:
            board.tied[ties] = arm
            ties += 1
        elif optimism > 0.0:
            board.notes[WASTED] += 1.0
        while i > 0 and (i < size or i - size == arm or tree[i] <= least):
            i = next_node(i) if i >= size or tree[i] <= least else 2 * i
        arm = i - size
    return ties


SHARE = 0.4
"""A lease of this share of what was asked for is taken at once."""


@dataclass(frozen=True)
class ImedLeaser(CountingLeaser[ImedExplorer, Evidence]):
    """The leader, until its log N may exceed what the others have.

    While the leader's mean is at least m, so is m*, and an arm of lower mean has at least
    N kl(its mean, m) + log N: it is not played before the leader's pulls exceed the exponential.
    """

    def board(self, policy: ImedExplorer, arms: int) -> Evidence:
        return make_evidence(arms)

    def lease(
        self, policy: ImedExplorer, memory: Counts, board: Evidence
    ) -> tuple[int, int, float]:
        leader, t = int(board.notes[LEADER]), memory.clock[0] + 1.0
        if board.notes[READY] > 0.0 and 2.0 * memory.pulls[leader] >= t:
            mean, pulls = policy.record(memory, leader)
            steps, wanted = 0.0, SHORT  # first, how much room there is at all
            while wanted >= SHARE * SHORT:
                least = mean - fall(mean, pulls, steps)
                found = room(policy, memory, board, least, t + steps, wanted)
                if steps > 0.0 and found >= wanted:
                    return leader, int(min(found, steps)), least + SAFE
                steps = 0.7 * min(found, t) if steps == 0.0 else wanted
                wanted = SHARE * steps
        return NOT_SOON

    def decide(
        self, policy: ImedExplorer, memory: Counts, board: Evidence, state: float, rng: Stream
    ) -> int:
        if board.notes[READY] == 0.0:
            return policy.choose(memory, state, rng)
        leader, optimism = int(board.notes[LEADER]), policy.optimism_now(memory, state)
        mean, pulls = policy.record(memory, leader)
        target, tree, log_t = max(mean, board.means[1]), board.bounds, 0.0
        if optimism > 0.0:
            hold_floor(policy, memory, board, target)
        else:
            log_t, tree = log(memory.clock[0] + 1.0), board.keys
            if policy.is_graded():
                tree = board.means
            extra = extra_of(policy.c, log_t)
            if lower_bound_exceeds(mean, pulls, log_t, extra, optimism, tree[1]):
                return leader
        ties = find_greatest(policy, memory, board, tree, log_t, optimism, target)
        skip = int(draw_uniform(rng) * ties) if ties > 1 and policy.random_ties else 0
        return pick(board.tied, ties, skip)

    def learn(
        self, policy: ImedExplorer, memory: Counts, board: Evidence,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        policy.update(memory, state, arm, reward, left, next_state)
        if board.notes[READY] == 0.0 or arm != int(board.notes[LEADER]):
            note_pull(policy, memory, board, arm, log(memory.clock[0] + 1.0))


@jitable
def room(
    policy: Any, memory: Any, board: Evidence, least: float, end: float, steps: float
) -> float:
    """Steps for which the leader wins while its mean is at `least`, if they end before time `end`.

    Where these are fewer than `steps`, it may say even less. In states of low optimism the leader's
    lower bound must be above the others' means, at most `rival`, which are above their own.
    """
    often, rival = memory.pulls[int(board.notes[LEADER])], board.means[1]
    if rival >= least - SAFE:
        return 0.0
    if policy.lowest() < policy.highest():
        low, log_end = min(policy.lowest(), 0.0), log(end)
        extra = extra_of(policy.c, log_end)
        if not lower_bound_exceeds(least, often, log_end, extra, low, rival):
            return 0.0
    hold_floor(policy, memory, board, least)
    enough = -log(often + steps) if memory.pulls.size > MANY else inf
    reach = -greatest_bound(policy, memory, board, least, enough)
    return exp(min(reach - SAFE, 60.0)) - often  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VisitLeaser(Leaser[VisitIMED, Any, Array]):
    """The arm that leads in every bin, until its log pulls may exceed what the others have.

    Between two thoughts nothing else changes: what speaks against other arms depends on their own
    pulls and on estimates that hold for so long, whatever rewards the leader has.
    """

    def lease(self, policy: VisitIMED, memory: Any, board: Array) -> Lease:
        leader = sole_leader(memory)
        if leader >= 0:
            steps = memory.due[leader] - memory.pulls[leader]
            for b in range(memory.optimism.size):
                steps = min(steps, lead(memory, leader, b))
            if steps >= SHORT:
                return leader, int(steps), -1.0
        return NOT_SOON

    def goes_on(self, policy: VisitIMED, memory: Any, board: Array) -> bool:
        return False


@jitable
def sole_leader(memory: Any) -> int:
    """The arm that leads in all bins, if there is one and all have been played, else -1."""
    found = -1
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] == 0.0:
            return -1
        if memory.terms[arm, 0, LEADS] > 0.0:
            found = arm
    for b in range(memory.optimism.size):
        if found >= 0 and memory.terms[found, b, LEADS] == 0.0:
            return -1
    return found


@jitable
def lead(memory: Any, leader: int, b: int) -> float:
    """Steps for which the leader is sure to be chosen in a bin, until the next thought."""
    reach = inf
    for arm in range(memory.pulls.size):
        if arm != leader:
            reach = min(reach, against(memory, arm, b))
    reach -= min(memory.strength[ALIKE], memory.strength[DIFFERENT])
    often = memory.pulls[leader]
    if memory.optimism[b] <= 0.0:
        often = memory.seen[leader, b, 0] + memory.seen[leader, b, 1]
    return exp(min(reach - SAFE, 60.0)) - often  # type: ignore[no-any-return]

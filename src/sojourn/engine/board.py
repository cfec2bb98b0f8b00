"""The decisions of an index policy without evaluating every index.

At optimism x > 0 the index of an arm that is not pulled only grows with time, so its value at a
horizon bounds it until then; at x <= 0 it only falls, so its last value bounds it for good. Two
trees of maxima hold these bounds, at the highest and at a low optimism. A decision searches them
for arms that may have the greatest index, and evaluates those few, however many arms there are.
After a pull two bounds change; when the horizon is near, those at the highest optimism all do.

Between the lowest and the highest optimism, an arm that loses at both ends loses as well. The
Hoeffding index is linear in x. For KL the leader must also have the greater mean; the proof is in
docs/leases.md.

Comparisons that stand in for an evaluation keep a distance of `SAFE` from rounding errors.
"""

from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loops import jitable
from .streams import draw_uniform

SAFE = 1e-9
NOBODY, ANYBODY = -1e300, 1e300
FEW = 5
"""With so few arms there is no horizon: a look at every arm is faster than keeping its bound."""
HORIZON, LEADER, READY, STAKES = 0, 1, 2, 3


class Board(NamedTuple):
    """Bounds on the indices of all arms but the leader, the one with the most pulls.

    Trees of maxima: the leaf of an arm is entry size + arm, the root entry 1.
    """

    tops: NDArray[np.float64]  # at the highest optimism, until the horizon
    keys: NDArray[np.float64]  # at a low optimism (`key_of`), until the arm is pulled
    tied: NDArray[np.int64]  # scratch: arms of equal greatest index
    notes: NDArray[np.float64]  # horizon (a time t), leader, ready, stakes


@jitable
def empty_tree(arms: int) -> NDArray[np.float64]:
    """A tree of maxima on which no arm is."""
    size = 1
    while size < arms:
        size *= 2
    return np.full(2 * size, NOBODY)


@jitable
def make_board(arms: int) -> Board:
    """A board on which nothing is known yet."""
    return Board(empty_tree(arms), empty_tree(arms), np.zeros(arms, np.int64), np.zeros(4))


@jitable
def set_leaf(tree: NDArray[np.float64], arm: int, value: float) -> None:
    """Change one entry of a tree of maxima."""
    i = tree.size // 2 + arm
    tree[i] = value
    while i > 1:
        i //= 2
        tree[i] = max(tree[2 * i], tree[2 * i + 1])


@jitable
def next_node(i: int) -> int:
    """The node after the subtree of node i, from left to right; 0 after the last."""
    while i & 1:
        i //= 2
    return i + 1 if i > 0 else 0


@jitable
def when(a: float, c: float, evidence: float) -> float:
    """y with a y + c log(max(y, 1)) = evidence, or a little less: y is the logarithm of a time."""
    y = evidence / a
    if c > 0.0 and y > 1.0:
        for _ in range(10):  # Newton's steps for a concave function never pass the solution
            step = (a * y + c * log(y) - evidence) / (a + c / y)
            y = max(y - step, 1.0)
            if abs(step) < SAFE:
                break
    return y


@jitable
def key_of(
    leaser: Any, policy: Any, mean: float, pulls: float, log_t: float, extra: float
) -> float:
    """A bound on an arm's index at low optimism, from now on until it is pulled.

    With one positive optimism there is nothing to bound. Otherwise the index at the lowest
    optimism, or at 0, the mean, if that is positive; where optimisms between occur the KL bounds
    ask for the mean; and if even the highest is not positive, the index there bounds all.
    """
    highest, lowest = policy.highest(), policy.lowest()
    if lowest == highest and lowest > 0.0:
        return 0.0
    if highest <= 0.0:
        return policy.index(mean, pulls, log_t, extra, highest)  # type: ignore[no-any-return]
    if lowest > 0.0 or leaser.asks_for_means(policy):
        return mean
    return policy.index(mean, pulls, log_t, extra, lowest)  # type: ignore[no-any-return]


@jitable
def top_of(policy: Any, memory: Any, arm: int, log_h: float, extra: float) -> float:
    """A bound on an arm's index at the highest optimism, until the horizon or until pulled."""
    if policy.highest() <= 0.0:
        return 0.0
    if log_h == inf:
        return ANYBODY
    mean, pulls = policy.record(memory, arm)
    return policy.index(mean, pulls, log_h, extra, policy.highest())  # type: ignore[no-any-return]


@jitable
def set_bounds(leaser: Any, policy: Any, memory: Any, board: Board, arm: int, log_t: float) -> None:
    """Bound the indices of one arm other than the leader."""
    (mean, pulls), extra = policy.record(memory, arm), policy.extra(memory, log_t)
    key = key_of(leaser, policy, mean, pulls, log_t, extra)
    set_leaf(board.keys, arm, key)
    log_h = log(board.notes[HORIZON])
    extra = policy.extra(memory, log_h)
    set_leaf(board.tops, arm, top_of(policy, memory, arm, log_h, extra))


@jitable
def set_leader(leaser: Any, policy: Any, memory: Any, board: Board, arm: int, log_t: float) -> None:
    """Put the leader on the board as one of many, and take another arm off it as the leader."""
    set_bounds(leaser, policy, memory, board, int(board.notes[LEADER]), log_t)
    board.notes[LEADER] = arm
    set_leaf(board.keys, arm, NOBODY)
    set_leaf(board.tops, arm, NOBODY)


@jitable
def set_horizon(policy: Any, memory: Any, board: Board, horizon: float) -> None:
    """Bound the indices of all arms but the leader until a new horizon."""
    board.notes[HORIZON] = horizon
    size, log_h = board.tops.size // 2, log(horizon)
    extra = policy.extra(memory, log_h)
    for arm in range(memory.pulls.size):
        if arm != board.notes[LEADER]:
            board.tops[size + arm] = top_of(policy, memory, arm, log_h, extra)
    for i in range(size - 1, 0, -1):
        board.tops[i] = max(board.tops[2 * i], board.tops[2 * i + 1])


@jitable
def note_pull(leaser: Any, policy: Any, memory: Any, board: Board, arm: int) -> None:
    """After a pull: bound the arm anew, or let it lead if it has the most pulls now."""
    leader = int(board.notes[LEADER])
    if board.notes[READY] > 0.0 and arm != leader:
        log_t = log(memory.clock[0] + 1.0)
        if memory.pulls[arm] > memory.pulls[leader]:
            set_leader(leaser, policy, memory, board, arm, log_t)
        else:
            set_bounds(leaser, policy, memory, board, arm, log_t)


@jitable
def is_ready(leaser: Any, policy: Any, memory: Any, board: Board, t: float, log_t: float) -> bool:
    """Whether all arms were played, and so are bounded; sets a new horizon when it is near."""
    arms = memory.pulls.size
    # A far horizon makes loose bounds, a near one costs a look at all arms often.
    span = max(t / min(8.0 + 2.0 * arms, 1000.0), float(arms)) if arms > FEW else inf
    if board.notes[READY] == 0.0:
        for arm in range(arms):
            if memory.pulls[arm] == 0.0:
                return False
        board.notes[READY], board.notes[HORIZON] = 1.0, t + span
        board.notes[STAKES] = leaser.stakes(memory)
        for arm in range(arms):
            set_bounds(leaser, policy, memory, board, arm, log_t)
        set_leader(leaser, policy, memory, board, int(np.argmax(memory.pulls)), log_t)
    elif board.notes[HORIZON] < t + 0.5 * span or board.notes[STAKES] != leaser.stakes(memory):
        board.notes[STAKES] = leaser.stakes(memory)
        set_horizon(policy, memory, board, t + span)
    return True


@jitable
def decide(leaser: Any, policy: Any, memory: Any, board: Board, state: float, rng: Any) -> int:
    """`policy.choose`, evaluating only arms whose bounds allow them to win."""
    t = memory.clock[0] + 1.0
    log_t = log(t)
    if not is_ready(leaser, policy, memory, board, t, log_t):
        return policy.choose(memory, state, rng)  # type: ignore[no-any-return]
    optimism, extra = policy.optimism_now(memory, state), policy.extra(memory, log_t)
    leader = int(board.notes[LEADER])
    mean, pulls = policy.record(memory, leader)
    share = leaser.share_of_top(policy, optimism)
    if share == 0.0 and leaser.exceeds(policy, mean, pulls, log_t, extra, optimism, board.keys[1]):
        return leader
    if optimism > 0.0 and board.tops[1] + SAFE < mean:  # which is below its index
        return leader
    # Most arms are below what the leader's index is at least; it is evaluated for the others.
    board.tied[0], ties, exact = leader, 1, leaser.is_exact()
    top = leaser.at_least(policy, mean, pulls, log_t, extra, optimism)
    # Where a share of the bounds is none (KL between 0 and the highest optimism), the leader
    # beats those below it both at the highest optimism and in mean.
    high = 0.0
    if share < 0.0 and board.notes[HORIZON] < inf:
        high = leaser.at_least(policy, mean, pulls, log_t, extra, policy.highest())
    size, i = board.tops.size // 2, 1
    m_top, n_top = mean, pulls  # of an arm with that index: others like it need no evaluation
    while i > 0:
        if share < 0.0:
            hopeless = board.tops[i] + SAFE < high and board.keys[i] + SAFE < mean
        else:
            bound = board.keys[i] + share * (board.tops[i] - board.keys[i])
            hopeless = bound + SAFE < top
        if hopeless:
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            m, n = policy.record(memory, i - size)
            alike = exact and m == m_top and n == n_top
            if alike or not leaser.is_below(policy, m, n, log_t, extra, optimism, top):
                if not exact:
                    exact, top = True, policy.index(mean, pulls, log_t, extra, optimism)
                value = top if alike else policy.index(m, n, log_t, extra, optimism)
                if value > top:
                    top, ties, m_top, n_top = value, 0, m, n
                if value == top:
                    board.tied[ties] = i - size
                    ties += 1
            i = next_node(i)
    skip = int(draw_uniform(rng) * ties) if ties > 1 and policy.random_ties else 0
    return pick(board.tied, ties, skip)


@jitable
def pick(tied: NDArray[np.int64], ties: int, skip: int) -> int:
    """The arm after `skip` smaller ones; all are in order but the first, which may be any."""
    first, before = tied[0], 0
    while before + 1 < ties and tied[before + 1] < first:
        before += 1
    if skip == before:
        return int(first)
    return int(tied[skip + 1] if skip < before else tied[skip])

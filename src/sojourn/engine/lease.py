"""Leases: for how long the leader is sure to be the choice of an index policy, in every state.

The leader can be promised to win for W more steps as long as its empirical mean is at least some
m: its index at the highest optimism is then at least that of (m, N + W pulls, now), at the lowest
at least that of (m, N pulls, now + W). If in the meantime no other arm reaches the first (the time
when it would is known in closed form, `log_time`) nor is above the second, nothing else can be
chosen. See docs/leases.md for the whole argument.
"""

from math import exp, inf, log, sqrt
from typing import Any

from .board import HORIZON, LEADER, PAUSE, SAFE, Board, is_ready, next_node
from .loops import jitable

RIVALS = 64
"""With more arms than this close to the leader there is no lease."""
SHORT = 3.0
"""A shorter lease costs more than deciding."""


@jitable
def lease(leaser: Any, policy: Any, memory: Any, board: Board) -> tuple[int, int, float]:
    """An arm that is sure to be chosen in every state for a while: see `Leaser.lease`."""
    if board.notes[PAUSE] > 0.0:
        board.notes[PAUSE] -= 1.0
        return 0, 0, 0.0
    leader, t = int(board.notes[LEADER]), memory.clock[0] + 1.0
    if 2.0 * memory.pulls[leader] < t:
        return 0, 0, 0.0
    log_t = log(t)
    if is_ready(leaser, policy, memory, board, t, log_t):
        mean, pulls = policy.record(memory, leader)
        extra = policy.extra(memory, log_t)
        steps = likely_steps(leaser, policy, memory, board, leader, log_t, extra)
        while steps >= SHORT:
            least = mean - fall(mean, pulls, steps)
            if promised(leaser, policy, memory, board, leader, least, steps, log_t, extra):
                return leader, int(steps), leaser.enough(least + SAFE, memory.pulls[leader])
            steps *= 0.7
    board.notes[PAUSE] = 3.0
    return 0, 0, 0.0


@jitable
def fall(mean: float, pulls: float, steps: float) -> float:
    """How far an empirical mean may fall in so many pulls: a standard deviation."""
    return sqrt(max(mean * (1.0 - mean), 1.0 / pulls) * steps) / pulls


@jitable
def ahead(log_ratio: float, t: float) -> float:
    """Steps from t to t exp(log_ratio), if that is not far."""
    return t * (exp(min(log_ratio, 1.0)) - 1.0)


@jitable
def reaches(leaser: Any, policy: Any, memory: Any, arm: int, level: float) -> float:
    """The log time until which an arm's index at the highest optimism is sure to be below."""
    mean, pulls = policy.record(memory, arm)
    if mean >= level - SAFE:
        return -inf
    log_time = leaser.log_time(policy, memory, mean, pulls, level - SAFE, policy.highest())
    return log_time - SAFE  # type: ignore[no-any-return]


@jitable
def likely_steps(
    leaser: Any, policy: Any, memory: Any, board: Board, leader: int, log_t: float, extra: float
) -> float:
    """How long a lease to ask for: a guess, `promised` decides.

    In W steps the leader's mean may fall by s sqrt(W) (`fall`). An arm that would reach the
    leader's present index in R steps does so in about R (1 - s sqrt(W) / gap) if that falls by as
    much, where its own index grows by gap ~ R (index - mean) / (2 t `pace`) in R steps.
    """
    t = memory.clock[0] + 1.0
    if policy.highest() <= 0.0:
        return float(t / 4.0)
    mean, pulls = policy.record(memory, leader)
    level = leaser.at_least(policy, mean, pulls, log_t, extra, policy.highest())
    s = fall(mean, pulls, 1.0)
    size, i = board.tops.size // 2, 1
    while i < size:  # the closest rival first: it narrows the search for others
        i = 2 * i if board.tops[2 * i] >= board.tops[2 * i + 1] else 2 * i + 1
    steps = board.notes[HORIZON] - t
    steps = min(steps, steps_against(leaser, policy, memory, i - size, level, s, log_t, extra))
    if steps < SHORT:
        return 0.0
    closest, rivals, i = i, 0, 1
    while i > 0:
        if board.tops[i] < level - 4.0 * s * sqrt(steps):
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            rivals += 1
            if i != closest:
                other = steps_against(leaser, policy, memory, i - size, level, s, log_t, extra)
                steps = min(steps, other)
            if steps < SHORT or rivals > RIVALS:
                return 0.0
            i = next_node(i)
    return 0.95 * float(steps)


@jitable
def steps_against(
    leaser: Any, policy: Any, memory: Any, arm: int,
    level: float, s: float, log_t: float, extra: float,
) -> float:  # fmt: skip
    """The W that solves W = R (1 - s sqrt(W) / gap) for one rival (see `likely_steps`)."""
    t = memory.clock[0] + 1.0
    reach = ahead(reaches(leaser, policy, memory, arm, level) - log_t, t)
    if reach < SHORT:
        return 0.0
    mean, pulls = policy.record(memory, arm)
    b = 2.0 * t * leaser.pace(policy, pulls, log_t, extra) * s / (level - mean)
    root = 2.0 * reach / (b + sqrt(b * b + 4.0 * reach))
    return float(root * root)


@jitable
def promised(
    leaser: Any,
    policy: Any,
    memory: Any,
    board: Board,
    leader: int,
    least: float,
    steps: float,
    log_t: float,
    extra: float,
) -> bool:
    """Whether the leader wins for so many steps in every state while its mean is at `least`."""
    if least <= 0.0:
        return False
    t, highest = memory.clock[0] + 1.0, policy.highest()
    _, pulls = policy.record(memory, leader)
    log_end = log(t + steps)
    if policy.lowest() < highest or highest <= 0.0:
        key, low = board.keys[1], min(policy.lowest(), 0.0)
        later = policy.extra(memory, log_end)
        if not leaser.exceeds(policy, least, pulls, log_end, later, low, key):
            return False
    if highest <= 0.0:
        return True
    if t + steps > board.notes[HORIZON]:
        return False
    extra = leaser.extra_at_least(policy, memory, log_t, extra, steps)
    high = leaser.at_least(policy, least, pulls + steps, log_t, extra, highest) - SAFE
    size, i = board.tops.size // 2, 1
    while i > 0:
        if board.tops[i] < high:
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            if not leaser.stays_below(policy, memory, i - size, high, log_end):
                return False
            i = next_node(i)
    return True

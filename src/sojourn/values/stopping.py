"""One arm beside one of known mean: where is it worth a pull? The loops of the visit index.

Let l be the known mean, D(s) the mistake cost where all arms have it, p = (a + k) / (a + b + n) the
posterior mean of the arm, and w(s, r, s') the chain of all visits. What the arm adds to showing
the known one for ever is

    U(n, k, s) = max{(p - l) D(s) + p sum of w(s, 1, s') U(n + 1, k + 1, s')
                                  + (1 - p) sum of w(s, 0, s') U(n + 1, k, s'),
                     sum of (l w(s, 1, s') + (1 - l) w(s, 0, s')) U(n, k, s')},

a pull or the known arm: a pull gains (p - l) D(s) if only the known arm is shown after it. For a
given (n, k) this is a small decision problem over the states, solved by policy iteration.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..chain import solve_in_place
from ..engine.loops import jitable, loop
from .finite import Array, Moves, Whole

Flags = NDArray[np.bool_]

EDGE = 1e-12
"""Values that differ by less than this share of them are the same but for rounding."""

LATE = 0.5826
"""-zeta(1/2) / sqrt(2 pi): by how many steps a discrete boundary is inside a continuous one."""


@loop
def induct(
    at: int, known: Array, prior: Array, cost: Array, moves: Moves,
    value: Array, above: Array, index: Array,
) -> None:  # fmt: skip
    """Backward over all counts against the known mean known[at], and what that tells of the index.

    `value` has U by [k, state] after the last pull, and is left with U(0, 0, s) in its first row.
    Known means come from the greatest down. A pull's advantage, relative to D, is in `above` for
    the last two of them; where it becomes positive is the `index`, which is negative until then.
    Rows are n (n + 1) / 2 + k.
    """
    mean, pulls, states = known[at], value.shape[0] - 1, cost.size
    idle = shown_moves(mean, moves, states)
    gain, held, alone = np.empty(states), np.empty(states), np.empty(states)
    pulled, matrix = np.empty(states, np.bool_), np.empty((states, states))
    zeros = 0  # for so many k, from 0 on, the arm adds nothing in any state
    while zeros <= pulls and not value[zeros].any():
        zeros += 1
    for n in range(pulls - 1, -1, -1):
        row, nothing = n * (n + 1) // 2, 0
        for k in range(n + 1):
            p = (prior[0] + k) / (prior[0] + prior[1] + n)
            if k + 1 < zeros and p <= mean:
                for s in range(states):
                    if index[row + k, s] < 0.0:
                        above[row + k, s, 1], above[row + k, s, 0] = above[row + k, s, 0], p - mean
                nothing += nothing == k
                continue
            for s in range(states):
                won = lost = 0.0
                for i in range(moves.first[2 * s], moves.first[2 * s + 1]):
                    lost += moves.weight[i] * value[k, moves.target[i]]
                for i in range(moves.first[2 * s + 1], moves.first[2 * s + 2]):
                    won += moves.weight[i] * value[k + 1, moves.target[i]]
                gain[s] = (p - mean) * cost[s] + p * won + (1.0 - p) * lost
            settle(gain, idle, pulled, matrix, held)
            for s in range(states):
                if index[row + k, s] < 0.0:
                    lead = gain[s] - after(idle, s, held)
                    if lead < 0.0:
                        above[row + k, s, 1] = above[row + k, s, 0]
                        above[row + k, s, 0] = lead / cost[s]
                        continue
                    # The lead over never pulling here with these counts is the same where it is
                    # negative, and has no kink at the index.
                    here, pulled[s] = pulled[s], False
                    evaluate(gain, idle, pulled, matrix, alone)
                    pulled[s] = here
                    lead = max(gain[s] - alone[s], 0.0) / cost[s]
                    index[row + k, s] = crossing(known, at, lead, above[row + k, s])
            adds = False
            for s in range(states):
                value[k, s] = max(held[s], 0.0)
                adds = adds or value[k, s] > 0.0
            nothing += not adds and nothing == k
        zeros = nothing


@jitable
def shown_moves(mean: float, moves: Moves, states: int) -> Array:
    """The chances of the next state, by [state, next state], where an arm of this mean is shown."""
    idle = np.zeros((states, states))
    for s in range(states):
        for r in range(2):
            chance = mean if r == 1 else 1.0 - mean
            for i in range(moves.first[2 * s + r], moves.first[2 * s + r + 1]):
                idle[s, moves.target[i]] += chance * moves.weight[i]
    return idle


@jitable
def after(idle: Array, s: int, value: Array) -> float:
    """The value of showing the known arm once."""
    total = 0.0
    for t in range(value.size):
        total += idle[s, t] * value[t]
    return total


@jitable
def evaluate(gain: Array, idle: Array, pulled: Flags, matrix: Array, value: Array) -> None:
    """Values by state if one pulls in the states `pulled`, and shows the known arm elsewhere."""
    everywhere = True
    for s in range(gain.size):
        value[s] = gain[s] if pulled[s] else 0.0
        everywhere = everywhere and pulled[s]
    if everywhere:
        return
    for s in range(gain.size):
        for t in range(gain.size):
            matrix[s, t] = (1.0 if s == t else 0.0) - (0.0 if pulled[s] else idle[s, t])
    solve_in_place(matrix, value)


@jitable
def settle(gain: Array, idle: Array, pulled: Flags, matrix: Array, value: Array) -> None:
    """The states in which it is best to pull, and their values: policy iteration."""
    for s in range(gain.size):
        pulled[s] = gain[s] > 0.0
    for _ in range(1_000):
        evaluate(gain, idle, pulled, matrix, value)
        changed = False
        for s in range(gain.size):
            later = after(idle, s, value)
            lead = gain[s] - later
            if abs(lead) > EDGE * (abs(gain[s]) + abs(later)) and pulled[s] != (lead > 0.0):
                pulled[s], changed = lead > 0.0, True
        if not changed:
            return


@jitable
def crossing(known: Array, at: int, here: float, above: Array) -> float:
    """Where a parabola is 0: `here` >= 0 at known[at], and `above` (first below 0) after it."""
    mean = known[at]
    if at + 1 == known.size or here == 0.0:
        return mean  # type: ignore[no-any-return]
    step = known[at + 1] - mean
    slope, bend = (above[0] - here) / step, 0.0
    if at + 2 < known.size:
        far = known[at + 2] - mean
        bend = ((above[1] - here) / far - slope) / (far - step)
        slope -= bend * step
    return mean + 2.0 * here / (sqrt(max(slope * slope - 4.0 * bend * here, 0.0)) - slope)  # type: ignore[no-any-return]


@loop
def diffuse(
    clock: float, growth: float, mean: float, cost: Array, share: Array, steps: float, order: Whole,
    z: Array, worth: Array, nats: Array,
) -> None:  # fmt: skip
    """The same for many pulls, where the posterior mean moves little while states come and go.

    After m pulls let p = l + y, y = z sqrt(l (1 - l) / m). The arm is pulled in some of the states,
    which have shares w(s) of the R steps ahead, and pulls are counted in batches of e m:

        U / R = sum of w(s) max(0, y D(s) + G),    G = (E U(m + e m, y') - U) / (e m),

    where y' is normal with mean y and variance l (1 - l) (1 / m - 1 / (m + e m)), or its three
    Gauss points. States are worth a pull one after the other, in the `order` of their cost. Fills
    `worth` with G at m = `clock`, by z, and `nats` with z^2 / 2 where a pull begins to be worth it,
    by [level, state]: level i is clock (1 + e)^i.

    Who looks only after every batch gives up an arm early. In the cheapest state, where that is for
    good, this is made up for: `LATE` standard deviations of a batch (Chernoff 1965).
    """
    levels, states = nats.shape
    spacing, sigma = z[1] - z[0], sqrt(mean * (1.0 - mean))
    whole = (share * cost).sum() * steps
    place, part = np.empty((3, z.size), np.int64), np.empty((3, z.size))
    for h in range(3):
        for j in range(z.size):  # beyond both ends U is linear in y
            x = (sqrt(1.0 + growth) * z[j] + (h - 1) * sqrt(3.0 * growth) - z[0]) / spacing
            place[h, j] = int(min(max(x, 0.0), z.size - 2.0))
            part[h, j] = max(x, 0.0) - place[h, j]
    late, now, before = LATE * sqrt(growth), np.empty(z.size), np.empty(states)
    later = np.maximum(z, 0.0) * sigma / sqrt(clock * (1.0 + growth) ** levels) * whole
    for level in range(levels - 1, -1, -1):
        pulls = clock * (1.0 + growth) ** level
        batch, scale = growth * pulls, sigma / sqrt(pulls)
        nats[level] = -1.0
        for j in range(z.size):
            y, to_come = z[j] * scale, 0.0
            for h in range(3):
                i = place[h, j]
                then = later[i] + part[h, j] * (later[i + 1] - later[i])
                to_come += then * (4.0 if h == 1 else 1.0) / 6.0
            best = price = portion = 0.0
            for s in order:
                lead = y * cost[s] + (to_come - best) / batch
                if lead >= 0.0 and nats[level, s] < 0.0:
                    from_z = z[j] - (spacing * lead / (lead - before[s]) if j > 0 else 0.0)
                    if s == order[0]:
                        from_z -= late
                    nats[level, s] = 0.5 * min(from_z, 0.0) ** 2
                before[s] = lead
                price += share[s] * cost[s]
                portion += share[s]
                value = (y * price * batch + portion * to_come) / (batch / steps + portion)
                best = max(best, value)
            now[j] = best
            if level == 0:
                worth[j] = (to_come - best) / batch
        now, later = later, now

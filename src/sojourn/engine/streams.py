"""Counter-based random numbers: a draw is a function of (seed, run, owner, number of the draw).

The generator is SplitMix64: the n-th draw of a stream is `mix(key + n * GOLDEN)`. A run owns
three kinds of streams, so that what one party draws never shifts what another one sees:

* one stream per arm: its n-th draw decides the n-th reward of that arm and whether the user
  leaves after it, whichever policy plays it and whenever (common random numbers);
* one for the state in which each visit starts;
* one for the policy's own coin flips, a one-word array that `draw_uniform` advances.
"""

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from .loops import jitable, primitive

Stream = NDArray[np.uint64]
"""A policy's own random numbers: pass it to `draw_uniform`, which gives the next one."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
M1 = np.uint64(0xBF58476D1CE4E5B9)
M2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53

POLICY = np.uint64(0)
STARTS = np.uint64(1)
FIRST_ARM = np.uint64(2)


@primitive
def mix(z: np.uint64) -> np.uint64:
    """Scramble a 64-bit counter into 64 random bits (SplitMix64's finaliser)."""
    z = (z ^ (z >> S30)) * M1
    z = (z ^ (z >> S27)) * M2
    return z ^ (z >> S31)


@primitive
def stream_key(seed: int, run: int, owner: np.uint64) -> np.uint64:
    """The counter at which the stream of `owner` in one run begins."""
    return mix(mix(mix(np.uint64(seed) + GOLDEN) ^ (np.uint64(run) + GOLDEN)) + owner * GOLDEN)


@primitive
def draw(key: np.uint64, n: int) -> float:
    """The n-th uniform in [0, 1) of a stream, for n = 1, 2, ..."""
    return float(mix(np.uint64(key) + np.uint64(n) * GOLDEN) >> S11) * UNIT


@primitive
def draw_backwards(key: np.uint64, n: int, count: int, out: NDArray[np.float64]) -> None:
    """`count` uniforms of a stream, the n-th last: to be taken from the end one by one."""
    for j in range(count):
        z = mix(np.uint64(key) + np.uint64(n + j) * GOLDEN)
        out[count - 1 - j] = float(z >> S11) * UNIT


@primitive
def policy_stream(seed: int, run: int) -> Stream:
    """The policy's own stream in one run.

    >>> rng = policy_stream(7, 0)
    >>> round(draw_uniform(rng), 6), round(draw_uniform(rng), 6)
    (0.028143, 0.120675)
    """
    rng = np.empty(1, np.uint64)
    rng[0] = stream_key(seed, run, POLICY)
    return rng


@primitive
def begun_at(u: float) -> Stream:
    """A stream of its own for every uniform draw u."""
    rng = np.empty(1, np.uint64)
    rng[0] = mix(np.uint64(u / UNIT) * GOLDEN)
    return rng


@primitive
def draw_uniform(rng: Stream) -> float:
    """The next uniform in [0, 1); advances the stream by one."""
    rng[0] += GOLDEN
    return float(mix(rng[0]) >> S11) * UNIT


HALF_UNIT = 2.0**-54
LOG_4 = log(4.0)
ONE_LOG_5 = 1.0 + log(5.0)


@jitable
def inner_uniform(rng: Stream) -> float:
    """A uniform strictly between 0 and 1."""
    return draw_uniform(rng) + HALF_UNIT


@jitable
def beta(a: float, b: float, rng: Stream) -> float:
    """A draw from Beta(a, b), for a and b of at least 1.

    Cheng's algorithm BB (Communications of the ACM 21, 1978): rejection from a log-logistic
    distribution, about one and a half pairs of uniforms a draw whatever a and b are.

    >>> from sojourn.engine.streams import policy_stream
    >>> round(beta(81.0, 21.0, policy_stream(1, 0)), 6)
    0.867915
    """
    if b == 1.0:
        return exp(log(inner_uniform(rng)) / a)
    if a == 1.0:
        return 1.0 - exp(log(inner_uniform(rng)) / b)
    low, high, total = min(a, b), max(a, b), a + b
    rate = sqrt((total - 2.0) / (2.0 * a * b - total))
    slope = low + 1.0 / rate
    while True:
        u, u2 = inner_uniform(rng), inner_uniform(rng)
        v = rate * log(u / (1.0 - u))
        w = low * exp(v)
        z = u * u * u2
        r = slope * v - LOG_4
        s = low + r - w
        if s + ONE_LOG_5 >= 5.0 * z:
            break
        log_z = log(z)
        if s >= log_z or r + total * log(total / (high + w)) >= log_z:
            break
    return (w if low == a else high) / (high + w)

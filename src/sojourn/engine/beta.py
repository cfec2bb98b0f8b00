"""Draws from the beta distribution, for Thompson sampling."""

from math import exp, log, sqrt

from .loops import jitable
from .streams import Stream, draw_uniform

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

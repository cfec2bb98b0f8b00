"""Intervals that hold at every look: confidence sequences, and a check of sample ratios.

A 95 % interval holds for one look. Anyone who looks after every visit and stops at the first
significant difference finds one sooner or later, also where there is none. A confidence sequence
allows for that: with 95 % the truth is in all of its intervals at once. One may look at any time,
stop, or go on.

`sequence` is asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
limit theory and asymptotic confidence sequences", Annals of Statistics 52, 2024): as an interval by
the central limit theorem, it asks for nothing but a variance, and for enough units to begin with.
`ratio_evidence` is exact (Lindon and Malek, "Anytime-valid inference for multinomial count data",
NeurIPS 2022).
"""

from collections.abc import Iterable, Sequence
from functools import cache
from math import exp, inf, lgamma, log, log1p, sqrt

from .intervals import Interval

PLANNED = 10_000.0
"""Units at which a sequence is narrowest, unless said otherwise."""

FIRST = 50.0
"""Units of each side from which on there is anything to say."""


@cache
def _tightest(alpha: float) -> float:
    """The u = rho^2 t at which a sequence is narrowest: u = log(1 + u) - 2 log(alpha)."""
    u = -2.0 * log(alpha)
    for _ in range(100):
        u = log1p(u) - 2.0 * log(alpha)
    return u


def radius(units: float, alpha: float = 0.05, planned: float = PLANNED) -> float:
    """The half-width of a sequence at its `units`-th unit, in standard errors.

    With t units and rho = rho(planned, alpha),

        sqrt(2 (t rho^2 + 1) / (t rho^2) log(sqrt(t rho^2 + 1) / alpha)).

    An interval for one look has 1.96:

    >>> [round(radius(t), 2) for t in (100, 1_000, 10_000, 100_000, 1_000_000)]
    [8.94, 3.82, 3.04, 3.25, 3.57]
    """
    u = _tightest(alpha) * units / planned
    return sqrt((1.0 + 1.0 / u) * (log1p(u) - 2.0 * log(alpha))) if u > 0.0 else inf


def sequence(
    estimate: float, error: float, units: float, alpha: float = 0.05, planned: float = PLANNED
) -> Interval:
    """An estimate with its interval in a sequence of level 1 - alpha.

    `error` is the standard error of the estimate now, from `units` units that came one after the
    other: visits, or users if theirs are not independent. The sequence is narrowest at `planned`.
    """
    return Interval.around(estimate, error * radius(units, alpha, planned))


def ratio_evidence(epochs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> float:
    """A p-value, valid at every look, of counts that do not follow the shares they should have.

    An epoch is a time of constant shares: how many units went to each variant, and the shares,
    which sum to 1. The evidence of an epoch is the Bayes factor of a uniform prior of the shares
    against those stated,

        (d - 1)! x_1! ... x_d! / (n + d - 1)!  /  (s_1^x_1 ... s_d^x_d),

    a martingale with mean 1 while the shares are true. That of all epochs is the product, and the
    p-value its inverse, or 1.
    """
    evidence = 0.0
    for counts, shares in epochs:
        used = [(n, share) for n, share in zip(counts, shares, strict=True) if share > 0.0]
        if any(n > 0.0 for n, share in zip(counts, shares, strict=True) if share <= 0.0):
            return 0.0
        total = sum(n for n, _ in used)
        evidence += lgamma(len(used)) - lgamma(total + len(used))
        evidence += sum(lgamma(n + 1.0) - n * log(share) for n, share in used)
    return exp(min(-evidence, 0.0))

"""``python -m benchmarks.watching``: comparisons of two variants, looked at after every visit.

In A/A tests both variants earn the same: how often is a difference found that is not there, by the
confidence sequence at every visit, and by a z-test at the end of every day? Then one variant earns
a tenth less or more per visit: after how many visits is that found? Users leave alike, or some of
them far later than others; or rewards are drawn from a lognormal distribution, so that most of them
come from few visits; or they are rare. Every visit is of another user, and users are in groups, as
in a store.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sojourn.live.rollout.groups import GROUPS
from sojourn.stats.intervals import FIRST, Z95, radius, share

from .report import Table

Array = NDArray[np.float64]
Draw = Callable[[float, int, np.random.Generator], Array]

POOL = 1_000_000
"""Visits that were simulated; tests draw from them."""
A_DAY = 500

HEADER = (
    "rewards", "the variant earns", "its share", "found below", "found above",
    "daily z-test finds", "visits until found: 10, 50, 90 %",
)  # fmt: skip


def alike(worth: float, visits: int, rng: np.random.Generator) -> Array:
    """Rewards of users who leave after a step with chance 0.2, and like every one."""
    return worth * rng.geometric(0.2, visits)


def lognormal(worth: float, visits: int, rng: np.random.Generator) -> Array:
    """Rewards whose logarithm has the standard deviation 1.5."""
    return worth * rng.lognormal(sigma=1.5, size=visits)


def unequal(worth: float, visits: int, rng: np.random.Generator) -> Array:
    """The same, but that chance has a beta distribution, with the same mean."""
    return worth * rng.geometric(np.maximum(rng.beta(1.2, 4.8, visits), 1e-6))


def rare(worth: float, visits: int, rng: np.random.Generator) -> Array:
    """One visit in a hundred has a reward of 1."""
    return (rng.random(visits) < 0.01 * worth).astype(float)


REWARDS: dict[str, Draw] = {
    "users alike": alike, "lognormal(1.5)": lognormal, "very different lengths": unequal,
    "one in a hundred": rare,
}  # fmt: skip
KINDS = tuple(
    (name, worth, part)
    for name, worth, parts in (
        ("users alike", 1.0, (0.5, 0.1, 0.01)), ("lognormal(1.5)", 1.0, (0.5, 0.1, 0.01)),
        ("very different lengths", 1.0, (0.1, 0.01)), ("one in a hundred", 1.0, (0.1, 0.01)),
        ("users alike", 0.9, (0.5, 0.1, 0.01)), ("users alike", 1.1, (0.5,)),
    )
    for part in parts
)  # fmt: skip
"""The rewards, what the variant earns in terms of the holdout, and its share of the visits."""


class Sums(NamedTuple):
    """Of the holdout and the variant: visits and rewards by group; their sums; sums of products."""

    visits: Array
    rewards: Array
    total: Array
    squares: Array
    crossed: Array


@njit
def add(sums: Sums, mine: int, group: int, reward: float) -> None:
    """Add a visit of the variant (1) or the holdout (0)."""
    n, x = sums.visits[mine, group], sums.rewards[mine, group]
    m, y = sums.visits[1 - mine, group], sums.rewards[1 - mine, group]
    sums.total[mine, 0] += 1.0
    sums.total[mine, 1] += reward
    sums.squares[mine, 0] += reward * (2.0 * x + reward)
    sums.squares[mine, 1] += x + reward * (n + 1.0)
    sums.squares[mine, 2] += 2.0 * n + 1.0
    sums.crossed[0] += reward * y
    sums.crossed[1 + mine] += y
    sums.crossed[2 - mine] += reward * m
    sums.crossed[3] += m
    sums.crossed[4] += n + m == 0.0
    sums.visits[mine, group] += 1.0
    sums.rewards[mine, group] += reward


@njit
def standing(sums: Sums) -> tuple[float, float, float, float]:
    """`stats.strata.difference`, from running sums: the value, its error, the units.

    The error is not a number while either variant has fewer than `FIRST` clusters. The last number
    is the error without what is pooled.
    """
    n, m = sums.total[1, 0], sums.total[0, 0]
    s = sums.squares
    if n == 0.0 or m == 0.0 or min(n * n / s[1, 2], m * m / s[0, 2]) < FIRST:
        return 0.0, np.nan, 1.0, np.nan
    x, y = sums.total[1, 1] / n, sums.total[0, 1] / m
    off = s[1, 0] - 2.0 * x * s[1, 1] + x * x * s[1, 2]
    off_other = s[0, 0] - 2.0 * y * s[0, 1] + y * y * s[0, 2]
    c, groups = sums.crossed, sums.crossed[4]
    both = c[0] - y * c[1] - x * c[2] + x * y * c[3]
    own = (off / n**2 + off_other / m**2 - 2.0 * both / (n * m)) * groups / (groups - 1.0)
    pooled = (off + off_other) / (n + m) * (1.0 / n + 1.0 / m)
    return x - y, np.sqrt(max(own, pooled)), 4.0 * n * m / (n + m), np.sqrt(own)


@njit
def draw() -> float:
    """A uniform number from the generator of compiled code."""
    return np.random.random()  # noqa: NPY002


@njit
def watch(
    holdout: Array, variant: Array, part: float, widths: Array, tests: int, seed: int, a_day: int
) -> NDArray[np.int64]:
    """When each test found something, by visits: below, above, and by a z-test at a day's end.

    There are as many visits as `widths`, in standard errors, by units; 0: nothing was found.
    """
    np.random.seed(seed)  # noqa: NPY002, the only generator of compiled code without an object
    when = np.zeros((tests, 3), np.int64)
    for test in range(tests):
        by_group, by_group_too = np.zeros((2, GROUPS)), np.zeros((2, GROUPS))
        sums = Sums(by_group, by_group_too, np.zeros((2, 2)), np.zeros((2, 3)), np.zeros(5))
        for visit in range(1, len(widths)):
            mine, group = int(draw() < part), int(draw() * GROUPS)
            pool = variant if mine else holdout
            add(sums, mine, group, pool[int(draw() * len(pool))])
            value, error, units, own = standing(sums)
            width = error * widths[int(units)]
            found = (value < -width, value > width, visit % a_day == 0 and abs(value) > Z95 * own)
            for kind in range(3):
                if found[kind] and when[test, kind] == 0:
                    when[test, kind] = visit
    return when


def _share(when: NDArray[np.int64]) -> str:
    found = share(float((when > 0).sum()), float(when.size))
    assert found is not None
    return f"{100 * found.value:.2f} % [{100 * found.low:.2f}, {100 * found.high:.2f}]"


def _quantiles(when: NDArray[np.int64]) -> str:
    found = np.where(when > 0, when, np.iinfo(np.int64).max)
    shown = (np.quantile(found, q, method="higher") for q in (0.1, 0.5, 0.9))
    return ", ".join(f"{x:,}" if x < np.iinfo(np.int64).max else "not found" for x in shown)


def row(name: str, worth: float, part: float, tests: int, visits: int, seed: int) -> list[str]:
    """Tests of a variant that earns `worth` times as much, with this share of the visits."""
    rng = np.random.default_rng([seed, round(1000 * worth), round(1000 * part)])
    holdout, variant = (REWARDS[name](each, POOL, rng).astype(float) for each in (1.0, worth))
    widths = np.array([radius(t) for t in range(visits + 1)])
    when = watch(holdout, variant, part, widths, tests, int(rng.integers(2**31)), A_DAY)
    shares = (_share(when[:, kind]) for kind in range(3))
    found = when[:, 0] if worth <= 1.0 else when[:, 1]
    return [name, f"{worth:.0%}", f"{part:.0%}", *shares, _quantiles(found)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=4_000, help="how many of each kind")
    parser.add_argument("--visits", type=int, default=100_000, help="of both variants together")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = [row(*kind, options.tests, options.visits, options.seed) for kind in KINDS]
    title = f"{options.tests:,} tests of each kind, {options.visits:,} visits each, {A_DAY} a day"
    print(Table(title, HEADER, rows, left=1).text())


if __name__ == "__main__":
    main()

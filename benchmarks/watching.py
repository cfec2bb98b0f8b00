"""``python -m benchmarks.watching``: comparisons of two variants, looked at after every visit.

Visits of setting B with one arm shown, whose total rewards are far from normal. In A/A tests both
variants show the same; how often is a difference found that is not there, by the confidence
sequence at every visit, and by a z-test at the end of every day? Then one variant earns a twentieth
less or more per visit: after how many visits is that found?
"""

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn import Problem
from sojourn.paper import SETTINGS
from sojourn.stats.intervals import FIRST, Z95, radius, share

from .report import Table

Array = NDArray[np.float64]

USER, MEAN = SETTINGS["B"].user, 0.8
POOL = 1_000_000
"""Visits that were simulated; tests draw from them."""

KINDS = (
    ("the same", 1.0, 0.5), ("the same", 1.0, 0.1), ("5 % less", 0.95, 0.5),
    ("5 % less", 0.95, 0.1), ("5 % more", 1.05, 0.5),
)  # fmt: skip
HEADER = (
    "variant", "its share", "found below", "found above", "daily z-test finds",
    "visits until found: 10, 50, 90 %",
)  # fmt: skip


@dataclass(frozen=True)
class Watch:
    """How long is watched, how many visits per day has, and which share of them one variant has."""

    visits: int = 20_000
    a_day: int = 500
    part: float = 0.5


def value(mean: float) -> float:
    """The expected reward of a visit in which one arm of this mean is shown."""
    return Problem([mean, mean], USER).value(1)


def mean_for(wanted: float) -> float:
    """The mean with this `value`."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) < wanted else (low, middle)
    return low


def totals(mean: float, visits: int, rng: np.random.Generator) -> Array:
    """Total rewards of so many visits in which one arm of this mean is shown."""
    q = np.array([[USER.leave_probability(s, r, 0) for r in (0.0, 1.0)] for s in (0.0, 1.0)])
    gained, state = np.zeros(visits), np.ones(visits, np.int64)
    here = np.arange(visits)
    while here.size:
        rewards = (rng.random(here.size) < mean).astype(np.int64)
        gained[here] += rewards
        stays = rng.random(here.size) >= q[state[here], rewards]
        state[here] = rewards
        here = here[stays]
    return gained


def standing(holdout: Array, variant: Array, to_variant: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The difference of means, variant less holdout, after every visit, and its standard error.

    Visit i went to the variant, with the total variant[i], or else to the holdout. No number where
    either has fewer than `FIRST` visits.
    """
    means, variances = [], []
    for totals_of, mine in ((variant, to_variant), (holdout, ~to_variant)):
        n = np.maximum(mine.cumsum(), 2)
        sums, squares = (totals_of * mine).cumsum(), (totals_of**2 * mine).cumsum()
        means.append(sums / n)
        variance = (squares - sums**2 / n) / (n - 1) / n
        variances.append(np.where(mine.cumsum() >= FIRST, variance, np.nan))
    return means[0] - means[1], np.sqrt(variances[0] + variances[1])


def first_look(found: NDArray[np.bool_]) -> int:
    """The visit at which something was found first, or 0."""
    return int(found.argmax()) + 1 if found.any() else 0


def watch(
    holdout: Array, variant: Array, tests: int, how: Watch, rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """When each test found something, by visits: below, above, either; and a z-test every day."""
    widths = np.array([radius(t) for t in range(1, how.visits + 1)])
    days = np.arange(1, how.visits + 1) % how.a_day == 0
    kinds = ("below", "above", "either", "daily z-test")
    when = {kind: np.zeros(tests, np.int64) for kind in kinds}
    for i in range(tests):
        draws = (rng.choice(pool, how.visits) for pool in (holdout, variant))
        difference, error = standing(*draws, rng.random(how.visits) < how.part)
        with np.errstate(invalid="ignore"):
            z = difference / error
            below, above, daily = z < -widths, z > widths, (np.abs(z) > Z95) & days
        for kind, found in zip(kinds, (below, above, below | above, daily), strict=True):
            when[kind][i] = first_look(found)
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
    pools = [totals(mean_for(each * value(MEAN)), POOL, rng) for each in (1.0, worth)]
    when = watch(pools[0], pools[1], tests, Watch(visits, part=part), rng)
    shares = (_share(when[kind]) for kind in ("below", "above", "daily z-test"))
    return [name, f"{part:.0%}", *shares, _quantiles(when["either"])]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=10_000, help="how many of each kind")
    parser.add_argument("--visits", type=int, default=20_000, help="of both variants together")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = [row(*kind, options.tests, options.visits, options.seed) for kind in KINDS]
    title = (
        f"{options.tests:,} tests of each kind, {options.visits:,} visits each, {Watch.a_day} a "
        f"day; reward per visit {value(MEAN):.3f}"
    )
    print(Table(title, HEADER, rows, left=1).text())


if __name__ == "__main__":
    main()

"""How often the monitor of changes is wrong, and how soon right (`python -m benchmarks.drifting`).

A day of traffic in buckets of five minutes: users come at random, 20 to a bucket, and are shown
three arms at random, until they go. They differ: what one likes is drawn from a beta distribution
around the mean of each arm, and the exit rate from one around 0.2. The monitor looks
every half hour. In one kind of run nothing changes, in others the second arm does, at noon.
"""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sojourn.stats.changes import changes_in, dispersion
from sojourn.stats.moments import Array

MEANS, LEAVES = (0.6, 0.42, 0.3), 0.2
BUCKETS, USERS, EVERY = 288, 20.0, 6
DELTA = 0.05
ALIKE, DIFFERENT, VERY_DIFFERENT = np.inf, 8.0, 2.0
"""How alike users are: the two parameters of the beta distribution sum to this."""


class Day(NamedTuple):
    """Successes and trials by bucket, of each arm and then of leaving."""

    won: Array
    made: Array


def day(random: np.random.Generator, alike: float, after: float | None) -> Day:
    """One day; from noon on the mean of the second arm is `after`."""
    users = random.poisson(USERS, BUCKETS)
    bucket = np.repeat(np.arange(BUCKETS), users)
    steps = random.geometric(_tastes(random, LEAVES, alike, len(bucket)).clip(0.01, 1.0))
    shown = random.multinomial(steps, np.full(len(MEANS), 1.0 / len(MEANS)))
    won, made = [], []
    for arm, mean in enumerate(MEANS):
        other = arm == 1 and after is not None
        now = np.where(other & (bucket >= BUCKETS // 2), after, mean).astype(float)
        liked = random.binomial(shown[:, arm], _tastes(random, now, alike, len(bucket)))
        won.append(np.bincount(bucket, liked, BUCKETS))
        made.append(np.bincount(bucket, shown[:, arm], BUCKETS))
    gone, all_steps = np.bincount(bucket, minlength=BUCKETS), np.bincount(bucket, steps, BUCKETS)
    return Day(np.array([*won, gone], float), np.array([*made, all_steps], float))


def _tastes(random: np.random.Generator, mean: Any, alike: float, users: int) -> Array:
    if alike == ALIKE:
        return np.broadcast_to(mean, users)
    return random.beta(mean * alike, (1.0 - np.asarray(mean)) * alike, users)


def found(day: Day, until: int) -> tuple[bool, bool]:
    """Whether a look at the first buckets finds a change of the second arm, and any other one."""
    won, made = day.won[:, :until], day.made[:, :until]
    arms = dispersion(zip(won[:-1], made[:-1], strict=True))
    leaving = dispersion([(won[-1], made[-1])])
    said = []
    for place in range(len(won)):
        factor = leaving if place == len(won) - 1 else arms
        changes = (
            changes_in(won[place], made[place], delta=DELTA / len(won), overdispersion=factor)
            if factor is not None
            else []
        )
        said.append(bool(changes))
    return said[1], said[0] or any(said[2:])


class Outcome(NamedTuple):
    """When a change of the second arm was found, by the bucket, and whether any other one was.

    With the steps of that arm from noon until it was found, and until midnight.
    """

    at: int | None
    other: bool
    steps: float
    all_steps: float


def watch(random: np.random.Generator, alike: float, after: float | None) -> Outcome:
    """One day, looked at again and again until the second arm is said to have changed."""
    traffic, other = day(random, alike, after), False
    after_noon = traffic.made[1, BUCKETS // 2 :].cumsum()
    for until in range(EVERY, BUCKETS + 1, EVERY):
        second, others = found(traffic, until)
        other = other or others
        if second:
            steps = float(after_noon[until - BUCKETS // 2 - 1]) if until > BUCKETS // 2 else 0.0
            return Outcome(until, other, steps, float(after_noon[-1]))
    return Outcome(None, other, 0.0, float(after_noon[-1]))


class Row(NamedTuple):
    """Shares of runs with a right and a wrong alarm; medians of steps of the arm after noon.

    Those until the right alarm, and those until midnight.
    """

    users: str
    changes: str
    found: float
    wrong: float
    steps: float | None
    all_steps: float


def measure(runs: int, seed: int = 1) -> Iterator[Row]:
    """A row for each kind of users and of change."""
    noon = BUCKETS // 2
    kinds = {"alike": ALIKE, "different": DIFFERENT, "very different": VERY_DIFFERENT}
    for users, alike in kinds.items():
        for after in (None, 0.31, 0.37):
            random = np.random.default_rng(seed)
            outcomes = [watch(random, alike, after) for _ in range(runs)]
            first = BUCKETS if after is None else noon  # from where on an alarm is right
            right = [each.steps for each in outcomes if (each.at or 0) > first]
            wrong = sum(each.other or 0 < (each.at or 0) <= first for each in outcomes)
            delay = float(np.median(right)) if right else None
            steps = float(np.median([each.all_steps for each in outcomes]))
            what = "nothing" if after is None else f".42 to {after:g}"
            yield Row(users, what, len(right) / runs, wrong / runs, delay, steps)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(
        "users           what changes  found   false alarms  steps of the arm until found, in all"
    )
    for row in measure(given.runs, given.seed):
        steps = "-" if row.steps is None else f"{row.steps:,.0f}"
        print(
            f"{row.users:<15} {row.changes:<13} {row.found:6.1%}  {row.wrong:6.2%}        "
            f"{steps} of {row.all_steps:,.0f}"
        )


if __name__ == "__main__":
    main()

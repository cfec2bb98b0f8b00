"""How often the monitor of changes is wrong, and how soon right (`python -m benchmarks.drifting`).

Weeks of traffic in hours: 2,000 visits a day, more by day than by night, in which three arms are
shown at random until the user leaves, after a step with a chance of 0.2. Users differ: what one
likes is drawn from a beta distribution around the mean of each arm at that hour, and the exit rate
likewise. The monitor looks at the end of every day. For false alarms nothing changes in eight weeks
but what a kind of world says; for delays the mean of one arm falls after two weeks or four.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sojourn.stats.days import DAY, DAYS, Sums, watch
from sojourn.stats.intervals import share
from sojourn.stats.moments import Array

MEANS, LEAVES = np.array([0.6, 0.42, 0.3]), 0.2
VISITS, HOURS = 2_000.0, 24
ALIKE = 8.0
"""How alike users are: the two parameters of the beta distribution sum to this."""
DELTA, FALL = 0.05, -0.05
BEGAN = 20_000 * DAY
MOOD = 0.03, np.exp(-1.0 / 6.0)  # its standard deviation, and what is left of it after an hour


def lift(random: np.random.Generator, kind: str, hours: int) -> Array:
    """What a world adds to the means by [arm, hour]."""
    t = np.arange(hours)
    saturday, total = t // HOURS % 7 >= 5, np.zeros((len(MEANS), hours))
    if "daily rhythm" in kind:
        total += 0.2 * np.sin(2.0 * np.pi * t / HOURS)
    if "weekend" in kind:
        total += 0.12 * saturday
    if "weekends of one arm" in kind:
        total[1:] -= 0.12 * saturday
    if "mood" in kind:
        many = len(MEANS) if "of each arm" in kind else 1
        noise, mood = random.standard_normal((many, hours)), np.empty((many, hours))
        mood[:, 0] = noise[:, 0]
        for i in range(1, hours):
            mood[:, i] = MOOD[1] * mood[:, i - 1] + np.sqrt(1.0 - MOOD[1] ** 2) * noise[:, i]
        total += MOOD[0] * mood
    return total


KINDS = (
    "nothing", "daily rhythm", "weekend", "mood", "daily rhythm, weekend, mood", "mood of each arm",
    "weekends of one arm", "daily rhythm, weekend, mood; shares that move",
)  # fmt: skip


class World(NamedTuple):
    """Sums by hour of the arms and of leaving, and when hours begin."""

    arms: Sums
    leaving: Sums
    starts: Array

    def until(self, day: int) -> "World":
        """The first days."""
        cut = [Sums(*(each[:, : day * HOURS] for each in sums)) for sums in self[:2]]
        return World(*cut, self.starts[: day * HOURS])


def world(
    random: np.random.Generator,
    kind: str,
    days: int = DAYS,
    change: tuple[int, int] | None = None,
    each: float = LEAVES,
) -> World:
    """So many days; with a `change`, (day, arm), the mean of that arm falls by then.

    Visits end after a step with the chance `each`.
    """
    hours = days * HOURS
    means = MEANS[:, None] + lift(random, kind, hours)
    if change is not None:
        means[change[1], change[0] * HOURS :] += FALL
    traffic = 1.0 + 0.5 * np.sin(2.0 * np.pi * (np.arange(hours) % HOURS - 15.0) / HOURS)
    hour = np.repeat(np.arange(hours), random.poisson(VISITS / HOURS * traffic))
    leaves = random.beta(each * ALIKE, (1.0 - each) * ALIKE, hour.size) if each < 1.0 else 1.0
    steps = random.geometric(np.broadcast_to(leaves, hour.size).clip(0.02, 1.0))
    shares = np.full((hours, len(MEANS)), 1.0 / len(MEANS))
    if "shares that move" in kind:
        to = np.linspace(0.0, 1.0, hours)[:, None]
        shares = (1.0 - to) * shares + to * np.array([0.9, 0.07, 0.03])
    shown = random.multinomial(steps, shares[hour])
    won, made = np.zeros((len(MEANS), hours)), np.zeros((len(MEANS), hours))
    for arm, mean in enumerate(means.clip(0.01, 0.99)):
        likes = random.beta(mean[hour] * ALIKE, (1.0 - mean[hour]) * ALIKE)
        won[arm] = np.bincount(hour, random.binomial(shown[:, arm], likes), hours)
        made[arm] = np.bincount(hour, shown[:, arm], hours)
    gone, every = np.bincount(hour, minlength=hours), np.bincount(hour, steps, hours)
    leaving = Sums(gone[None].astype(float), every[None])
    return World(Sums(won, made), leaving, BEGAN + np.arange(hours) * DAY / HOURS)


class Alarm(NamedTuple):
    """The day at whose end something was first told, and of which series."""

    day: int
    series: list[int]


def first_alarm(made: World, begin: int = 1) -> Alarm | None:
    """The first one, if one looks at the end of every day from `begin` on."""
    for day in range(begin, len(made.starts) // HOURS + 1):
        found = [i for i, each in enumerate(watch(*made.until(day), DELTA)) if each]
        if found:
            return Alarm(day, found)
    return None


def false_alarms(kind: str, runs: int, seed: int = 1) -> int:
    """In how many worlds anything is told within eight weeks."""
    made = (world(np.random.default_rng([seed, run]), kind) for run in range(runs))
    return sum(first_alarm(each) is not None for each in made)


def delays(kind: str, after: int, runs: int, seed: int = 1, each: float = LEAVES) -> list[float]:
    """Days until a fall of one arm is told as one of that arm; infinite if not within 28."""
    found = []
    for run in range(runs):
        arm, random = run % len(MEANS), np.random.default_rng([seed, run])
        made = world(random, kind, after + 28, (after, arm), each)
        days = range(after + 1, after + 29)
        right = (day - after for day in days if watch(*made.until(day), DELTA)[arm])
        found.append(float(next(right, np.inf)))
    return found


def quantiles(days: list[float]) -> str:
    """The 10th, 50th and 90th of a hundred."""
    return ", ".join(f"{x:g}" for x in np.quantile(days, [0.1, 0.5, 0.9], method="higher"))


def rows(runs: int, found: int) -> Iterator[str]:
    """The lines of the report."""
    yield f"{'nothing changes but':<46} alarms in {DAYS} days, of {runs} worlds"
    for kind in KINDS:
        alarms = false_alarms(kind, runs)
        told = share(alarms, runs)
        assert told is not None
        yield f"{kind:<46} {alarms:4d}  {told.value:6.1%} ({told.low:.1%} to {told.high:.1%})"
    yield f"\n{f'a fall of {-FALL:g} after':<46} days until told: 10, 50, 90 % of {found} worlds"
    for kind in (KINDS[0], KINDS[4], KINDS[5]):
        for after in (14, 28):
            yield f"{kind + f', {after} days':<46} {quantiles(delays(kind, after, found))}"
    once = delays(KINDS[0], 28, found, each=1.0)
    yield f"{'nothing, 28 days, visits of one step':<46} {quantiles(once)}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="worlds of each kind")
    parser.add_argument("--found", type=int, default=100, help="worlds in which one arm falls")
    given = parser.parse_args()
    for line in rows(given.runs, given.found):
        print(line, flush=True)


if __name__ == "__main__":
    main()

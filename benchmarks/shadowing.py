"""How often a shadow report errs on propensities (`python -m benchmarks.shadowing`).

Users of a recommender whose choice depends on the state leave sooner after no reward. The policy in
its shadow would nearly always show the last arm, which earns less but is mostly shown after a
reward. Chances are told as they are, or mixed with the shares of all steps ("marginal"), which
makes that arm look good. The report is read after every 100 users. A report that only looks at
the mean weight of all steps is beside it.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sojourn.live.monitor.shadow import CANNOT_TELL, READY, evaluated, judged
from sojourn.stats.intervals import share
from sojourn.stats.matching import Steps
from sojourn.stats.moments import Array

LEAVES = np.array([[0.55, 0.4], [0.25, 0.1]])  # by state and reward
USERS, EVERY = 3_000, 100
MARGIN = 0.05


class Kind(NamedTuple):
    """Means of arms, and the chances of the recommender by [type of user, state, arm].

    The policy would show the last arm, and now and then (`tries`) any other one.
    """

    means: Array
    chances: Array
    tries: float = 0.1


THREE = np.array([0.5, 0.5, 0.42])
MOODY = np.array([[0.45, 0.45, 0.1], [0.2, 0.2, 0.6]])
RARE = np.array([[0.68, 0.3, 0.02], [0.3, 0.65, 0.05]])
TEN = np.full((1, 2, 10), 0.08)
TEN[0, :, 9] = 0.28
KINDS = {
    "by state": Kind(THREE, MOODY[None]),
    "by state, arms at random": Kind(THREE, MOODY[None], 1.0),
    "by state and user": Kind(THREE, np.array([MOODY, MOODY[::-1]])),
    "rarely shown": Kind(THREE, RARE[None]),
    "ten arms": Kind(np.linspace(0.6, 0.4, 10), TEN, 0.5),
}


class Log(NamedTuple):
    """The steps of users one after the other, and the arm and state of what would be shown."""

    steps: Steps
    cells: Array

    def until(self, users: int) -> tuple[Steps, list[tuple[str, str]]]:
        """The first users."""
        end = int(np.searchsorted(self.steps.user, users))
        keys = [(str(arm), str(state)) for arm, state in self.cells[:end]]
        return Steps(*(column[:end] for column in self.steps)), keys


def log(random: np.random.Generator, kind: Kind, marginal: float = 0.0) -> Log:
    """One visit of each user; the chances told are marginal shares to this part."""
    types, _, arms = kind.chances.shape
    of = random.integers(0, types, USERS)
    here, state, found = np.arange(USERS), np.ones(USERS, np.int64), []
    while here.size:
        chances = kind.chances[of[here], state[here]]
        shown = (random.random(here.size)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        shown = shown.clip(0, arms - 1)
        other = random.random(here.size) < kind.tries
        would = np.where(other, random.integers(0, arms, here.size), arms - 1)
        reward = (random.random(here.size) < kind.means[shown]).astype(np.int64)
        left = random.random(here.size) < LEAVES[state[here], reward]
        true = chances[np.arange(here.size), shown]
        found.append(np.array([here, shown, would, state[here], true, reward, left], float))
        state[here] = reward
        here = here[~left]
    rows = np.concatenate(found, axis=1)
    user, shown, would, state, true, reward, left = rows[:, np.argsort(rows[0], kind="stable")]
    shares = np.bincount(shown.astype(int), minlength=arms) / shown.size
    told = (1.0 - marginal) * true + marginal * shares[shown.astype(int)]
    steps = Steps(user, shown == would, told, reward, left)
    return Log(steps, np.column_stack([would, state]).astype(int))


class Read(NamedTuple):
    """After how many users a report was ready first, and after how many it could not tell."""

    ready: float
    cannot_tell: float


def read(made: Log, arms: int, by_cell: bool = True) -> Read:
    """One log, read again and again."""
    first = {READY: np.inf, CANNOT_TELL: np.inf}
    for users in range(EVERY, USERS + 1, EVERY):
        steps, keys = made.until(users)
        if not by_cell:
            keys = [("any", "any")] * len(keys)
        found = evaluated(steps, keys, 2 * arms if by_cell else 1, 0.05)
        verdict, _ = judged(*found, MARGIN)
        if verdict in first:
            first[verdict] = min(first[verdict], users)
        if verdict == CANNOT_TELL:
            break
    return Read(first[READY], first[CANNOT_TELL])


def measure(kind: Kind, marginal: float, runs: int, by_cell: bool = True) -> list[Read]:
    """So many logs."""
    logs = (log(np.random.default_rng([2, run]), kind, marginal) for run in range(runs))
    return [read(made, len(kind.means), by_cell) for made in logs]


def rows(runs: int) -> Iterator[str]:
    """The lines of the report."""
    yield f"{'chances':<28} marginal  check      ready  cannot tell            after users, median"
    cases = [(name, 0.0, True) for name in KINDS]
    cases += [("by state", marginal, cells) for marginal in (0.25, 0.5, 1.0) for cells in (0, 1)]
    for name, marginal, cells in cases:
        found = measure(KINDS[name], marginal, runs, bool(cells))
        ready = sum(each.ready < np.inf for each in found)
        when = [each.cannot_tell for each in found]
        cannot = share(sum(x < np.inf for x in when), runs)
        assert cannot is not None
        yield (
            f"{name:<28} {marginal:8.0%}  {'arm, state' if cells else 'all steps':<10}"
            f" {ready / runs:5.1%}  {cannot.value:6.1%} ({cannot.low:.1%} to {cannot.high:.1%})"
            f"  {np.quantile(when, 0.5, method='higher'):g}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="logs of each kind")
    for line in rows(parser.parse_args().runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()

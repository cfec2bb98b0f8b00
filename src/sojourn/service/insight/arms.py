"""The arms of an experiment as a table of sums; rows are made for those that are looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...live.records import Arm, Counts
from ...policies.base import Array
from .intervals import Interval, Z, share


@dataclass(frozen=True)
class Cell:
    """An arm in one state; no mean before its first pull there."""

    state: str
    pulls: float
    mean: Interval | None


@dataclass(frozen=True)
class ArmRow:
    """An arm: `pulls` were counted here, `prior_pulls` come from a warm start.

    `mean` is over both, as the policy sees it; those of `states` over what was counted here.
    """

    name: str
    retired: bool
    pulls: float
    prior_pulls: float
    prior_rewards: float
    mean: Interval | None
    states: tuple[Cell, ...]


@dataclass(frozen=True)
class ArmPage:
    """Some of the arms, in the order of their pulls."""

    rows: tuple[ArmRow, ...]
    found: int
    page: int
    pages: int


@dataclass(frozen=True, eq=False)
class ArmTable:
    """Pulls and rewards by [arm, bin of the state], and prior ones by arm."""

    names: tuple[str, ...]
    states: tuple[str, ...]
    retired: Array
    pulls: Array
    rewards: Array
    prior_pulls: Array
    prior_rewards: Array

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def all_pulls(self) -> Array:
        """By arm, prior ones included."""
        total: Array = self.pulls.sum(axis=1) + self.prior_pulls
        return total

    @cached_property
    def means(self) -> Array:
        """By arm, prior counts included; 0 for an arm without pulls."""
        total: Array = self.rewards.sum(axis=1) + self.prior_rewards
        return total / np.where(self.all_pulls > 0.0, self.all_pulls, 1.0)

    @cached_property
    def best(self) -> int | None:
        """The arm in use of greatest lower bound: one lucky pull does not make an arm the best."""
        using = (self.all_pulls > 0.0) & (self.retired == 0.0)
        return int(np.argmax(np.where(using, self._lower, -1.0))) if using.any() else None

    @property
    def best_name(self) -> str | None:
        """Its name."""
        return None if self.best is None else self.names[self.best]

    @cached_property
    def _lower(self) -> Array:
        """The lower end of Wilson's interval, as in `intervals.share`."""
        n = np.where(self.all_pulls > 0.0, self.all_pulls, 1.0)
        p, z2 = self.means, Z * Z / n
        spread = np.sqrt(np.maximum(p * (1.0 - p), 0.0) / n + z2 / (4.0 * n))
        lower: Array = (p + z2 / 2.0 - Z * spread) / (1.0 + z2)
        return lower

    @property
    def behind(self) -> Array:
        """How far each mean is below that of the best arm; 0 where there is no mean."""
        if self.best is None:
            return np.zeros(len(self))
        return np.where(self.all_pulls > 0.0, self.means[self.best] - self.means, 0.0)

    @property
    def noise(self) -> Array:
        """The variance of every mean; as if one success and one failure more had been seen."""
        n = self.all_pulls + 2.0
        p = (self.means * self.all_pulls + 1.0) / n
        noise: Array = p * (1.0 - p) / n
        return noise

    def of_states(self, bins: Sequence[int]) -> "ArmTable":
        """The same for some of the states."""
        return replace(
            self, states=tuple(self.states[b] for b in bins),
            pulls=self.pulls[:, bins], rewards=self.rewards[:, bins],
        )  # fmt: skip

    def page(self, search: str = "", page: int = 1, size: int = 20) -> ArmPage:
        """Those whose name contains `search`, most pulls first; the page is one that there is.

        Arms in use come before those that are retired.
        """
        wanted = search.strip().casefold()
        found = [i for i, name in enumerate(self.names) if wanted in name.casefold()]
        at = np.array(found, dtype=int)
        order = at[np.lexsort((at, -self.all_pulls[at], self.retired[at]))]
        pages = max(-(-len(found) // max(size, 1)), 1)
        page = min(max(page, 1), pages)
        shown = order[(page - 1) * size : page * size]
        return ArmPage(tuple(self._row(int(i)) for i in shown), len(found), page, pages)

    def _row(self, i: int) -> ArmRow:
        cells = tuple(
            Cell(state, float(n), share(float(r), float(n)))
            for state, n, r in zip(self.states, self.pulls[i], self.rewards[i], strict=True)
        )
        pulls, prior = float(self.pulls[i].sum()), float(self.prior_pulls[i])
        rewards = float(self.rewards[i].sum()) + float(self.prior_rewards[i])
        return ArmRow(
            self.names[i], bool(self.retired[i]), pulls, prior, float(self.prior_rewards[i]),
            share(rewards, pulls + prior), cells,
        )  # fmt: skip


def arm_table(arms: Sequence[Arm], counts: Counts, states: Sequence[str]) -> ArmTable:
    """The table from the counters of a store.

    >>> counts = {("pulls", 0, 1, 0): 4.0, ("successes", 0, 1, 0): 3.0}
    >>> table = arm_table([Arm(0, "dance"), Arm(1, "news", pulls=4)], counts, ["bad", "good"])
    >>> table.best_name, table.page("news").rows[0].mean.value
    ('dance', 0.0)
    """
    sums = {what: np.zeros((len(arms), len(states))) for what in ("pulls", "successes")}
    row = {arm.position: i for i, arm in enumerate(arms)}
    for (what, position, b, _), amount in counts.items():
        if what in sums and position in row:
            sums[what][row[position], b] += amount
    return ArmTable(
        tuple(arm.name for arm in arms), tuple(states),
        np.array([float(arm.retired) for arm in arms]), sums["pulls"], sums["successes"],
        np.array([arm.pulls for arm in arms], dtype=float),
        np.array([arm.successes for arm in arms], dtype=float),
    )  # fmt: skip

"""The arms of an experiment: sums over all of them at once, visit values, rows that are shown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...chain import total
from ...policies.base import Array
from ...stats.departures import ArmEffects, logit, probability
from ...stats.intervals import Z95, Interval, share
from ..records import Arm, Counts

AT_ONCE = 1_000_000
"""Numbers in the matrices that are solved together."""


@dataclass(frozen=True)
class ArmInState:
    """An arm in one state; `mean` is None before its first pull there."""

    state: str
    pulls: float
    mean: Interval | None


@dataclass(frozen=True)
class ArmRow:
    """An arm: `pulls` were counted by this experiment, `prior_pulls` come from a warm start.

    `mean` is over both, as the policy sees it; the means in `states` are over `pulls` only.
    `visit_value` is the expected reward of a visit if it is always shown; `leave_ratio` how many
    times as often users leave after it as after other arms, in the same state and with the same
    rewards (None if it cannot be said yet).
    """

    name: str
    retired: bool
    pulls: float
    prior_pulls: float
    prior_rewards: float
    mean: Interval | None
    visit_value: Interval | None
    leave_ratio: Interval | None
    states: tuple[ArmInState, ...]


@dataclass(frozen=True)
class ArmPage:
    """One page of the arms that a search has found."""

    rows: tuple[ArmRow, ...]
    found: int
    page: int
    pages: int


@dataclass(frozen=True, eq=False)
class ArmSums:
    """Pulls and rewards by [arm, bin of the state], and prior ones by arm."""

    names: tuple[str, ...]
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
    def all_rewards(self) -> Array:
        """By arm, prior ones included."""
        total: Array = self.rewards.sum(axis=1) + self.prior_rewards
        return total

    @cached_property
    def means(self) -> Array:
        """By arm, prior counts included; 0 for an arm without pulls."""
        return self.all_rewards / np.where(self.all_pulls > 0.0, self.all_pulls, 1.0)

    @cached_property
    def best(self) -> int | None:
        """The active arm of greatest lower bound: one lucky pull does not make an arm the best."""
        active = (self.all_pulls > 0.0) & (self.retired == 0.0)
        return int(np.argmax(np.where(active, self._lower, -1.0))) if active.any() else None

    @property
    def best_name(self) -> str | None:
        return None if self.best is None else self.names[self.best]

    @cached_property
    def _lower(self) -> Array:
        """The lower end of Wilson's interval, as in `stats.intervals.share`."""
        n = np.where(self.all_pulls > 0.0, self.all_pulls, 1.0)
        p, z2 = self.means, Z95 * Z95 / n
        spread = np.sqrt(np.maximum(p * (1.0 - p), 0.0) / n + z2 / (4.0 * n))
        lower: Array = (p + z2 / 2.0 - Z95 * spread) / (1.0 + z2)
        return lower

    @property
    def behind(self) -> Array:
        """How far each mean is below that of the best arm; 0 where there is no mean."""
        if self.best is None:
            return np.zeros(len(self))
        return np.where(self.all_pulls > 0.0, self.means[self.best] - self.means, 0.0)

    @property
    def noise(self) -> Array:
        """The variance of every mean, with one success and one failure added to the counts."""
        n = self.all_pulls + 2.0
        p = (self.all_rewards + 1.0) / n
        noise: Array = p * (1.0 - p) / n
        return noise


@dataclass(frozen=True, eq=False)
class VisitValues:
    """What a visit is worth if one arm is always shown, by its rewards and departures.

    `effects` say how often users leave after an arm. `follow` has the chances of the next bin by
    [bin, level], `start` those of the first bin.
    """

    arms: ArmSums
    effects: ArmEffects
    follow: Array
    start: Array

    def of(self, arms: Sequence[int]) -> list[Interval | None]:
        """The value of a visit for some of the arms; None if an arm has no pulls."""
        if not len(arms):
            return []
        size = max(AT_ONCE // self.start.size**2, 1)
        parts = [self._part(np.array(arms[i : i + size])) for i in range(0, len(arms), size)]
        value, error = (np.concatenate(each) for each in zip(*parts, strict=True))
        known = self.arms.all_pulls[list(arms)] > 0.0
        return [
            Interval.from_error(float(v), float(e), least=0.0) if k else None
            for v, e, k in zip(value, error, known, strict=True)
        ]

    def _part(self, arms: Array) -> tuple[Array, Array]:
        """Values and their errors: those of the mean, and of how often users leave."""
        pulls = self.arms.all_pulls[arms]
        mean = (self.arms.all_rewards[arms] + 1.0) / (pulls + 2.0)
        good = (self._good[arms] + 1.0) / (pulls + 2.0)
        leave, noise = self.effects.leave[arms], np.sqrt(self.arms.noise[arms])
        odds, wide = logit(leave), self.effects.error[arms][:, None, None]
        by_mean = [self._solved(mean + s * noise, good + s * noise, leave) for s in (-1.0, 1.0)]
        by_leave = [self._solved(mean, good, probability(odds + s * wide)) for s in (-1.0, 1.0)]
        error = np.hypot(*(0.5 * (high - low) for low, high in (by_mean, by_leave)))
        return self._solved(mean, good, leave), error

    def _solved(self, mean: Array, good: Array, leave: Array) -> Array:
        """V(b) = mean + sum over levels of P(level) (1 - leave(b, level)) E V(next bin)."""
        good, leave = np.clip(good, 0.0, 1.0), np.clip(leave, 1e-9, 1.0)
        shares = np.stack([1.0 - good, good], axis=1)[:, None, :] * (1.0 - leave)
        onward = np.einsum("abr,brc->abc", shares, self.follow)
        gain = np.broadcast_to(mean[:, None], (len(mean), self.start.size))
        value: Array = total(onward, gain, None) @ self.start
        return value

    @cached_property
    def _good(self) -> Array:
        """Pulls with a good reward; where the level is not known, a share of the mean."""
        known = self.effects.table.seen.sum(axis=(1, 2))
        more = np.maximum(self.arms.all_pulls - known, 0.0) * self.arms.means
        good: Array = self.effects.table.seen[..., 1].sum(axis=1) + more
        return good


class ArmList(Sequence[ArmRow]):
    """The arms as rows, each made when it is asked for: active arms first, most pulls first."""

    def __init__(
        self,
        sums: ArmSums,
        bins: Sequence[int],
        states: Sequence[str],
        values: Callable[[Sequence[int]], list[Interval | None]],
        ratios: Callable[[int], Interval | None],
    ) -> None:
        self._sums, self._bins, self._states = sums, list(bins), tuple(states)
        self._values, self._ratio = values, ratios
        self._order: list[int] = np.lexsort((-sums.all_pulls, sums.retired)).tolist()

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, at: Any) -> Any:
        found = self._order[at]
        return self._rows(found) if isinstance(at, slice) else self._rows([found])[0]

    def __iter__(self) -> Iterator[ArmRow]:
        return iter(self[:])  # the values of all arms together

    def page(self, search: str = "", page: int = 1, size: int = 20) -> ArmPage:
        """One page of the arms whose name contains `search`: the nearest page that exists."""
        wanted, names = search.strip().casefold(), self._sums.names
        found = [i for i in self._order if wanted in names[i].casefold()]
        pages = max(-(-len(found) // size), 1)
        page = min(max(page, 1), pages)
        shown = found[(page - 1) * size : page * size]
        return ArmPage(self._rows(shown), len(found), page, pages)

    def _rows(self, arms: Sequence[int]) -> tuple[ArmRow, ...]:
        return tuple(map(self._row, arms, self._values(arms)))

    def _row(self, i: int, value: Interval | None) -> ArmRow:
        sums = self._sums
        pulls, rewards = sums.pulls[i, self._bins], sums.rewards[i, self._bins]
        by_state = zip(self._states, pulls.tolist(), rewards.tolist(), strict=True)
        prior_pulls, prior_rewards = float(sums.prior_pulls[i]), float(sums.prior_rewards[i])
        total = float(pulls.sum())
        return ArmRow(
            name=sums.names[i],
            retired=bool(sums.retired[i]),
            pulls=total,
            prior_pulls=prior_pulls,
            prior_rewards=prior_rewards,
            mean=share(float(rewards.sum()) + prior_rewards, total + prior_pulls),
            visit_value=value,
            leave_ratio=self._ratio(i),
            states=tuple(ArmInState(state, n, share(r, n)) for state, n, r in by_state),
        )


def arm_sums(arms: Sequence[Arm], counts: Counts, bins: int) -> ArmSums:
    """The sums from the counters of a store, for `bins` bins of the state.

    >>> counts = {("pulls", 0, 1, 0): 4.0, ("successes", 0, 1, 0): 3.0}
    >>> sums = arm_sums([Arm(0, "dance"), Arm(1, "news", pulls=4)], counts, bins=2)
    >>> sums.best_name, sums.means.tolist()
    ('dance', [0.75, 0.0])
    """
    sums = {what: np.zeros((len(arms), bins)) for what in ("pulls", "successes")}
    row = {arm.position: i for i, arm in enumerate(arms)}
    for (what, position, b, _), amount in counts.items():
        if what in sums and position in row:
            sums[what][row[position], b] += amount
    return ArmSums(
        names=tuple(arm.name for arm in arms),
        retired=np.array([float(arm.retired) for arm in arms]),
        pulls=sums["pulls"],
        rewards=sums["successes"],
        prior_pulls=np.array([arm.pulls for arm in arms], dtype=float),
        prior_rewards=np.array([arm.successes for arm in arms], dtype=float),
    )

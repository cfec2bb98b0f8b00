"""The arms of an experiment: sums over all of them at once, visit values, rows that are shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    `visit_value` is the expected reward of a visit if it is always shown; `leave_ratio` is how many
    times as often users leave after it as after other arms, in the same state and with the same
    rewards (None: not known yet).
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


class ArmPage(NamedTuple):
    """One page of the arms that a search found."""

    rows: tuple[ArmRow, ...]
    found: int
    page: int
    pages: int


@dataclass(frozen=True, eq=False)
class ArmSums:
    """`pulls` and `rewards` of this experiment by [arm, bin of the state]; the rest is by arm.

    That is over all bins, with prior counts. A mean is 0 without pulls, and its `noise` the
    variance with one success and one failure more. The `best` arm is the active one of greatest
    lower bound: one lucky pull does not make an arm the best. `behind` is how far each mean is
    below that of the best arm.
    """

    arms: tuple[Arm, ...]
    pulls: Array
    rewards: Array
    all_pulls: Array
    all_rewards: Array
    means: Array
    noise: Array
    active: NDArray[np.bool_]
    best: int | None
    behind: Array

    @property
    def best_name(self) -> str | None:
        return None if self.best is None else self.arms[self.best].name


@dataclass(frozen=True, eq=False)
class VisitValues:
    """The value of a visit if one arm is always shown, by its rewards and departures.

    `effects` say how often users leave after an arm. `follow` has the chances of the next bin by
    [bin, level], `start` those of the first bin.
    """

    sums: ArmSums
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
        known = self.sums.all_pulls[list(arms)] > 0.0
        return [
            Interval.from_error(float(v), float(e), least=0.0) if k else None
            for v, e, k in zip(value, error, known, strict=True)
        ]

    def _part(self, arms: Array) -> tuple[Array, Array]:
        """Values and their errors: those of the mean, and of how often users leave."""
        seen, pulls = self.effects.table.seen[arms], self.sums.all_pulls[arms]
        unknown = np.maximum(pulls - seen.sum(axis=(1, 2)), 0.0)  # their level: a share of the mean
        good = (seen[..., 1].sum(axis=1) + unknown * self.sums.means[arms] + 1.0) / (pulls + 2.0)
        mean = (self.sums.all_rewards[arms] + 1.0) / (pulls + 2.0)
        leave, noise = self.effects.leave[arms], np.sqrt(self.sums.noise[arms])
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


class ArmList(Sequence[ArmRow]):
    """The arms as rows, each made when it is asked for: active arms first, most pulls first."""

    def __init__(self, values: VisitValues, bins: Sequence[int], states: Sequence[str]) -> None:
        self._values, self._bins, self._states = values, list(bins), tuple(states)
        sums = values.sums
        order = np.lexsort((-sums.all_pulls, np.array([arm.retired for arm in sums.arms])))
        self._order: list[int] = order.tolist()

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, at: Any) -> Any:
        found = self._order[at]
        return self._rows(found) if isinstance(at, slice) else self._rows([found])[0]

    def __iter__(self) -> Iterator[ArmRow]:
        return iter(self[:])  # the values of all arms together

    def page(self, search: str = "", page: int = 1, size: int = 20) -> ArmPage:
        """One page of the arms whose name contains `search`: the nearest page that exists."""
        wanted, arms = search.strip().casefold(), self._values.sums.arms
        found = [i for i in self._order if wanted in arms[i].name.casefold()]
        pages = max(-(-len(found) // size), 1)
        page = min(max(page, 1), pages)
        shown = found[(page - 1) * size : page * size]
        return ArmPage(self._rows(shown), len(found), page, pages)

    def _rows(self, arms: Sequence[int]) -> tuple[ArmRow, ...]:
        return tuple(map(self._row, arms, self._values.of(arms)))

    def _row(self, i: int, value: Interval | None) -> ArmRow:
        sums = self._values.sums
        arm, pulls, rewards = sums.arms[i], sums.pulls[i, self._bins], sums.rewards[i, self._bins]
        by_state = zip(self._states, pulls.tolist(), rewards.tolist(), strict=True)
        total = float(pulls.sum())
        return ArmRow(
            name=arm.name,
            retired=bool(arm.retired),
            pulls=total,
            prior_pulls=float(arm.pulls),
            prior_rewards=float(arm.successes),
            mean=share(float(rewards.sum()) + arm.successes, total + arm.pulls),
            visit_value=value,
            leave_ratio=self._values.effects.interval(i),
            states=tuple(ArmInState(state, n, share(r, n)) for state, n, r in by_state),
        )


def arm_sums(arms: Sequence[Arm], counts: Counts, bins: int) -> ArmSums:
    """The sums from the counters of a store, for `bins` bins of the state."""
    counted = {what: np.zeros((len(arms), bins)) for what in ("pulls", "successes")}
    row = {arm.position: i for i, arm in enumerate(arms)}
    for (what, position, b, _), amount in counts.items():
        if what in counted and position in row:
            counted[what][row[position], b] += amount
    pulls = counted["pulls"].sum(axis=1) + np.array([arm.pulls for arm in arms], dtype=float)
    rewards = counted["successes"].sum(axis=1) + np.array([arm.successes for arm in arms], float)
    active = (pulls > 0.0) & ~np.array([arm.retired for arm in arms], dtype=bool)
    n = np.where(pulls > 0.0, pulls, 1.0)
    means, smoothed, behind = rewards / n, (rewards + 1.0) / (pulls + 2.0), np.zeros(len(arms))
    best = int(np.argmax(np.where(active, _lower(means, n), -1.0))) if active.any() else None
    if best is not None:
        behind = np.where(pulls > 0.0, means[best] - means, 0.0)
    return ArmSums(
        arms=tuple(arms),
        pulls=counted["pulls"],
        rewards=counted["successes"],
        all_pulls=pulls,
        all_rewards=rewards,
        means=means,
        noise=smoothed * (1.0 - smoothed) / (pulls + 2.0),
        active=active,
        best=best,
        behind=behind,
    )


def _lower(p: Array, n: Array) -> Array:
    """The lower end of Wilson's interval, as in `stats.intervals.share`."""
    z2 = Z95 * Z95 / n
    spread = np.sqrt(np.maximum(p * (1.0 - p), 0.0) / n + z2 / (4.0 * n))
    lower: Array = (p + z2 / 2.0 - Z95 * spread) / (1.0 + z2)
    return lower

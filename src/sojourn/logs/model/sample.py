"""Steps one by one: those of a sample of users leave the engine as arrays.

Totals are of the whole log. What needs the steps of a person in order (who the user is, the moving
average, how much rests on single users) is computed here from at most about `MOST` of them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stats.intervals import Interval
from ...stats.moments import Array
from ..reading import BUCKETS, CENSORED, LEFT, held_out
from ..reading.source import fetched
from .totals import CELLS, FIRST, UNKNOWN, Totals

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST = 1_000_000
"""Larger logs are sampled to about this many steps, of users picked by hash: they give a chance to
leave to a few parts in a thousand."""

NO_REWARD = 2
"""The code of a reward that is not known."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Steps by user, visit and number, in this order.

    * `user` and `visit` count from 0; visits of different users have different numbers;
    * `arm` is an index into `names`; rare arms together come after the last;
    * `previous` is 0, 1, `FIRST` or `UNKNOWN`; `reward` 0, 1 or `NO_REWARD`; `value` is the reward
      as it is, not a number where it is not known;
    * `end`: another step, left or censored; `held`: whether the user is held out;
    * `propensity`: the chance that the arm had, if the log says it.

    `share` is the share of the users that are in it, `ids` are their names in the log.
    """

    names: tuple[str, ...]
    user: Codes
    visit: Codes
    step: Codes
    arm: Codes
    previous: Codes
    reward: Codes
    value: Array
    end: Codes
    held: Flags
    propensity: Array | None = None
    share: float = 1.0
    ids: NDArray[Any] | None = None

    @property
    def users(self) -> int:
        return int(self.user[-1]) + 1

    @property
    def visits(self) -> int:
        return int(self.visit[-1]) + 1

    @property
    def arms(self) -> int:
        """The number of arms with enough pulls."""
        return len(self.names)

    @property
    def left(self) -> Flags:
        return np.asarray(self.end == LEFT)

    @property
    def telling(self) -> Flags:
        """Steps that tell who leaves: rewards known, now and before, and not censored."""
        known = (self.reward < NO_REWARD) & (self.previous != UNKNOWN)
        return np.asarray(known & (self.end != CENSORED))

    @property
    def cell(self) -> Codes:
        """An index into `CELLS`; without meaning where a reward is not known."""
        later = 2 + 2 * self.previous + self.reward
        return np.where(self.previous == FIRST, self.reward, later)

    @property
    def by_cell(self) -> Array:
        """Steps that tell who leaves, by [cell, arm], without the rare arms."""
        rows = self.telling & (self.arm < self.arms)
        code = self.cell[rows] * self.arms + self.arm[rows]
        found = np.bincount(code, minlength=len(CELLS) * self.arms)
        return found.reshape(len(CELLS), self.arms).astype(float)

    def of(self, users: Flags) -> "Sample":
        """The steps of some of the users."""
        rows, columns = users[self.user], vars(self) | {"ids": None}
        cut: dict[str, Any] = {
            name: column[rows] for name, column in columns.items() if isinstance(column, np.ndarray)
        }
        for name in ("user", "visit"):
            cut[name] = np.unique(cut[name], return_inverse=True)[1]
        return replace(self, **cut, ids=None if self.ids is None else self.ids[users])


def take(table: Any, totals: Totals, most: int = MOST) -> Sample:
    """Steps of about `most` of a table of steps (see `steps`), or all if there are no more."""
    share = min(1.0, most / int(totals.steps.sum()))
    table = table.filter(table.bucket < share * BUCKETS) if share < 1.0 else table
    more = [c for c in ("value", "propensity") if c in table.columns]
    rows = fetched(
        table.select(
            "user", "visit", "step", "arm", "previous", "reward", "end", *more,
            held=held_out(table),
        )
    )  # fmt: skip
    ids, user = np.unique(rows["user"], return_inverse=True)
    visit = np.unique(rows["visit"], return_inverse=True)[1]
    # One key in place of three: sorting takes a third of the time.
    longest, visits = int(rows["step"].max()) + 1, int(visit.max()) + 1
    order = np.argsort((user * visits + visit) * longest + rows["step"].astype(np.int64))
    rows = {name: column[order] for name, column in rows.items()}
    user, visit, step = user[order], visit[order], rows["step"].astype(np.int64)
    begins = np.ones(user.size, bool)
    begins[1:] = (user[1:] != user[:-1]) | (visit[1:] != visit[:-1])
    reward = _coded(rows["reward"], NO_REWARD)
    value = rows["value"].astype(float) if "value" in rows else reward.astype(float)
    names = totals.arms.names
    index = {name: i for i, name in enumerate(names)}
    return Sample(
        names=names,
        user=user,
        visit=np.cumsum(begins) - 1,
        step=step,
        arm=np.fromiter((index.get(a, len(names)) for a in rows["arm"]), np.int64, user.size),
        previous=np.where(step == 1, FIRST, _coded(rows["previous"], UNKNOWN)),
        reward=reward,
        value=np.where(reward == NO_REWARD, np.nan, value),
        end=rows["end"].astype(np.int64),
        held=rows["held"].astype(bool),
        propensity=rows["propensity"].astype(float) if "propensity" in rows else None,
        share=share,
        ids=ids,
    )


def _coded(column: NDArray[Any], missing: int) -> Codes:
    """Whole numbers; what is null in the engine comes as not a number or None."""
    found: Codes = np.nan_to_num(column.astype(float), nan=missing).astype(np.int64)
    return found


@dataclass(frozen=True, eq=False)
class Incumbent:
    """Rewards and steps of a visit under the log's own recommender, and what it showed.

    `reward` and `length` are means over the visits as they are, censored ones as far as they go,
    with intervals clustered by user. `rule` has the shares of the arms at the first step, after a
    0 and after a 1, rare arms left out; `shares` those over all steps.
    """

    reward: Interval
    length: Interval
    rule: Array
    shares: Array


def incumbent(totals: Totals, sample: Sample) -> Incumbent:
    """The earnings of the log's recommender, from totals, with errors from a sample of users."""
    visits, arms = float(totals.visits), totals.arms
    known = sample.reward < 2
    reward = (arms.successes.sum() + arms.other_successes) / visits
    length = float(totals.steps.sum()) / visits
    own = np.bincount(sample.user[sample.step == 1], minlength=sample.users).astype(float)

    def around(mean: float, of_steps: Array, least: float) -> Interval:
        total = np.bincount(sample.user, of_steps, sample.users).astype(float)
        residuals = total - total.sum() / own.sum() * own
        few = sample.users / max(sample.users - 1, 1)
        error = np.sqrt(residuals @ residuals * few) / own.sum() * np.sqrt(sample.share)
        return Interval.from_error(mean, float(error), least=least)

    return Incumbent(
        reward=around(float(reward), np.where(known, sample.value, 0.0), 0.0),
        length=around(length, np.ones(known.size), 1.0),
        rule=np.array([_shares(sample, sample.previous == previous) for previous in (FIRST, 0, 1)]),
        shares=arms.pulls / arms.pulls.sum(),
    )


def _shares(sample: Sample, rows: Array) -> Array:
    """Of the arms with enough pulls; those of all steps where there is none such."""
    for shown in (sample.arm[rows], sample.arm):
        counts = np.bincount(shown, minlength=sample.arms + 1)[: sample.arms]
        if counts.sum() > 0:
            break
    return np.asarray(counts / counts.sum(), np.float64)

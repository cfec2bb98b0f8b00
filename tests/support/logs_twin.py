"""The totals of a log from arrays, step by step: a twin of what the engines compute."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.logs.model.count import enough
from sojourn.logs.model.sample import Sample
from sojourn.logs.model.totals import FIRST, LONGEST, UNKNOWN, USER_SUMS, Arms, Totals

Log = dict[str, NDArray[Any]]

NOT_KNOWN = 2


def buckets(user: NDArray[Any]) -> NDArray[Any]:
    return np.array([int(u) % 100_003 * 7_919 % 100_003 % 4096 for u in user])


class Steps:
    """The rows of a log in order, with what came before and what came after."""

    def __init__(self, log: Log) -> None:
        order = np.lexsort((log["step"], log["visit"]))
        self.user, self.arm, visit = (np.asarray(log[c])[order] for c in ("user", "arm", "visit"))
        self.reward = np.asarray(log["reward"])[order].astype(np.int64)
        new = np.r_[True, visit[1:] != visit[:-1]]
        start = np.maximum.accumulate(np.where(new, np.arange(visit.size), 0))
        self.step = np.arange(visit.size) - start + 1
        self.visit = np.cumsum(new) - 1
        before = np.r_[-1, self.reward[:-1]]
        self.previous = np.where(before == NOT_KNOWN, UNKNOWN, before)
        self.previous[new] = FIRST
        self.same = ~new & (self.arm == np.r_[self.arm[:1], self.arm[:-1]])
        last = np.r_[new[1:], True]
        left = np.asarray(log["left"])[order] == 1
        self.end = np.where(~last, 0, np.where(left, 1, 2))
        people, self.person = np.unique(self.user, return_inverse=True)
        self.users = people.size
        self.held = (buckets(people) % 4 == 3)[self.person]


def twin(log: Log, min_pulls: int | None = None) -> Totals:
    s = Steps(log)
    steps = np.zeros((2, LONGEST, 4, 3, 3), np.int64)
    where = (s.held.astype(int), np.minimum(s.step, LONGEST) - 1, s.previous, s.reward, s.end)
    np.add.at(steps, where, 1)
    arms = _arms(s, min_pulls)
    return Totals(steps, s.users, arms, _products(s, arms))


def sample_twin(log: Log, propensity: bool = False) -> Sample:
    """The steps of all users, as they leave an engine; with the log's propensities if asked."""
    s = Steps(log)
    names = tuple(sorted({str(a) for a in s.arm.tolist()}))
    order = np.lexsort((s.step, s.visit, s.person))
    columns = {
        "user": s.person,
        "step": s.step,
        "arm": np.searchsorted(names, s.arm.astype(str)),
        "previous": s.previous,
        "reward": s.reward,
        "value": np.where(s.reward == NOT_KNOWN, np.nan, s.reward),
        "end": s.end,
        "held": s.held,
    }
    if propensity:
        columns["propensity"] = log["propensity"][np.lexsort((log["step"], log["visit"]))]
    columns = {name: column[order] for name, column in columns.items()}
    visit = np.cumsum(columns["step"] == 1) - 1
    return Sample(names=names, visit=visit, **columns)


def _arms(s: Steps, min_pulls: int | None) -> Arms:
    known = s.reward != NOT_KNOWN
    least = min_pulls or enough(int(known.sum()))
    rows, others = [], []
    for name in sorted(set(s.arm.tolist()), key=str):
        mine = known & (s.arm == name)
        pulls = np.bincount(s.person[mine], minlength=s.users).astype(float)
        wins = np.bincount(s.person[mine], s.reward[mine], minlength=s.users)
        pairs = [
            np.sum(mine & s.same & (s.previous == a) & (s.reward == b))
            for a in (0, 1)
            for b in (0, 1)
        ]
        row = (
            str(name),
            pulls.sum(),
            wins.sum(),
            [pulls @ pulls, pulls @ wins, wins @ wins],
            pairs,
        )
        (rows if pulls.sum() >= least else others).append(row)
    return Arms(
        tuple(r[0] for r in rows),
        *(np.array([r[i] for r in rows], float) for i in (1, 2, 3, 4)),
        others=len(others),
        other_pulls=int(sum(r[1] for r in others)),
        other_successes=int(sum(r[2] for r in others)),
        min_pulls=least,
    )


def _products(s: Steps, arms: Arms) -> NDArray[np.float64]:
    x = np.zeros((s.users, len(USER_SUMS)))
    known = s.reward != NOT_KNOWN
    names = s.arm.astype(str)
    for c, (previous, reward) in enumerate([(2, 0), (2, 1), (0, 0), (0, 1), (1, 0), (1, 1)]):
        here = (s.previous == previous) & (s.reward == reward)
        np.add.at(x[:, c], s.person[here & (s.end < 2)], 1.0)
        np.add.at(x[:, 6 + c], s.person[here & (s.end == 1)], 1.0)
    mean = dict(zip(arms.names, arms.means, strict=True))
    m = np.array([mean.get(n, np.nan) for n in names])
    own = known & ~np.isnan(m)
    masks = [known & (names == arms.names[arms.best]), own]
    for i, mask in enumerate(masks):
        np.add.at(x[:, 12 + 2 * i], s.person[mask], 1.0)
        np.add.at(x[:, 13 + 2 * i], s.person[mask], s.reward[mask].astype(float))
    np.add.at(x[:, 16], s.person[own], m[own])
    np.add.at(x[:, 17], s.person[own], m[own] * (1.0 - m[own]))
    x[:, 18] = 1.0
    return x.T @ x

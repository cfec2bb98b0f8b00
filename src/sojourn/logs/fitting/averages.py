"""Steps by the moving average of the visit's rewards: the queries behind an `EmaFit`."""

from math import log1p
from typing import Any

import ibis
import numpy as np

from ...stats.moments import Array
from ..reading.codes import BUCKETS, CENSORED, LEFT, held_out
from ..reading.source import fetched, kept
from .count import rewards
from .ema import BINS, CODES, REACH, SHIFT, THETAS, Averages, EmaFit, cap, choose, fitted
from .totals import Totals

SAMPLE = 1_000_000
"""Larger logs are sampled to about this many steps, of users picked by hash: running sums are the
most expensive query here, and this many give the average to a few parts in a thousand."""


def moving_average(table: Any, totals: Totals) -> EmaFit | None:
    """The moving-average user fitted to all steps, or to about `SAMPLE` of them if there are more.

    None if no visit has a second step with a known average.
    """
    share = min(1.0, SAMPLE / int(totals.steps.sum()))
    some = table.filter(table.bucket < share * BUCKETS) if share < 1.0 else table
    with kept(_with_averages(some)) as coded:
        averages = tuple(_averages(coded, i) for i in range(len(THETAS)))
        if averages[0].n.size == 0:
            return None
        choice = choose(averages)
        i = THETAS.index(choice.theta)
        return fitted(choice, averages[i], _bin_squares(coded, i, choice.start), totals.users)


def _with_averages(table: Any) -> Any:
    """The steps with the coded moving average of the visit's rewards for each theta: e0, e1, ...

    s_h = (1 - theta)^h s_0 + A_h, and A_h does not depend on the start:
    A_h = (1 - theta)^h * sum over j <= h of theta r_j (1 - theta)^-j is one running sum. It is
    null from the first unknown reward on, and beyond `REACH` steps, where it would overflow.
    """
    worth = rewards(table)
    table = table.select("user", "visit", "bucket", "step", "reward", "end", worth=worth)
    so_far = ibis.window(group_by=["user", "visit"], order_by="step", preceding=(None, 0))
    near, step = table.step <= REACH, ibis.least(table.step, REACH).cast("float64")
    unknown = table.reward.isnull().sum().over(so_far)
    made = {}
    for i, theta in enumerate(THETAS):
        rate = -log1p(-theta)
        grown = ibis.ifelse(near, table.worth * theta * (step * rate).exp(), 0.0)
        average = grown.sum().over(so_far) * (step * -rate).exp()
        code = ibis.ifelse(near, (average * CODES + SHIFT).floor(), ibis.null("float64"))
        made[f"e{i}"] = ibis.ifelse(unknown == 0, code, ibis.null("float64")).cast("int16")
    return table.mutate(**made)


def _usable(table: Any, i: int) -> Any:
    """Steps that tell about the leave curve: not the first, not censored, the average known."""
    return table.filter((table.step > 1) & (table.end != CENSORED) & table[f"e{i}"].notnull())


def _averages(coded: Any, i: int) -> Averages:
    usable = _usable(coded, i)
    keyed = usable.select(
        held=held_out(usable),
        step=ibis.least(usable.step, cap(THETAS[i])),
        code=usable[f"e{i}"],
        left=(usable.end == LEFT).ifelse(1, 0),
    )
    keys = ["held", "step", "code"]
    made = keyed.group_by(keys).aggregate(n=keyed.count(), left=keyed.left.sum())
    rows = fetched(made.order_by(keys))
    numbers = (rows[c].astype(float) for c in ("step", "code", "n", "left"))
    return Averages(THETAS[i], rows["held"].astype(bool), *numbers)


def _bin_squares(coded: Any, i: int, start: float) -> Array:
    """For each bin of the leave curve, sums over users of n^2, n x left and left^2."""
    usable, theta = _usable(coded, i), THETAS[i]
    step = ibis.least(usable.step, cap(theta)).cast("float64")
    fresh = (step * log1p(-theta)).exp() * start
    state = (usable[f"e{i}"].cast("float64") + (0.5 - SHIFT)) / CODES + fresh
    where = ibis.least(ibis.greatest((state * BINS).floor(), 0), BINS - 1).cast("int32")
    keyed = usable.select("user", bin=where, left=(usable.end == LEFT).ifelse(1, 0))
    own = keyed.group_by(["user", "bin"]).aggregate(n=keyed.count(), k=keyed.left.sum())
    n, k = own.n.cast("float64"), own.k.cast("float64")
    sums = {"nn": (n * n).sum(), "nk": (n * k).sum(), "kk": (k * k).sum()}
    rows = fetched(own.group_by("bin").aggregate(**sums))
    found = np.zeros((BINS, 3))
    for column, key in enumerate(sums):
        found[rows["bin"].astype(int), column] = rows[key]
    return found

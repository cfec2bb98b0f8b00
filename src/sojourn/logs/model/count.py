"""Steps become totals: the only queries whose answers leave the engine."""

from math import ceil
from typing import Any

import ibis
import numpy as np

from ...stats.moments import Array
from ...validation import InputError
from ..reading import CENSORED, LEFT, held_out
from ..reading.source import fetched
from ..reading.spec import LogSpec
from .totals import CELLS, FIRST, LONGEST, UNKNOWN, USER_SUMS, Arms, Totals, Whole


def count(table: Any, spec: LogSpec, name: str) -> Totals:
    """The totals of a table of steps (see `steps`); InputError where no fit can come of them."""
    steps = _steps(table)
    if steps[..., LEFT].sum() == 0:
        visits = steps[..., 1:].sum()
        raise InputError(f"{name} has no departure: none of its {visits:,} visits is seen to end")
    arms, kept = _arms(table, spec, name)
    users, products = _products(table, kept, arms)
    if users == 1:
        raise InputError(
            f"{name} has one user only: intervals are over users, so give two or more, "
            "or no user column (and guess=False) to take visits for users"
        )
    return Totals(steps, users, arms, products)


def _steps(table: Any) -> Whole:
    keyed = table.select(
        held=held_out(table),
        step=ibis.least(table.step, LONGEST),
        previous=ibis.cases(
            (table.step == 1, FIRST), (table.previous.isnull(), UNKNOWN), else_=table.previous
        ),
        reward=ibis.coalesce(table.reward, 2),
        end=table.end,
    )
    keys = list(keyed.columns)
    rows = fetched(keyed.group_by(keys).aggregate(n=keyed.count()))
    found = np.zeros((2, LONGEST, 4, 3, 3), np.int64)
    where = [rows[k].astype(np.int64) for k in keys]
    where[1] -= 1
    found[tuple(where)] = rows["n"]
    return found


def _arms(table: Any, spec: LogSpec, name: str) -> tuple[Arms, Any]:
    """The arms with enough pulls, also as an expression with their means."""
    known = table.filter(table.reward.notnull())
    pairs = {
        f"p{2 * s + r}": (known.same & (known.previous == s) & (known.reward == r)).sum()
        for s in (0, 1)
        for r in (0, 1)
    }
    value, level = rewards(known), known.reward.cast("float64")
    every = known.group_by("arm").aggregate(
        pulls=known.count(),
        successes=value.sum(),
        squares=(value * value).sum(),
        good=level.sum(),
        good_rewards=(value * level).sum(),
        **pairs,
    )
    everything = fetched(every.aggregate(pulls=every.pulls.sum(), arms=every.count()))
    every_arm, steps = int(everything["arms"][0]), int(everything["pulls"][0])
    least = spec.min_pulls or enough(steps)
    kept = every.filter(every.pulls >= least)
    rows = fetched(kept.order_by("arm"))
    order = np.argsort(rows["arm"].astype(str), kind="stable")
    _check_arms(rows, every_arm, least, spec, name)
    rest = every.filter(every.pulls < least)
    others = fetched(
        rest.aggregate(
            arms=rest.count(),
            pulls=ibis.coalesce(rest.pulls.sum(), 0),
            successes=ibis.coalesce(rest.successes.sum(), 0),
        )
    )
    arms = Arms(
        names=tuple(str(a) for a in rows["arm"][order]),
        pulls=rows["pulls"][order].astype(float),
        successes=rows["successes"][order].astype(float),
        squares=_squares(known if len(order) == every_arm else known.semi_join(kept, "arm"))[order],
        pairs=np.stack([rows[p][order].astype(float) for p in pairs], axis=1),
        others=int(others["arms"][0]),
        other_pulls=int(others["pulls"][0]),
        other_successes=float(others["successes"][0]),
        min_pulls=least,
        good=rows["good"][order].astype(float),
        good_rewards=rows["good_rewards"][order].astype(float),
    )
    mean = kept.successes / kept.pulls
    return arms, kept.select("arm", mean=mean, variance=kept.squares / kept.pulls - mean * mean)


def rewards(table: Any) -> Any:
    """The rewards of steps as numbers: as they are if they are graded, else 0 and 1."""
    return (table.value if "value" in table.columns else table.reward).cast("float64")


def enough(steps: int) -> int:
    """Pulls an arm needs to count as one: 0.5 % of the steps, but 100, or 5 % if that is less."""
    return max(ceil(0.005 * steps), min(100, ceil(0.05 * steps)))


def _check_arms(rows: dict[str, Any], arms: int, least: int, spec: LogSpec, name: str) -> None:
    found = len(rows["arm"])
    if arms == 1:
        raise InputError(
            f"{name} has one arm only ({rows['arm'][0] if found else 'a rare one'}): "
            "a fit needs at least two to choose between"
        )
    if spec.rare == "refuse" and found < arms:
        raise InputError(
            f"{name} has {arms - found:,} arms of {arms:,} with fewer than {least:,} pulls: "
            "give arms (a map to fewer), a smaller min_pulls, or rare='other'"
        )
    if found < 2:
        raise InputError(
            f"{name} has {arms:,} arms, but only {found} with at least {least:,} pulls: "
            "give arms (a map to fewer) or a smaller min_pulls"
        )


def _squares(known: Any) -> Array:
    """Sums over users of pulls^2, pulls x successes and successes^2, for each arm."""
    own = known.group_by(["user", "arm"])
    own = own.aggregate(n=lambda t: t.count(), s=lambda t: rewards(t).sum())
    n, s = own.n.cast("float64"), own.s.cast("float64")
    sums = own.group_by("arm").aggregate(nn=(n * n).sum(), ns=(n * s).sum(), ss=(s * s).sum())
    rows = fetched(sums.order_by("arm"))
    return np.stack([rows[c].astype(float) for c in ("nn", "ns", "ss")], axis=1)


def _products(table: Any, kept: Any, arms: Arms) -> tuple[int, Array]:
    """The number of users, and the sums over them of the products of any two of `USER_SUMS`."""
    joined = table.left_join(kept, "arm")
    cell = ibis.cases(
        (joined.step == 1, joined.reward), else_=2 + 2 * joined.previous + joined.reward
    )
    joined = joined.select(
        "user", "reward", "end", "mean", "variance", "arm",
        cell=cell.cast("int8"), worth=rewards(joined),
    )  # fmt: skip
    each = joined.group_by("user").aggregate(**_user_sums(joined, arms))
    size = len(USER_SUMS)
    products, (i, j) = np.zeros((size, size)), np.triu_indices(size)

    def summed(a: int, b: int) -> Any:
        """The last of `USER_SUMS` is 1 for each user."""
        if a == size - 1:
            return each.count()
        return (each[f"x{a}"] if b == size - 1 else each[f"x{a}"] * each[f"x{b}"]).sum()

    pairs = zip(i.tolist(), j.tolist(), strict=True)
    sums = {f"s{n}": summed(a, b) for n, (a, b) in enumerate(pairs)}
    (row,) = each.aggregate(**sums).to_pyarrow().to_pylist()
    products[i, j] = products[j, i] = list(row.values())
    return round(products[-1, -1]), products


def _user_sums(t: Any, arms: Arms) -> dict[str, Any]:
    """`USER_SUMS` but the last as expressions, named x0, x1, ..."""
    seen, left, known = t.end != CENSORED, t.end == LEFT, t.reward.notnull()
    own = t.mean.notnull() & known
    best = known & (t.arm == arms.names[arms.best])
    cells = range(len(CELLS))
    flags = [
        *((t.cell == c) & seen for c in cells),
        *((t.cell == c) & left for c in cells),
        best,
        best & (t.reward == 1),
        own,
    ]
    sums = [t.count(where=f).cast("float64") for f in flags]
    numbers = (t.worth, t.mean, t.variance)
    sums += [ibis.coalesce(ibis.ifelse(own, n, 0.0).sum(), 0.0) for n in numbers]
    return {f"x{i}": s for i, s in enumerate(sums)}

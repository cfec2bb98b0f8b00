"""Events become steps: visits, the step's number, what came before, how the visit ended."""

from typing import Any

import ibis
import ibis.expr.operations as ops

from .codes import BUCKETS, CENSORED, LEFT, ON
from .events import Events, horizon
from .options import LogOptions

ALWAYS = ibis.literal(True)


def steps(events: Events, options: LogOptions, parts: int = 1) -> list[Any]:
    """One row per step: an expression for each of some parts of the users.

    * user, visit, arm: whose step it was, in which visit, and what was shown;
    * bucket: a hash of the user;
    * step, previous, reward, end: its number, the reward before it (null at the first step, and
      where it is not known), its own, and what happened after it (`ON`, `LEFT`, `CENSORED`);
    * value: its reward as it is, in logs of graded rewards only;
    * propensity: the chance with which its arm was shown, in logs that have it;
    * same: whether the step before showed the same arm;
    * early: whether it was marked as the last step and was not;
    * tied: whether nothing but its row tells whether it came after the step before.
    """
    until = horizon(events, options)
    key = next((c for c in ("user", "visit") if c in events.table.columns), None)
    if parts == 1 or key is None:
        return [_steps(events.table, options, until)]
    where = _bucket(events.table[key]) % parts
    return [_steps(events.table.filter(where == i), options, until) for i in range(parts)]


def _steps(table: Any, options: LogOptions, until: float | None) -> Any:
    table = _merge(table, options) if options.ties != "keep" else table
    table = _with_visits(table, options)
    if "user" not in table.columns:
        table = table.mutate(user=table.visit)
    order = _order(table, options)
    # Windows sort all they are given: no more than is needed.
    extra = [c for c in ("value", "propensity") if c in table.columns]
    ends = {"gone": _gone(table, options, until)}
    if "left" in table.columns:
        ends["marked"] = _is_one(table, "left")
    table = table.select(
        *dict.fromkeys(["user", "visit", "arm", "reward", *extra, *order]),
        **{name: end for name, end in ends.items() if end is not ALWAYS},
    )
    here = ibis.window(group_by=["user", "visit"], order_by=order)
    told = [table[c] for c in order if c in ("time", "step")]
    table = table.mutate(
        number=ibis.row_number().over(here) + 1,
        previous=table.reward.lag().over(here),
        same=table.arm == table.arm.lag().over(here),
        last=table.visit.lead().over(here).isnull(),
        tied=ibis.and_(*(c == c.lag().over(here) for c in told)) if told else ibis.literal(False),
    )
    return table.select(
        "user",
        "visit",
        "arm",
        *extra,
        bucket=_bucket(table.user).cast("int16"),
        step=table.number.cast("int32"),
        previous=table.previous.cast("int8"),
        reward=table.reward.cast("int8"),
        end=_end(table),
        same=ibis.coalesce(table.same, ibis.literal(False)),
        early=table.marked & ~table.last if "marked" in table.columns else ibis.literal(False),
        tied=ibis.coalesce(table.tied, ibis.literal(False)),
    )


def _end(table: Any) -> Any:
    on, left, censored = (ibis.literal(code, "int8") for code in (ON, LEFT, CENSORED))
    if "gone" not in table.columns:
        return table.last.ifelse(left, on)
    return ibis.cases((~table.last, on), (table.gone, left), else_=censored)


def _merge(table: Any, options: LogOptions) -> Any:
    """Rows of one moment are one screen, and one step: its reward by rule, its arm the first."""
    keys = [c for c in ("user", "visit", "time") if c in table.columns]
    place = next((table[c] for c in ("step", "row") if c in table.columns), table.arm)
    mean = table.reward.cast("float64").mean()
    rules = {
        "any": table.reward.max(),
        "all": table.reward.min(),
        "half": ibis.cases((mean >= 0.5, 1), (mean < 0.5, 0)),
    }
    made = {"reward": rules[options.ties].cast("int8"), "arm": table.arm.argmin(place)}
    if "value" in table.columns:
        graded = {"any": table.value.max(), "all": table.value.min(), "half": table.value.mean()}
        made["value"] = graded[options.ties]
    if "propensity" in table.columns:
        made["propensity"] = table.propensity.argmin(place)
    made |= {c: table[c].max() for c in ("end", "left", "censored") if c in table.columns}
    made |= {c: table[c].min() for c in ("step", "row") if c in table.columns}
    return table.group_by(keys).aggregate(**made)


def _with_visits(table: Any, options: LogOptions) -> Any:
    """Number the visits of each user where no column does: by the gap, or by marked ends."""
    if "visit" in table.columns:
        return table
    group = ["user"] if "user" in table.columns else []
    order = _order(table, options)

    def total(value: Any, until: int) -> Any:
        return value.over(ibis.window(group_by=group, order_by=order, preceding=(None, until)))

    if options.gap is None:
        ended = _is_one(table, "left")
        if "censored" in table.columns:
            ended = ended | _is_one(table, "censored")
        return table.mutate(visit=ibis.coalesce(total(ended.sum(), 1), 0))
    idle = table.time - table.end.lag().over(ibis.window(group_by=group, order_by=order))
    table = table.mutate(fresh=ibis.coalesce(idle > options.gap_seconds, ibis.literal(False)))
    return table.mutate(visit=total(table.fresh.sum(), 0))


def _order(table: Any, options: LogOptions) -> list[str]:
    """What orders the steps of a visit: the step or the time, then the row, or else anything."""
    wanted = ["step"] if options.by_step else ["time", "step"]
    wanted += ["row"] if "row" in table.columns else ["arm", "reward"]
    return [c for c in wanted if c in table.columns]


def _is_one(table: Any, column: str) -> Any:
    return ibis.coalesce(table[column] == 1, ibis.literal(False))


def _gone(table: Any, options: LogOptions, until: float | None) -> Any:
    """Whether the user left, if this was the last step."""
    gone = [_is_one(table, "left")] if "left" in table.columns else []
    if "censored" in table.columns:
        gone.append(~_is_one(table, "censored"))
    if until is not None:
        gone.append(table.end + (options.gap_seconds or 0.0) <= until)
    return ibis.and_(*gone) if gone else ALWAYS


def _bucket(user: Any) -> Any:
    if user.type().is_integer():
        return (user % 100_003).abs() * 7_919 % 100_003 % BUCKETS
    digest, digits = _digest(user.cast("string")).lower(), ibis.literal("0123456789abcdef")
    first, second, third = (digits.find(digest.substr(i, 1)) for i in range(3))
    return first * 256 + second * 16 + third


def _digest(text: Any) -> Any:
    if text._find_backend(use_default=True).has_operation(ops.HexDigest):
        return text.hexdigest("md5")

    def md5(text: str) -> str:  # type: ignore[empty-body]
        ...

    return ibis.udf.scalar.builtin(md5)(text)

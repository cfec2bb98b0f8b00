"""Events become steps: visits, the step's number, what came before, how the visit ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import ibis
import ibis.expr.operations as ops

from . import BUCKETS, CENSORED, LEFT, ON
from .columns import stated_threshold
from .events import Events, clean, log_end, once
from .source import ROW, Opened, coded, kept, scalar
from .spec import LogSpec, Reading, resolve

ALWAYS = ibis.literal(True)

AT_ONCE = 10_000_000
"""Rows that are sorted at a time in the embedded engine, about: those of whole users."""


class Steps(NamedTuple):
    """The steps of a log as a table (see `steps`), how the log was read, and whether it is graded.

    The table has the rewards as they are, between 0 and 1, if it is.
    """

    table: Any
    reading: Reading
    graded: bool


@contextmanager
def steps_of(source: Opened, spec: LogSpec, states: bool = False) -> Iterator[Steps]:
    """The steps of a log, in a table that is kept while they are used.

    With `states` it has the column `state` of the log, if that is a number and rewards are 0 or 1.
    InputError if there are bad rows, or rows that were written twice, and they are not to be
    skipped.
    """
    reading = _settled(source, spec)
    events = clean(source, reading, states and spec.guess)
    if source.embedded:
        events = replace(events, table=coded(events.table, "arm"))
    # Sorting is what takes memory; an engine of one's own does it for some users at a time.
    parts = ceil(events.rows / AT_ONCE) if source.embedded else 1
    with kept(*steps(events, reading, parts)) as table:
        # Copies have the same place, so there are none unless some steps are tied.
        tied = spec.ties == "keep" and bool(scalar(table.tied.any()))
        single = once(events, spec, source.name) if tied else events
        if single.table is events.table:
            yield _as_read(table, single, reading)
            return
    with kept(*steps(single, reading, parts)) as table:
        yield _as_read(table, single, reading)


def _settled(source: Opened, spec: LogSpec) -> Reading:
    """The specification with what could be guessed or is stated by the log itself."""
    columns = [c for c in source.table.columns if c != ROW]
    found = replace(resolve(spec, columns), name=source.name)
    asks = spec.threshold is None and spec.guess and "threshold" in columns
    stated = stated_threshold(source) if asks else None
    if stated is None:
        return found
    guessed = {**found.guessed, "threshold": "threshold"}
    return replace(found, guessed=guessed, spec=replace(found.spec, threshold=stated))


def _as_read(table: Any, events: Events, reading: Reading) -> Steps:
    notes = list(events.notes)
    if reading.spec.user is None:
        notes.append("no user column: every visit counts as a user of its own")
    early = int(scalar(table.early.sum()) or 0) if reading.spec.left is not None else 0
    if early:
        notes.append(f"{early:,} steps are marked as the last of a visit that goes on")
    made = replace(reading, rows=events.rows, bad=events.bad, notes=tuple(notes))
    return Steps(table, made, events.graded)


def steps(events: Events, reading: Reading, parts: int = 1) -> list[Any]:
    """One row per step: an expression for each of some parts of the users.

    * user, visit, arm: whose step it was, in which visit, and what was shown;
    * bucket: a hash of the user;
    * step, previous, reward, end: its number, the reward before it (null at the first step, and
      where it is not known), its own, and what happened after it (`ON`, `LEFT`, `CENSORED`);
    * value: its reward as it is, in logs of graded rewards only;
    * propensity: the probability with which its arm was shown, in logs that have it;
    * state: that of the log itself, if it was asked for;
    * same: whether the step before showed the same arm;
    * early: whether it was marked as the last step and was not;
    * tied: whether nothing but its row tells whether it came after the step before.
    """
    until = log_end(events, reading.spec)
    key = next((c for c in ("user", "visit") if c in events.table.columns), None)
    if parts == 1 or key is None:
        return [_steps(events.table, reading, until)]
    where = _bucket(events.table[key]) % parts
    return [_steps(events.table.filter(where == i), reading, until) for i in range(parts)]


def _steps(table: Any, reading: Reading, until: float | None) -> Any:
    spec = reading.spec
    table = _merge(table, spec) if spec.ties != "keep" else table
    table = _with_visits(table, reading)
    if "user" not in table.columns:
        table = table.mutate(user=table.visit)
    order = _order(table, reading)
    # Windows sort all they are given: no more than is needed.
    extra = [c for c in ("value", "propensity", "state") if c in table.columns]
    ends = {"gone": _gone(table, spec, until)}
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
    on, left, censored = (ibis.literal(code, "int8") for code in (ON, LEFT, CENSORED))
    end = table.last.ifelse(left, on)
    if "gone" in table.columns:
        end = ibis.cases((~table.last, on), (table.gone, left), else_=censored)
    return table.select(
        *("user", "visit", "arm", *extra),
        bucket=_bucket(table.user).cast("int16"),
        step=table.number.cast("int32"),
        previous=table.previous.cast("int8"),
        reward=table.reward.cast("int8"),
        end=end,
        same=ibis.coalesce(table.same, ibis.literal(False)),
        early=table.marked & ~table.last if "marked" in table.columns else ibis.literal(False),
        tied=ibis.coalesce(table.tied, ibis.literal(False)),
    )


def _merge(table: Any, spec: LogSpec) -> Any:
    """Rows of one moment are one screen, and one step: its reward by rule, its arm the first."""
    keys = [c for c in ("user", "visit", "time") if c in table.columns]
    place = next((table[c] for c in ("step", "row") if c in table.columns), table.arm)
    mean = table.reward.cast("float64").mean()
    rules = {
        "any": table.reward.max(),
        "all": table.reward.min(),
        "half": ibis.cases((mean >= 0.5, 1), (mean < 0.5, 0)),
    }
    made = {"reward": rules[spec.ties].cast("int8"), "arm": table.arm.argmin(place)}
    if "value" in table.columns:
        graded = {"any": table.value.max(), "all": table.value.min(), "half": table.value.mean()}
        made["value"] = graded[spec.ties]
    made |= {c: table[c].argmin(place) for c in ("propensity", "state") if c in table.columns}
    made |= {c: table[c].max() for c in ("end", "left", "censored") if c in table.columns}
    made |= {c: table[c].min() for c in ("step", "row") if c in table.columns}
    return table.group_by(keys).aggregate(**made)


def _with_visits(table: Any, reading: Reading) -> Any:
    """Number the visits of each user where no column does: by the gap, or by marked ends."""
    if "visit" in table.columns:
        return table
    spec = reading.spec
    group = ["user"] if "user" in table.columns else []
    order = _order(table, reading)

    def total(value: Any, until: int) -> Any:
        return value.over(ibis.window(group_by=group, order_by=order, preceding=(None, until)))

    if spec.gap is None:
        ended = _is_one(table, "left")
        if "censored" in table.columns:
            ended = ended | _is_one(table, "censored")
        return table.mutate(visit=ibis.coalesce(total(ended.sum(), 1), 0))
    idle = table.time - table.end.lag().over(ibis.window(group_by=group, order_by=order))
    table = table.mutate(fresh=ibis.coalesce(idle > spec.gap_seconds, ibis.literal(False)))
    return table.mutate(visit=total(table.fresh.sum(), 0))


def _order(table: Any, reading: Reading) -> list[str]:
    """What orders the steps of a visit: the step or the time, then the row, or else anything."""
    wanted = ["step"] if reading.by_step else ["time", "step"]
    wanted += ["row"] if "row" in table.columns else ["arm", "reward"]
    return [c for c in wanted if c in table.columns]


def _is_one(table: Any, column: str) -> Any:
    return ibis.coalesce(table[column] == 1, ibis.literal(False))


def _gone(table: Any, spec: LogSpec, until: float | None) -> Any:
    """Whether the user left, if this was the last step."""
    gone = [_is_one(table, "left")] if "left" in table.columns else []
    if "censored" in table.columns:
        gone.append(~_is_one(table, "censored"))
    if until is not None:
        gone.append(table.end + (spec.gap_seconds or 0.0) <= until)
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

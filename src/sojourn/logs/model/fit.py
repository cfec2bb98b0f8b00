"""`fit`: from a log to a fitted model, and the same under other definitions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..reading.source import Opened, opened
from ..reading.spec import LogSpec, spec_of
from .costs import Costs
from .fitted import Fit


def fit(
    source: Any,
    spec: LogSpec | None = None,
    /,
    *,
    ema: bool = True,
    infer: bool = True,
    **fields: Any,
) -> Fit:
    """Fit the model to a log of events, in the engine that holds it.

    `source` is a CSV, JSON lines or Parquet file, a pattern such as ``logs/*/part.parquet``, a
    folder, or a list of files; a pandas, polars or Arrow frame, a DuckDB relation, an Ibis table,
    or the address of a database together with `table` or `sql`. One row is one item shown. How to
    read it is a `LogSpec`, or its fields as keywords, or both: keywords go first.

    * Columns: `arm` and `reward` always; `visit`, or `user` and `time` with a `gap` of idle time
      that ends a visit, or `left` that marks last steps. `step` orders the steps of a visit where
      there is no time. Columns that are not given are guessed from their names if `guess`.
    * Ends: a visit's last step is a departure unless `censored` (or `left`, if there is such a
      column) says otherwise, or the visit reaches to within a gap of `log_end`: a time, or
      "never"; by default, where visits are cut by a gap, the last moment of the log. Idle time
      counts from the `end` of an event, or from its start plus `duration` in seconds.
    * Rewards are 0 and 1, or at least `threshold` counts as 1. Rewards from 0 to 1 are graded then:
      means and moving averages are those of the rewards themselves, and the threshold splits
      states and departures. An export of an experiment has its own. `unknown` lists numbers
      that mean "not known". Bad rows are refused, or with ``bad="skip"`` counted and left out.
    * `ties`: rows of one moment are steps of their own ("keep") or one step, with reward 1 if
      "any", "all" or at least "half" of them have it.
    * `arms` maps items to arms. Arms with fewer than `min_pulls` (0.5 % of the steps, and 100)
      are counted together as others, or with ``rare="refuse"`` refused.
    * `ema`: fit the moving-average user too. With `infer` False the fit has counts only: no joint
      model, effects or diagnostics, and the case is "not inferred".

    >>> log = {"visit": [1, 1, 1, 2, 2, 3, 3, 3, 3], "arm": list("abaabbabb"),
    ...        "liked": [1, 1, 0, 0, 0, 0, 1, 1, 0]}
    >>> found = fit(log, ema=False)
    >>> found.counts["10"], found.reading.guessed
    ((2, 2), {'visit': 'visit', 'arm': 'arm', 'reward': 'liked'})
    """
    made = spec_of(spec, fields)
    with opened(source, made.table, made.sql) as found:
        return _fit(found, made, ema, infer)


@dataclass(frozen=True)
class Alternative:
    """The fit under another definition of a reward or of a visit; `costs` are as counted."""

    name: str
    visits: int
    counts: dict[str, tuple[int, int]]
    costs: Costs
    case: str


def sensitivity(
    source: Any,
    spec: LogSpec | None = None,
    /,
    *,
    thresholds: Iterable[float] = (),
    gaps: Iterable[str | float] = (),
    **fields: Any,
) -> tuple[Alternative, ...]:
    """The case under other thresholds of the reward and other gaps between visits.

    `spec` and its fields as for `fit`.

    >>> log = {"visit": [1, 1, 1, 2, 2, 2, 3, 3, 3], "arm": list("abaabbabb"),
    ...        "stars": [4, 5, 2, 3, 1, 1, 2, 4, 5]}
    >>> for row in sensitivity(log, reward="stars", thresholds=[4, 3]):
    ...     print(row.name, row.counts["00"], row.counts["11"])
    threshold 4 (1, 2) (1, 2)
    threshold 3 (1, 1) (1, 2)
    """
    base = spec_of(spec, fields)
    changed = {f"threshold {t:g}": replace(base, threshold=t) for t in thresholds}
    anew = replace(base, visit=None, left=None, censored=None)
    changed |= {f"gap {g}": replace(anew, gap=g) for g in gaps}
    rows = []
    with opened(source, base.table, base.sql) as found:
        for name, variant in changed.items():
            made = _fit(found, variant, ema=False)
            rows.append(Alternative(name, made.visits, made.counts, made.costs, made.case))
    return tuple(rows)


def _fit(found: Opened, spec: LogSpec, ema: bool, infer: bool = True) -> Fit:
    # Ibis takes half a second to import; those who do not read logs do not wait for it.
    from ..reading.steps import steps_of
    from . import count
    from .sample import take

    with steps_of(found, spec) as (table, reading, graded):
        totals = count.count(table, reading.spec, found.name)
        sample = take(table, totals)
    good_from = reading.spec.threshold if graded else None
    return Fit.from_totals(totals, reading, good_from, sample, ema=ema, infer=infer)

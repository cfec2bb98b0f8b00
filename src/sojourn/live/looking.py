"""A comparison over time: what it said, thinned so that a few hundred looks last for ever.

A look is kept when what it rests on has grown by a twentieth: n m / (n + m), for n visits of the
variant and m of the holdout. Its rank follows from that alone, and a store keeps one look of each
rank: however many processes look, and whenever they do.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite, log
from typing import Any

from ..show.tables import Table
from .comparing import WORDS, Comparison, compare
from .groups import Group, ended_in
from .plan import METRICS, Alarm, Allocation, Epoch, Guardrail
from .records import Look
from .stores.base import Store
from .variants import allocation_of

GROWTH = 1.05
"""How many times as many visits a look rests on at the next rank."""

ALPHA = 0.05  # of the intervals, which hold at all looks together


def rank_of(visits: float, holdout: float) -> int:
    """The rank of a look at so many visits of a variant and of the holdout.

    >>> rank_of(500, 500), rank_of(500, 550), rank_of(500, 1e9), rank_of(500_000, 500_000)
    (113, 114, 127, 254)
    """
    both = visits * holdout / max(visits + holdout, 1.0)
    return int(log(max(both, 1.0)) / log(GROWTH))


def ranks(allocation: Allocation, groups: Mapping[str, list[Group]]) -> dict[str, int]:
    """The rank of every variant that is compared with the holdout."""
    visits = {variant: ended_in(groups[variant])[0] for variant in allocation.variants}
    holdout = visits.pop(allocation.holdout)
    return {variant: rank_of(n, holdout) for variant, n in visits.items()}


def looks_of(comparison: Comparison) -> list[Look]:
    """What a comparison says of every variant and metric that has an interval."""
    visits = {variant.name: variant.visits for variant in comparison.variants}
    holdout = visits[comparison.holdout]
    return [
        Look(
            comparison.at, variant.name, metric, rank_of(variant.visits, holdout),
            variant.visits + holdout, *variant.differences[metric],
        )
        for variant in comparison.variants
        for metric in METRICS
        if metric in variant.differences and isfinite(variant.differences[metric].high)
    ]  # fmt: skip


@dataclass(frozen=True)
class History:
    """What comparisons with the holdout have said over time, and when shares changed.

    With 1 - `alpha` the truth is in all intervals of a variant and metric together.
    """

    experiment: str
    holdout: str
    alpha: float
    looks: tuple[Look, ...]
    epochs: tuple[Epoch, ...]
    guardrail: Guardrail | None
    alarm: Alarm | None

    def of(self, variant: str, metric: str) -> list[Look]:
        """The looks at one variant and metric, in the order of time."""
        return [look for look in self.looks if (look.variant, look.metric) == (variant, metric)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "experiment": self.experiment,
            "holdout": self.holdout,
            "alpha": self.alpha,
            "looks": [look._asdict() for look in self.looks],
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "alarm": None if self.alarm is None else self.alarm.at,
        }

    def __str__(self) -> str:
        if not self.looks:
            return "There is no look yet: they begin with visits of 50 users in both variants."
        head = ["variant", "visits", *(WORDS[metric] for metric in METRICS)]
        found: dict[tuple[float, str], dict[str, Look]] = {}
        for look in self.looks:
            found.setdefault((look.at, look.variant), {})[look.metric] = look
        rows = []
        for (_, variant), by_metric in found.items():
            visits = max(look.visits for look in by_metric.values())
            cells = [_brief(by_metric.get(metric)) for metric in METRICS]
            rows.append((variant, f"{visits:,}", *cells))
        return Table(head, rows, left=range(len(head))).text()


def _brief(look: Look | None) -> str:
    if look is None:
        return "-"
    return f"{look.difference:+.4g} [{look.low:+.4g}, {look.high:+.4g}]"


def history(store: Store, experiment: str) -> History:
    """How the comparison of an experiment's variants came about: looks that were kept, and one now.

    >>> from sojourn.live import Experiment, Variant
    >>> both = [Variant("old", 0.5), Variant("new", 0.5)]
    >>> more = {"variants": both, "holdout": "old", "compiled": False}
    >>> with Experiment("shorts", ["dance", "news"], **more) as shorts:
    ...     print(shorts.history())
    There is no look yet: they begin with visits of 50 users in both variants.
    """
    allocation = allocation_of(store, experiment)
    kept = store.looks(experiment)
    latest = {(look.variant, look.metric): look.visits for look in kept}
    now = [
        look
        for look in looks_of(compare(store, experiment, alpha=ALPHA))
        if look.visits > latest.get((look.variant, look.metric), 0)
    ]
    return History(
        experiment,
        allocation.holdout,
        ALPHA,
        (*kept, *now),
        allocation.epochs,
        allocation.guardrail,
        allocation.alarm,
    )

"""Pictures of what happens over time: a mean with its changes, and the data of the comparison."""

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from ...live import Drift, History, Series
from ...live.drifting import ARM, LEAVING

WIDE, HIGH = 240.0, 36.0
BLOCKS = 60  # points of a curve
SHOWN = {ARM: 12, LEAVING: 8}  # rows of the panel


def listed(drift: Drift) -> list[Series]:
    """The series that the panel shows: those that have changed first, then the most frequent."""
    rest = [each for each in drift.series if each.watched and not each.changes]
    rest.sort(key=lambda each: -sum(each.trials))
    found = [*drift.changed, *rest]
    return [
        each
        for kind, most in SHOWN.items()
        for each in [one for one in found if one.kind == kind][:most]
    ]


def trend_picture(series: Series) -> Markup:
    """A mean over time as a thin curve, with a line for each stretch between changes.

    Hidden from screen readers, which have the numbers beside it.
    """
    first, last = series.starts[0], series.starts[-1]
    places = list(range(len(series.starts)))
    stretches = list(_stretches(series))
    size = -(-len(places) // BLOCKS)
    blocks = [_mean(series, places[i : i + size]) for i in range(0, len(places), size)]
    curve = [(at, mean) for at, mean in blocks if mean is not None]
    most = 1.1 * max([mean for _, mean in curve] + [mean for _, _, mean in stretches], default=1.0)

    def x(at: float) -> float:
        return round((at - first) / max(last - first, 1.0) * WIDE, 1)

    def y(mean: float) -> float:
        return round(HIGH - 1.0 - mean / (most or 1.0) * (HIGH - 2.0), 1)

    line = "L".join(f"{x(at)} {y(mean)}" for at, mean in curve)
    steps = "".join(f"M{x(a)} {y(mean)}H{x(b)}" for a, b, mean in stretches)
    edges = "".join(f"M{x(change.at)} 0V{HIGH:g}" for change in series.changes)
    return Markup(
        '<svg class="trend{}" viewBox="0 0 240 36" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="floor" d="M0 35.5H240"/><path class="edge" d="{}"/>'
        '<path class="curve" d="M{}"/><path class="steps" d="{}"/></svg>'
    ).format(" changed" if series.changes else "", edges, line or "0 0", steps)


def _mean(series: Series, places: Sequence[int]) -> tuple[float, float | None]:
    """Where a block of buckets begins, and its mean."""
    trials = sum(series.trials[i] for i in places)
    won = sum(series.sums[i] for i in places)
    return series.starts[places[0]], won / trials if trials else None


def _stretches(series: Series) -> Iterable[tuple[float, float, float]]:
    """From when to when the mean was what, between changes."""
    edges = [series.starts[0], *(change.at for change in series.changes), series.starts[-1]]
    means = [change.before for change in series.changes[:1]] or [series.mean]
    means += [change.after for change in series.changes]
    return zip(edges, edges[1:], means, strict=False)


def looks_data(history: History, variants: Iterable[str], metrics: Iterable[str]) -> dict[str, Any]:
    """The data of the charts of differences: looks by variant and metric, lines and marks."""
    names = list(metrics)
    curves = {
        f"{variant} {metric}": history.of(variant, metric)
        for variant in variants
        for metric in names
    }
    rule = history.guardrail
    return {
        "curves": {
            name: {
                "at": [look.at for look in looks],
                "visits": [look.visits for look in looks],
                "points": [[round(x, 6) for x in look[5:]] for look in looks],
            }
            for name, looks in curves.items()
        },
        "margin": None if rule is None else {"metric": rule.metric, "at": -rule.margin},
        "shares": [epoch.since for epoch in history.epochs[1:]],
        "alarm": None if history.alarm is None else history.alarm.at,
    }

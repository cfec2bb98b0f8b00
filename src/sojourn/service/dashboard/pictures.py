"""Drawings: bars of intervals and shares, curves of means over time, and the data of charts.

They are hidden from screen readers, which have the numbers beside them.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from math import isfinite
from typing import Any

from markupsafe import Markup

from ...live import Drift, History, Series
from ...live.monitor.drift import ALL, ARM, LEAVING
from ...live.monitor.insight import Point
from ...stats.intervals import Interval

__all__ = [
    "bar", "change_bar", "chart_data", "listed", "scale_of", "snapshots_data", "split",
    "trend_picture", "widest",
]  # fmt: skip
"""What templates may call."""

WIDTH = 120.0  # of a bar, in pixels
WIDE, HIGH = 240.0, 36.0
BLOCKS = 60  # points of a curve
SHOWN = {ARM: 12, ALL: 1, LEAVING: 8}  # rows of the panel


def bar(interval: Interval, most: float, tone: str = "blue", least: float = 0.0) -> Markup:
    """An interval as a bar from `least` to `most`; the estimate is marked, and 0 if inside."""

    def x(value: float) -> float:
        share = min(max((value - least) / (most - least), 0.0), 1.0)
        return round(share * (WIDTH - 4.0) + 2.0, 1)

    low, middle, high = map(x, interval)
    return Markup(
        '<svg class="bar {}" viewBox="0 0 120 12" width="120" height="12" aria-hidden="true">'
        '<path class="track" d="M2 6H118{}"/>'
        '<rect class="reach" x="{}" y="3.5" width="{}" height="5" rx="2.5"/>'
        '<circle class="mark" cx="{}" cy="6" r="2.75"/></svg>'
    ).format(
        tone,
        f"M{x(0.0):g} 0V12" if least < 0.0 else "",
        low,
        max(round(high - low, 1), 1.0),
        middle,
    )


def change_bar(interval: Interval, most: float) -> Markup:
    """A difference as a bar from -most to most."""
    return bar(interval, most, "orange" if interval.high < 0.0 else "blue", -most)


def widest(intervals: Iterable[Interval]) -> float:
    """A common scale for differences: slightly more than the farthest end that is known."""
    ends = [abs(end) for each in intervals for end in (each.low, each.high) if isfinite(end)]
    return 1.05 * max(ends, default=0.0) or 1.0


def scale_of(intervals: Iterable[Interval | None]) -> float:
    """A common scale for probabilities: slightly more than the greatest upper end."""
    tops = [i.high for i in intervals if i is not None and isfinite(i.high)]
    return min(1.05 * max(tops, default=0.0), 1.0) or 1.0


def split(part: float) -> Markup:
    """A share of a whole as a bar."""
    wide = round(min(max(part, 0.0), 1.0) * WIDTH, 1)
    return Markup(
        '<svg class="split" viewBox="0 0 120 8" width="120" height="8" aria-hidden="true">'
        '<rect class="whole" width="120" height="8" rx="2"/>'
        '<rect class="part" width="{}" height="8" rx="2"/></svg>'
    ).format(wide)


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
    """A mean over time as a thin curve, with a line for each stretch between changes."""
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


def snapshots_data(
    history: History, variants: Iterable[str], metrics: Iterable[str]
) -> dict[str, Any]:
    """The data of the charts of differences: snapshots by variant and metric, lines and marks."""
    curves = {}
    for variant, metric in product(variants, metrics):
        found = history.of(variant, metric)
        ends = [(each.difference, each.low, each.high) for each in found]
        curves[f"{variant} {metric}"] = {
            "at": [each.at for each in found],
            "visits": [each.visits for each in found],
            "points": [[round(x, 6) for x in each] for each in ends],
        }
    rule = history.guardrail
    return {
        "curves": curves,
        "margin": None if rule is None else {"metric": rule.metric, "at": -rule.margin},
        "shares": [epoch.since for epoch in history.epochs[1:]],
        "alarm": None if history.alarm is None else history.alarm.at,
    }


def chart_data(points: Iterable[Point]) -> dict[str, list[Any]]:
    """The data of the charts: times, visits, and estimate, low and high of each curve."""
    found: dict[str, list[Any]] = {"at": [], "visits": [], "reward": [], "length": []}
    for point in points:
        found["at"].append(point.start)
        found["visits"].append(point.visits)
        for name in ("reward", "length"):
            value, low, high = getattr(point, name)
            band = (low, high) if isfinite(high) else (value, value)
            found[name].append([round(x, 4) for x in (value, *band)])
    return found

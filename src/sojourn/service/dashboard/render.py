"""Templates, and how numbers and intervals look."""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...stats.intervals import Interval
from ...version import __version__
from ..insight.departures import StateLeaveRates
from ..insight.states import short, user_in_words
from ..insight.summary import Point

STATIC = Path(__file__).parent / "static"
WIDTH, HEIGHT = 120.0, 12.0
"""Of a bar, in pixels."""


def number(value: float) -> str:
    """An estimate with three digits or more, and thousands apart.

    >>> number(7.418), number(0.25), number(31), number(1234.5)
    ('7.42', '0.25', '31.0', '1,234')
    """
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}"


def count(value: float) -> str:
    """A number of things.

    >>> count(1234.0), count(2.5)
    ('1,234', '2.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def half(interval: Interval) -> str:
    """How far the upper end is from the estimate, in two digits.

    >>> half(Interval(2.0, 1.5, 2.5)), half(Interval(200.0, 100.0, 300.0))
    ('0.50', '100')
    """
    width = interval.high - interval.value
    digits = 2 if width < 0.995 else 1 if width < 9.95 else 0
    return f"{width:,.{digits}f}"


def reach(interval: Interval, *, chance: bool = False) -> str:
    """From where to where an interval goes, in words.

    >>> reach(Interval(0.5, 0.25, 0.75), chance=True)
    '.25 to .75'
    """
    words = short if chance else number
    if not isfinite(interval.high):
        return "one visit only"
    return f"{words(interval.low)} to {words(interval.high)}"


def bar(interval: Interval | None, most: float = 1.0, tone: str = "blue") -> Markup:
    """An interval as a small bar on a line from 0 to `most`, with a mark at the estimate.

    It is for the eye only: the numbers are beside it.
    """
    if interval is None or most <= 0.0:
        return Markup("")

    def x(value: float) -> float:
        return round(min(max(value / most, 0.0), 1.0) * (WIDTH - 4.0) + 2.0, 1)

    low, middle, high = x(interval.low), x(interval.value), x(interval.high)
    wide = max(round(high - low, 1), 1.0)
    return Markup(
        '<svg class="bar {}" viewBox="0 0 120 12" width="120" height="12" aria-hidden="true">'
        '<path class="track" d="M2 6H118"/>'
        '<rect class="reach" x="{}" y="3.5" width="{}" height="5" rx="2.5"/>'
        '<circle class="mark" cx="{}" cy="6" r="2.75"/></svg>'
    ).format(tone, low, wide, middle)


def split(part: float, tone: str = "orange") -> Markup:
    """A share of a whole as a bar, for the eye only."""
    wide = round(min(max(part, 0.0), 1.0) * WIDTH, 1)
    return Markup(
        '<svg class="split {}" viewBox="0 0 120 8" width="120" height="8" aria-hidden="true">'
        '<rect class="whole" width="120" height="8" rx="2"/>'
        '<rect class="part" width="{}" height="8" rx="2"/></svg>'
    ).format(tone, wide)


def most(intervals: Iterable[Interval | None]) -> float:
    """A common scale for probabilities: a little more than the greatest upper end."""
    ends = [i.high for i in intervals if i is not None and isfinite(i.high)]
    return min(1.05 * max(ends, default=0.0), 1.0) or 1.0


def clock(at: float) -> str:
    """A time of day; the page's script makes it that of the reader.

    >>> clock(3661.0)
    '01:01:01'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def lasting(seconds: float) -> str:
    """A time span in words.

    >>> lasting(20), lasting(1800), lasting(5400)
    ('20 s', '30 min', '1.5 h')
    """
    size, unit = next(
        (s, u) for s, u in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= s or s == 1
    )
    return f"{seconds / size:.3g} {unit}"


def iso(at: float) -> str:
    """A time for machines."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def series(points: Iterable[Point]) -> dict[str, list[Any]]:
    """What the charts are drawn from: times, visits, and estimate, low and high of each curve."""
    found: dict[str, list[Any]] = {"at": [], "visits": [], "reward": [], "length": []}
    for point in points:
        found["at"].append(point.start)
        found["visits"].append(point.visits)
        for name in ("reward", "length"):
            i = getattr(point, name)
            ends = (i.low, i.high) if isfinite(i.high) else (i.value, i.value)
            found[name].append([round(x, 4) for x in (i.value, *ends)])
    return found


def leave_scale(leaving: Iterable[StateLeaveRates]) -> float:
    """A common scale for leave probabilities."""
    return most(x.probability for row in leaving for x in (row.unrewarded, row.rewarded))


@cache
def digest() -> str:
    """Changes when a static file does: addresses with it can be cached for ever."""
    files = sorted(path for path in STATIC.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


@cache
def templates() -> Environment:
    """The environment of the templates."""
    env = Environment(
        loader=PackageLoader("sojourn.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"number": number, "count": count, "half": half, "p": short, "reach": reach}
    env.filters |= {"clock": clock, "iso": iso}
    env.filters |= {"lasting": lasting, "user": user_in_words, "quoted": partial(quote, safe="")}
    env.filters |= {"json": lambda value: json.dumps(value, separators=(",", ":"))}
    env.globals |= {"bar": bar, "split": split, "most": most, "series": series}
    env.globals |= {"leave_scale": leave_scale}
    env.globals |= {"version": __version__, "digest": digest}
    return env


def render(template: str, **context: Any) -> str:
    """A template with its context."""
    return templates().get_template(template).render(**context)

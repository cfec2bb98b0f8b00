"""The template environment, and how numbers, times and intervals look."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...live.settings import Settings
from ...policies.reasons import short
from ...policies.watched import GOOD
from ...stats.intervals import Interval
from ...version import __version__
from ..insight.summary import Point
from .pictures import listed, looks_data, trend_picture

STATIC = Path(__file__).parent / "static"
WIDTH = 120.0  # of a bar, in pixels


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


def half_width(interval: Interval) -> str:
    """The distance from the estimate to the upper end, in two digits.

    >>> half_width(Interval(2.0, 1.5, 2.5)), half_width(Interval(200.0, 100.0, 300.0))
    ('0.50', '100')
    """
    width = interval.high - interval.value
    digits = 2 if width < 0.995 else 1 if width < 9.95 else 0
    return f"{width:,.{digits}f}"


def ends(interval: Interval, *, chance: bool = False) -> str:
    """Both ends of an interval in words.

    >>> ends(Interval(0.5, 0.25, 0.75), chance=True)
    '.25 to .75'
    """
    if not isfinite(interval.high):
        return "one visit only"
    words = short if chance else number
    return f"{words(interval.low)} to {words(interval.high)}"


def bar(interval: Interval, most: float, tone: str = "blue") -> Markup:
    """An interval as a bar from 0 to `most`, marked at the estimate; hidden from screen readers."""

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


def change_bar(interval: Interval, most: float) -> Markup:
    """A difference as a bar from -most to most, with a line at 0; hidden from screen readers."""

    def x(value: float) -> float:
        return round((min(max(value / most, -1.0), 1.0) + 1.0) / 2.0 * (WIDTH - 4.0) + 2.0, 1)

    low, middle, high = x(interval.low), x(interval.value), x(interval.high)
    tone = "orange" if interval.high < 0.0 else "blue"
    return Markup(
        '<svg class="bar {}" viewBox="0 0 120 12" width="120" height="12" aria-hidden="true">'
        '<path class="track" d="M2 6H118M60 0V12"/>'
        '<rect class="reach" x="{}" y="3.5" width="{}" height="5" rx="2.5"/>'
        '<circle class="mark" cx="{}" cy="6" r="2.75"/></svg>'
    ).format(tone, low, max(round(high - low, 1), 1.0), middle)


def widest(intervals: Iterable[Interval]) -> float:
    """A common scale for differences: slightly more than the farthest end that is known."""
    ends = [abs(end) for interval in intervals for end in interval[1:] if isfinite(end)]
    return 1.05 * max(ends, default=0.0) or 1.0


def signed(value: float) -> str:
    """A difference with its sign, in three digits.

    >>> signed(0.0512), signed(-1.5)
    ('+0.0512', '-1.50')
    """
    return f"{value:+#.3g}"


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.1), percent(0.005), percent(1 / 3)
    ('10 %', '0.5 %', '33.3 %')
    """
    return f"{100.0 * share:.3g} %"


def split(part: float) -> Markup:
    """A share of a whole as a bar; hidden from screen readers."""
    wide = round(min(max(part, 0.0), 1.0) * WIDTH, 1)
    return Markup(
        '<svg class="split" viewBox="0 0 120 8" width="120" height="8" aria-hidden="true">'
        '<rect class="whole" width="120" height="8" rx="2"/>'
        '<rect class="part" width="{}" height="8" rx="2"/></svg>'
    ).format(wide)


def scale_of(intervals: Iterable[Interval | None]) -> float:
    """A common scale for probabilities: slightly more than the greatest upper end."""
    tops = [i.high for i in intervals if i is not None and isfinite(i.high)]
    return min(1.05 * max(tops, default=0.0), 1.0) or 1.0


def policy_label(settings: Settings) -> str:
    """The label of the policy; how it introduces arms, and good rewards, are of the experiment.

    >>> policy_label(Settings())
    'Visit IMED'
    """
    usual = replace(settings, introduce_in_any_state=True, reward_threshold=GOOD)  # of policies
    return usual.policy.label


def clock(at: float) -> str:
    """A time of day in UTC; the page's script converts it to local time.

    >>> clock(3661.0)
    '01:01:01'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def day(at: float) -> str:
    """A day and time in UTC; the page's script converts it to local time.

    >>> day(3661.0)
    '1 Jan 01:01'
    """
    when = datetime.fromtimestamp(at, UTC)
    return f"{when.day} {when:%b %H:%M}"


def lasting(seconds: float) -> str:
    """A duration in words.

    >>> lasting(20), lasting(1800), lasting(5400)
    ('20 s', '30 min', '1.5 h')
    """
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def iso(at: float) -> str:
    """A time in ISO format, for the datetime attribute."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


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


@cache
def digest() -> str:
    """A hash of the static files; part of their addresses, so that browsers may cache them."""
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
    shown = (number, count, short, half_width, ends, clock, day, iso, lasting, signed, percent)
    env.filters |= {f.__name__: f for f in (*shown, policy_label)}
    env.filters["quoted"] = partial(quote, safe="")
    env.filters["json"] = partial(json.dumps, separators=(",", ":"))
    drawing = (bar, split, scale_of, chart_data, digest, change_bar, widest)
    env.globals |= {f.__name__: f for f in (*drawing, listed, looks_data, trend_picture)}
    env.globals["version"] = __version__
    env.tests["finite"] = isfinite
    return env


def render(template: str, **context: Any) -> str:
    """A template with its context."""
    return templates().get_template(template).render(**context)

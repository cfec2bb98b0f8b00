"""The panels of an experiment's page, and the templates, filters and drawings that they use.

To add one: a template in templates/panels/ and a line in `PANELS`. The template extends panel.html
and wraps what changes in `{% call live(id, tag) %}`; the page and the stream of updates follow.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...live.settings import Settings
from ...policies.departures import GOOD
from ...policies.reasons import two_digits
from ...stats.intervals import Interval
from ...users import User
from ...version import __version__
from . import pictures

STATIC = Path(__file__).parent / "static"


class Panel(NamedTuple):
    """A section: the template panels/{name}.html, its heading, its width (a class of app.css)."""

    name: str
    title: str
    width: str = "full"


PANELS = (
    Panel("headline", "Name and case"),  # the page's own heading, without a frame
    Panel("totals", "At a glance"),
    Panel("over_time", "Over time"),
    Panel("arms", "Arms"),
    Panel("drift", "What has changed"),
    Panel("exploration", "Where exploration goes", "half"),
    Panel("leaving", "When users leave", "half"),
    Panel("decisions", "Recent decisions", "wide"),
    Panel("rewards", "Rewards", "side"),
)
"""The panels of an experiment, in the order of the page."""

SHADOW = Panel("shadow", "What the policy would show")
"""After the headline of an experiment in which the caller decides."""

VARIANT_PANELS = (
    Panel("variants_headline", "Name and guardrail"),
    Panel("comparison", "Comparison with the holdout"),
    Panel("differences", "Comparison over time"),
    Panel("guardrail", "Guardrail", "half"),
    Panel("shares", "Shares", "half"),
)
"""The panels of an experiment with variants."""


class LivePart(NamedTuple):
    """An element that is kept up to date: its tag and its content."""

    tag: str
    html: str


class RenderedPanels(NamedTuple):
    """The panels for the page, and their live parts by id for the stream."""

    panels: list[Markup]
    parts: dict[str, LivePart]


def render_panels(shown: Iterable[Panel], **context: Any) -> RenderedPanels:
    """Panels, whose templates share one context: that of a `Snapshot`."""
    parts: dict[str, LivePart] = {}

    def live(id: str, tag: str, *, caller: Callable[[], str], **attributes: str) -> Markup:
        parts[id] = LivePart(tag, caller())
        given = Markup("").join(Markup(' {}="{}"').format(*pair) for pair in attributes.items())
        return Markup('<{0} id="{1}"{2}>{3}</{0}>').format(tag, id, given, Markup(parts[id].html))

    panels = [
        Markup(render(f"panels/{panel.name}.html", panel=panel, live=live, **context))
        for panel in shown
    ]
    return RenderedPanels(panels, parts)


def number(value: float) -> str:
    """An estimate with three digits or more, and thousands apart: 7.42, 31.0, 1,234."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}"


def count(value: float) -> str:
    """A count: 1,234."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def half_width(interval: Interval) -> str:
    """The distance from the estimate to the upper end, in two digits: 0.50, 100."""
    width = interval.high - interval.value
    digits = 2 if width < 0.995 else 1 if width < 9.95 else 0
    return f"{width:,.{digits}f}"


def ends(interval: Interval, *, chance: bool = False) -> str:
    """Both ends of an interval in words: 0.25 to 0.75."""
    if not isfinite(interval.high):
        return "one visit only"
    words = two_digits if chance else number
    return f"{words(interval.low)} to {words(interval.high)}"


def signed(value: float) -> str:
    """A difference with its sign, in three digits: +0.0512."""
    return f"{value:+#.3g}"


def percent(share: float) -> str:
    """A share in percent: 33.3 %."""
    return f"{100.0 * share:.3g} %"


def policy_label(settings: Settings) -> str:
    """The label of the policy; how it introduces arms, and good rewards, are of the experiment."""
    usual = replace(settings, introduce_in_any_state=True, reward_threshold=GOOD)  # of policies
    return usual.policy.label


USER_WORDS = {
    "last-reward": "the last reward",
    "moving-average": "a moving average of rewards, theta {user.theta:.2f}",
    "chain": "one of {user.space.states}, by a table",
}
"""The meaning of the state of a visit, by its user model."""


def user_words(user: User) -> str:
    """How the state of a visit follows from its rewards."""
    return "the state is " + USER_WORDS.get(user.model, "that of {user}").format(user=user)


def clock(at: float) -> Markup:
    """A time of day in UTC as an element, which the page's script converts to local time."""
    return _time(datetime.fromtimestamp(at, UTC), "%H:%M:%S")


def moment(at: float) -> Markup:
    """A day and time, likewise."""
    when = datetime.fromtimestamp(at, UTC)
    return _time(when, f"{when.day} %b %H:%M", Markup(' class="day"'))


def _time(when: datetime, form: str, kind: str = "") -> Markup:
    exact = when.isoformat(timespec="milliseconds")
    return Markup('<time{} datetime="{}">{}</time>').format(kind, exact, when.strftime(form))


def lasting(seconds: float) -> str:
    """A duration in words: 20 s, 30 min, 1.5 h."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


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
    shown = (number, count, two_digits, half_width, ends, clock, moment, lasting, signed, percent)
    env.filters |= {f.__name__: f for f in (*shown, policy_label)}
    env.filters["user_words"] = user_words
    env.filters["quoted"] = partial(quote, safe="")
    env.filters["json"] = partial(json.dumps, separators=(",", ":"))
    env.globals |= {name: getattr(pictures, name) for name in pictures.__all__}
    env.globals |= {"digest": digest, "version": __version__}
    env.tests["finite"] = isfinite
    return env


def render(template: str, **context: Any) -> str:
    """A template with its context."""
    return templates().get_template(template).render(**context)

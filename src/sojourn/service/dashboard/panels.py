"""The panels of an experiment's page.

To add one: a template in templates/panels/ and a line in `PANELS`. The template extends panel.html
and wraps what changes in `{% call live(id, tag) %}`; the page and the stream of updates follow.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from markupsafe import Markup

from .render import render


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
"""In the order of the page."""

SHADOW = Panel("shadow", "What the policy would show")
"""After the headline of an experiment in which the caller decides."""

VARIANT_PANELS = (
    Panel("variants_headline", "Name and guardrail"),
    Panel("comparison", "Comparison with the holdout"),
    Panel("differences", "Comparison over time"),
    Panel("guardrail", "Guardrail", "half"),
    Panel("shares", "Shares", "half"),
)
"""Those of an experiment with variants."""


class LivePart(NamedTuple):
    """An element that is kept up to date: its tag and its content."""

    tag: str
    html: str


class RenderedPanels(NamedTuple):
    """The panels for the page, and their live parts by id for the stream."""

    panels: list[Markup]
    parts: dict[str, LivePart]


def render_panels(shown: tuple[Panel, ...] | None = None, **context: Any) -> RenderedPanels:
    """All panels. Their templates share one context: that of `Snapshot.rendered`."""
    parts: dict[str, LivePart] = {}

    def live(id: str, tag: str, *, caller: Callable[[], str], **attributes: str) -> Markup:
        parts[id] = LivePart(tag, caller())
        given = Markup("").join(Markup(' {}="{}"').format(*pair) for pair in attributes.items())
        return Markup('<{0} id="{1}"{2}>{3}</{0}>').format(tag, id, given, Markup(parts[id].html))

    panels = [
        Markup(render(f"panels/{panel.name}.html", panel=panel, live=live, **context))
        for panel in shown or PANELS
    ]
    return RenderedPanels(panels, parts)

"""What a value has to say: lines and tables, as text where it is printed, as HTML in a notebook."""

from collections.abc import Callable, Iterable
from html import escape
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from .tables import Table

Part = str | Table
"""A paragraph, or a table; the empty one is a blank line of the text."""

STYLE = (
    "<style>.sojourn p {margin: .4em 0; max-width: 60em}"
    " .sojourn th, .sojourn td {text-align: left; padding: .15em .7em .15em 0}"
    " .sojourn .number {text-align: right}</style>"
)
"""Notebooks align all cells right. Where styles are taken out, only that is lost."""


class Renderer(NamedTuple):
    """What is shown of a value of some class, and its plain data for JSON."""

    parts: Callable[[Any], Iterable[Part]]
    data: Callable[[Any], dict[str, Any]] | None = None


RENDERERS: dict[str, Renderer] = {}
"""By the name of the class. Reports know what they show, and never the reverse."""


class Shown:
    """Prints and shows itself: a class has `_parts`, or names the package that renders it."""

    _rendered_by: ClassVar[str] = ""
    """The package that adds the class to `RENDERERS` when it is imported."""

    def _parts(self) -> Iterable[Part]:
        return renderer(self).parts(self)

    def __str__(self) -> str:
        return text(self._parts())

    def _repr_html_(self) -> str:
        """What notebooks show at the end of a cell."""
        return html(self._parts())


def renderer(value: Shown) -> Renderer:
    """That of the value's class; the package that has it is imported on first use."""
    name = type(value).__name__
    if name not in RENDERERS:
        import_module(value._rendered_by)
    return RENDERERS[name]


def text(parts: Iterable[Part]) -> str:
    r"""The parts one below the other.

    >>> text(["Two arms.", "", Table(["arm", "mean"], [["0", "0.9"]])])
    'Two arms.\n\narm  mean\n0     0.9'
    """
    return "\n".join(part if isinstance(part, str) else part.text() for part in parts)


def html(parts: Iterable[Part]) -> str:
    """The same for a notebook, with everything escaped.

    >>> html(["1 < 2", ""]).removeprefix(STYLE)
    '<div class="sojourn"><p>1 &lt; 2</p></div>'
    """
    found = (f"<p>{escape(p)}</p>" if isinstance(p, str) else p.html() for p in parts if p)
    return f'{STYLE}<div class="sojourn">{"".join(found)}</div>'

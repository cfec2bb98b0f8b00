"""Tables, what a value prints, and pages: as text, in a notebook, as Markdown or HTML."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

GAP = "  "
FRAME = "sojourn.show"
"""The package whose templates every report may extend."""


@dataclass(frozen=True)
class Table:
    """Headings and rows of strings; a row may be shorter than the headings.

    The first column is aligned left, columns of numbers right and all others left, unless `left`
    gives the indices of those to align left. A line break in a cell is one in Markdown and HTML.

    >>> table = Table(["policy", "runs", "source"], [["UCB", "64", "Theorem 1"], ["Uniform", "8"]])
    >>> print(table.text())
    policy   runs  source
    UCB        64  Theorem 1
    Uniform     8
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[int] | None = None

    def text(self) -> str:
        lines = [self.headings, *self.rows] if any(self.headings) else self.rows
        columns = list(zip_longest(*lines, fillvalue=""))
        aligned = [_align(cells, n in self._left) for n, cells in enumerate(columns)]
        return "\n".join(GAP.join(line).rstrip() for line in zip(*aligned, strict=True))

    def markdown(self) -> str:
        """A table of GitHub's Markdown, without a line break at the end."""
        rows = [
            "| " + " | ".join(map(_in_markdown, row)) + " |" for row in (self.headings, *self.rows)
        ]
        return "\n".join([rows[0], "|" + "---|" * len(self.headings), *rows[1:]])

    def html(self) -> str:
        """Scrolls if wide; cells that are aligned right have the class `number`."""
        head = self._html_row("th", self.headings, ' scope="col"')
        body = "\n".join(self._html_row("td", row) for row in self.rows)
        return (
            f'<div class="wide"><table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n'
            "</table></div>"
        )

    __html__ = html  # what templates put in place of the table

    @property
    def _left(self) -> Collection[int]:
        if self.left is not None:
            return self.left
        columns = list(zip_longest(*self.rows, fillvalue=""))
        return [n for n, cells in enumerate(columns) if n == 0 or not all(map(_numeric, cells))]

    def _html_row(self, tag: str, cells: Sequence[str], more: str = "") -> str:
        left, made = self._left, ""
        for n, cell in enumerate(cells):
            kind = "" if n in left else ' class="number"'
            made += f"<{tag}{more}{kind}>{escape(cell).replace(chr(10), '<br>')}</{tag}>"
        return f"<tr>{made}</tr>"


def _align(cells: Sequence[str], left: bool) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]


def _numeric(cell: str) -> bool:
    """Whether a cell begins like a number, or holds the place of one."""
    start = cell.lstrip("+-").lower()
    return not start or start[0].isdigit() or start.startswith(("nan", "inf"))


def _in_markdown(cell: str) -> str:
    return cell.replace("|", "\\|").replace("*", "\\*").replace("\n", "<br>")


Part = str | Table
"""A paragraph, or a table; the empty one is a blank line of the text."""

STYLE = (
    "<style>.sojourn p {margin: .4em 0; max-width: 60em}"
    " .sojourn th, .sojourn td {text-align: left; padding: .15em .7em .15em 0}"
    " .sojourn .number {text-align: right}</style>"
)
"""Notebooks align all cells right. Where styles are taken out, only that is lost."""


class Renderer(NamedTuple):
    """Renders the values of a class, as text and as plain data for JSON."""

    parts: Callable[[Any], Iterable[Part]]
    data: Callable[[Any], dict[str, Any]] | None = None


RENDERERS: dict[str, Renderer] = {}
"""Renderers by the name of the class. Reports import results, and never the reverse."""


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
    """The renderer of the value's class; the package that has it is imported on first use."""
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
    """The same for a notebook, with everything escaped."""
    found = (f"<p>{escape(p)}</p>" if isinstance(p, str) else p.html() for p in parts if p)
    return f'{STYLE}<div class="sojourn">{"".join(found)}</div>'


def render(template: str, **facts: Any) -> str:
    """The page that the text of a template makes of these facts.

    A report extends `page.html`, which has light, dark and printed colours, and fills its blocks
    `main`, `footer` and, for rules of its own, `style`. Tables (`show.tables.Table`) are put in as
    they are; other HTML, such as SVG, has to be marked with the filter `safe`.

    >>> page = render('{% extends "page.html" %}{% block main %}{{ text }}{% endblock %}',
    ...               title="A & B", text="1 < 2")
    >>> "<title>A &amp; B</title>" in page, "1 &lt; 2" in page
    (True, True)
    """
    return _environment(FRAME).from_string(template).render(facts)


def render_file(package: str, name: str, /, **facts: Any) -> str:
    """The same of a file in the folder `templates` of a package.

    Only HTML is escaped; the text of other files, such as Markdown, ends with a line break.
    """
    text = _environment(package).get_template(name).render(facts)
    return text if name.endswith(".html") else text + "\n"


@cache
def _environment(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, FRAME))]),
        autoescape=select_autoescape(["html"], default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

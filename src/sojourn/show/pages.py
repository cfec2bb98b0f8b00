"""HTML reports: one frame for all, filled by Jinja2, which escapes whatever is put in."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


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
    return _environment().from_string(template).render(facts)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("sojourn.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""Reports from templates, filled by Jinja2: one frame for all HTML, and Markdown."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

FRAME = "sojourn.show"
"""The package whose templates every report may extend."""


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

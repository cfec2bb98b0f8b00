"""A Griffe extension: docstrings as Markdown. Examples are fenced, names and pages are links."""

import re
from pathlib import Path
from typing import Any

import griffe

from .markdown import title
from .prose import linked

SHOWN = "Shown"
DOCS = Path(__file__).parents[1] / "docs"
PAGE = re.compile(r"(?<![\w/`])docs/([\w/-]+)\.md")
ARGUMENTS = re.compile(r"^Arguments\b.*:$", re.MULTILINE)
EXAMPLE = re.compile(r"^([ \t]*)>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


class Markdown(griffe.Extension):
    """Applied to every docstring as it is read."""

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Leave out the base of what shows itself: it is no public name."""
        cls.bases = [base for base in cls.bases if str(base) != SHOWN]

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None and not obj.is_module:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    r"""A docstring as Markdown.

    >>> print(markdown("Like `UCB`.\n\n>>> 1 + 1\n2"))
    Like [`UCB`][sojourn.policies.index.UCB].
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    text = ARGUMENTS.sub("Arguments:", text)
    fenced = EXAMPLE.sub(lambda found: f"```pycon\n{found.group()}\n```", text)
    return linked(PAGE.sub(_page, fenced))


def _page(found: re.Match[str]) -> str:
    """A link to a page, from any page of a name: all are two folders down."""
    return f"[{title(DOCS / f'{found[1]}.md')}](../../{found[1]}.md)"

"""The gallery: every picture of the documentation, with a way to where it is made."""

import re
from collections.abc import Sequence
from pathlib import Path
from posixpath import dirname, normpath

from .markdown import FENCE, title

PICTURE = re.compile(r"^!\[([^\]]*)\]\(([^)\s]+)\)", re.MULTILINE)
HEADINGS = re.compile(r"^#{2,} (.*)$", re.MULTILINE)
GENERAL = ("README.md", "start/")
"""Pages that show pictures of others."""


def pictures(docs: Path, order: Sequence[str]) -> str:
    """A heading for each page that has pictures, and the pictures, which lead there.

    Pages come in this order. A picture is shown once, where it is made.
    """
    shown: set[str] = set()
    parts = []
    for name in sorted(order, key=lambda name: name.startswith(GENERAL)):
        text = FENCE.sub("", (docs / name).read_text())
        found = []
        for caption, target in PICTURE.findall(text):
            file = normpath(f"{dirname(name) or '.'}/{target}")
            if file not in shown:
                shown.add(file)
                found.append(f"[![{caption}]({file}){{.picture}}]({name}{_below(text, target)})")
        if found:
            heading = title(docs / name)
            parts += [f"## {heading}", *found, f"[{heading}]({name}) says how they are made."]
    return "\n\n".join(parts)


def _below(text: str, target: str) -> str:
    """The anchor of the heading above a picture, as the site has it."""
    before = text[: text.index(f"({target})")]
    if not (above := HEADINGS.findall(before)):
        return ""
    return "#" + re.sub(r"[^\w\- ]", "", above[-1].lower()).strip().replace(" ", "-")

"""Pieces of Markdown: tables, and what is code and what is not."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#.*$", re.MULTILINE)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""A table; bars within cells are kept from ending them, except in code, where they need not.

    >>> print(table(["a", "b"], [["x | y", "`x | y`"]]))
    | a | b |
    |---|---|
    | x \| y | `x | y` |
    """
    cells = [[re.sub(r"(`[^`]*`)|\|", lambda m: m[1] or r"\|", c) for c in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in (header, *cells)]
    return "\n".join([lines[0], f"|{'---|' * len(header)}", *lines[1:]])


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and whether each is left alone: fenced blocks and headings are."""
    end = 0
    for found in sorted([*FENCE.finditer(text), *HEADING.finditer(text)], key=re.Match.start):
        if found.start() >= end:
            yield text[end : found.start()], False
            yield found[0], True
            end = found.end()
    yield text[end:], False


def outside_code(text: str, change: Callable[[str], str]) -> str:
    r"""The text with `change` applied to all but fenced blocks and headings.

    >>> outside_code("# a\na\n```\na\n```\na", str.upper)
    '# a\nA\n```\na\n```\nA'
    """
    return "".join(part if alone else change(part) for part, alone in parts(text))


def title(page: Path) -> str:
    """The first heading of a page."""
    return page.read_text().partition("# ")[2].partition("\n")[0]

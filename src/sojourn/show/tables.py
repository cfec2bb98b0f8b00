"""Tables: one definition, shown as text, Markdown or HTML."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

GAP = "  "


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

    def __html__(self) -> str:
        """What templates put in place of the table."""
        return self.html()

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

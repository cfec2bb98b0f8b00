"""The report: every figure with its table of values, and the table of verdicts."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np

from ...stats.intervals import Interval
from ..claims import Verdict
from .claims import Checked, hinges
from .figures import Figure, Graph
from .lines import Line, lines
from .settings import SETTINGS
from .tables import Tables
from .templates import HOW, HTML, MARKDOWN

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """What a reproduction found: figures, results, and claims with verdicts."""

    figures: Mapping[str, Figure]
    tables: Tables
    checked: Sequence[Checked]
    command: str
    seed: int
    precision: str
    version: str

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims have each verdict."""
        found = [c.verdict for c in self.checked]
        return {verdict: found.count(verdict) for verdict in Verdict}

    @property
    def summary(self) -> str:
        """The counts in words."""
        parts = ", ".join(f"{n} {verdict.value}" for verdict, n in self.counts.items())
        return f"{len(self.checked)} claims: {parts}."

    @cached_property
    def values(self) -> dict[str, tuple[Sequence[str], Rows]]:
        """By figure, the heads and rows of its table."""
        return {name: value_table(f, self.tables) for name, f in self.figures.items()}

    @property
    def facts(self) -> dict[str, str]:
        """What every frame says of the report as a whole."""
        return {
            "command": self.command,
            "seed": str(self.seed),
            "precision": self.precision,
            "version": self.version,
            "summary": self.summary,
            "how": HOW,
        }


def write_report(report: Report, folder: Path, pictures: str = "figures") -> list[Path]:
    """Write report.md and report.html; pictures are in that folder beside them."""
    markdown, html = folder / "report.md", folder / "report.html"
    markdown.write_text(to_markdown(report, pictures), encoding="utf-8")
    html.write_text(to_html(report, folder / pictures), encoding="utf-8")
    return [html, markdown]


VERDICT_HEADS = ("section", "claim", "measurement, 95 % interval", "verdict", "open choices")


def verdict_rows(checked: Sequence[Checked], line: str) -> list[list[str]]:
    """A row for each claim; measurements and note are parted by `line`."""
    rows = []
    for found in checked:
        several = len(found.measured) > 1
        shown = [f"{m}" + (f": {m.verdict.value}" if several else "") for m in found.measured]
        claim = found.claim
        text = claim.text if not claim.note else f"{claim.text}{line}({claim.note})"
        choices = line.join(_choices(found, checked))
        rows.append([claim.section, text, line.join(shown), found.verdict.value, choices])
    return rows


def _choices(found: Checked, checked: Sequence[Checked]) -> list[str]:
    """How the verdict fares when open choices are made otherwise; or which one this row makes."""
    claim = found.claim
    said = [f"this row: {claim.choice}"] if claim.choice else []
    contrary = hinges(checked).get(claim.name, [])
    for other in (c for c in checked if c.claim.of == claim.name):
        how = "the same" if other.verdict is found.verdict else other.verdict.value
        mark = "hinges on it: " if other in contrary else ""
        said.append(f"{mark}{other.claim.choice}: {how}")
    return said


def value_table(figure: Figure, tables: Tables) -> tuple[Sequence[str], Rows]:
    """The numbers of a figure: its curves at the marks of its declaration."""
    panel = figure.panel
    if isinstance(panel, Graph):
        problem = SETTINGS[panel.problem]
        matrix = problem.transition_matrix(problem.best_arm)
        names = ["0", "1", "g"]
        body = [
            [f"from {n}", *(f"{p:.4g}" for p in row)] for n, row in zip(names, matrix, strict=True)
        ]
        return ["best arm", *(f"to {n}" for n in names)], body
    drawn = lines(figure, tables)
    by_visits = drawn.x.startswith("visits")
    found = [_nearest(drawn.lines[0], mark) for mark in panel.marks]
    heads = [f"K = {x:,.0f}" if by_visits else f"s = {x:g}" for x in found]
    rows = [[line.label, *(_cell(line, x) for x in found)] for line in drawn.lines]
    if by_visits:
        heads.append("runs")
        for row, line in zip(rows, drawn.lines, strict=True):
            short = "" if line.reached else " (short of the precision asked for)"
            row.append("" if line.runs is None else f"{line.runs:,}{short}")
    return [drawn.y, *heads], rows


def _nearest(line: Line, mark: float) -> float:
    return float(line.x[np.argmin(np.abs(line.x - mark))])


def _cell(line: Line, x: float) -> str:
    i = int(np.argmin(np.abs(line.x - x)))
    if line.low is None or line.high is None:
        return f"{line.y[i]:,.5g}"
    return str(Interval(float(line.y[i]), float(line.low[i]), float(line.high[i])))


def to_markdown(report: Report, pictures: str) -> str:
    """The report as Markdown that refers to pictures."""
    sections = [
        markdown_figure(name, figure, pictures) + "\n" + markdown_table(*report.values[name])
        for name, figure in report.figures.items()
    ]
    return MARKDOWN.format(
        **report.facts,
        verdicts=markdown_table(VERDICT_HEADS, verdict_rows(report.checked, "<br>")),
        figures="\n".join(sections),
    )


def markdown_figure(name: str, figure: Figure, pictures: str) -> str:
    """A figure with title and caption."""
    return (
        f"### {name}: {figure.title}\n\n{figure.section}. {figure.caption}\n\n"
        f"![{figure.title}]({pictures}/{name}.svg)\n"
    )


def to_html(report: Report, pictures: Path) -> str:
    """The report as one HTML page, pictures included."""
    sections = []
    for name, figure in report.figures.items():
        data = base64.b64encode((pictures / f"{name}.svg").read_bytes()).decode()
        sections.append(
            f'<section id="{name}"><h3>{escape(name)}: {escape(figure.title)}</h3>'
            f"<p>{escape(figure.section)}. {escape(figure.caption)}</p>"
            f'<div class="pair"><img alt="{escape(figure.title)}" '
            f'src="data:image/svg+xml;base64,{data}">'
            + html_table(*report.values[name])
            + "</div></section>"
        )
    return HTML.format(
        **{name: escape(fact) for name, fact in report.facts.items()},
        verdicts=html_table(VERDICT_HEADS, verdict_rows(report.checked, "\n")),
        figures="\n".join(sections),
    )


def markdown_table(heads: Sequence[str], rows: Rows) -> str:
    r"""A table of Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]), end="")
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    made = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    made += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(made) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("*", "\\*")


def html_table(heads: Sequence[str], rows: Rows) -> str:
    """A table of HTML; a cell that is a verdict gets a class of that name."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(_html_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def _html_cell(cell: str) -> str:
    names = {verdict.value: verdict.name.lower() for verdict in Verdict}
    kind = f' class="{names[cell]}"' if cell in names else ""
    return f"<td{kind}>{escape(cell).replace(chr(10), '<br>')}</td>"

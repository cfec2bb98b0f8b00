"""The report and the documentation's page: verdicts, and every figure with its table of values."""

import base64
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...show.curves import Line
from ...show.pages import render
from ...show.tables import Table
from ...stats.intervals import Interval
from ..claims import hinges
from ..report import CLASSES, Report
from .claims.readings import READINGS
from .figures import MAIN, Figure
from .lines import PolicyLine, lines
from .panels import Graph
from .results import Results
from .settings import SETTINGS
from .trials import TRIALS
from .words import HOW, HTML, MARKDOWN, PAGE, TITLE

Figures = Mapping[str, Figure]


def to_markdown(report: Report[Results], figures: Figures) -> str:
    """The report as Markdown that refers to pictures in the folder `figures`."""
    shown = [
        f"{_figure(name, figure)}\n{value_table(figure, report.findings).markdown()}\n"
        for name, figure in figures.items()
    ]
    return MARKDOWN.format(
        **report.facts, how=HOW, verdicts=report.verdicts().markdown(), figures="\n".join(shown)
    )


def _figure(name: str, figure: Figure) -> str:
    return (
        f"### {name}: {figure.title}\n\n{figure.section}. {figure.caption}\n\n"
        f"![{figure.title}](figures/{name}.svg)\n"
    )


def to_html(report: Report[Results], figures: Figures, pictures: Path) -> str:
    """The report as one HTML page, with the pictures of that folder in it."""
    shown = [
        (
            name,
            figure,
            base64.b64encode((pictures / f"{name}.svg").read_bytes()).decode(),
            value_table(figure, report.findings),
        )
        for name, figure in figures.items()
    ]
    verdicts = report.verdicts().html(CLASSES)
    return render(HTML, title=TITLE, **report.facts, how=HOW, verdicts=verdicts, figures=shown)


def to_page(report: Report[Results], figures: Figures) -> str:
    """The page for the documentation, with the main figures that there are."""
    readings = [(f"“{r.words}”", r.taken, r.instead) for r in READINGS]
    return PAGE.format(
        **report.facts,
        how=HOW,
        readings=Table(("words", "taken to mean", "could also mean"), readings).markdown(),
        hinges=_hinges(report),
        verdicts=report.verdicts().markdown(),
        runs=_runs(report).markdown(),
        figures="\n".join(_figure(name, figures[name]) for name in MAIN if name in figures),
    )


def _hinges(report: Report[Results]) -> str:
    by_name = {found.claim.name: found for found in report.checked}
    found = [
        f"- {by_name[name].claim.section}: {by_name[name].claim.text} "
        f"*{by_name[name].verdict.value}*; with {other.claim.choice}: *{other.verdict.value}*."
        for name, others in hinges(report.checked).items()
        for other in others
    ]
    return "\n".join(found) if found else "None."


def _runs(report: Report[Results]) -> Table:
    rows = []
    for name, trial in report.findings.items():
        result = trial.result
        asked = "a fixed number" if result.precision is None else f"± {result.precision}"
        each = zip(trial.labels, result.runs, result.reached, strict=True)
        runs = (f"{label} {n:,}" + ("" if got else " (short of it)") for label, n, got in each)
        rows.append([name, TRIALS[name].problem, asked, "; ".join(runs)])
    return Table(("experiment", "setting", "asked for", "runs"), rows)


def value_table(figure: Figure, results: Results) -> Table:
    """The numbers of a figure: its curves at the marks of its declaration."""
    panel = figure.panel
    if isinstance(panel, Graph):
        return _transitions(panel)
    plot = lines(figure, results)
    found = [_nearest(plot.lines[0], mark) for mark in panel.marks]
    rows = [[line.label, *(_cell(line, x) for x in found)] for line in plot.lines]
    if not panel.trials:
        return Table([plot.y, *(f"s = {x:g}" for x in found)], rows)
    for row, line in zip(rows, plot.lines, strict=True):
        row.append(_runs_of(line))
    return Table([plot.y, *(f"K = {x:,.0f}" for x in found), "runs"], rows)


def _runs_of(line: Line) -> str:
    if not isinstance(line, PolicyLine):
        return ""
    return f"{line.runs:,}" + ("" if line.reached else " (short of the precision asked for)")


def _transitions(graph: Graph) -> Table:
    problem = SETTINGS[graph.problem]
    matrix = problem.transition_matrix(problem.best_arm)
    names = ["0", "1", "g"]
    rows = [[f"from {n}", *(f"{p:.4g}" for p in row)] for n, row in zip(names, matrix, strict=True)]
    return Table(["best arm", *(f"to {n}" for n in names)], rows)


def _nearest(line: Line, mark: float) -> float:
    return float(line.x[np.argmin(np.abs(line.x - mark))])


def _cell(line: Line, x: float) -> str:
    i = int(np.argmin(np.abs(line.x - x)))
    if line.low is None or line.high is None:
        return f"{line.y[i]:,.5g}"
    return str(Interval(float(line.y[i]), float(line.low[i]), float(line.high[i])))

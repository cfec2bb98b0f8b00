"""The report and the documentation's page: verdicts, and every figure with its table of values."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..show.style import Line
from ..show.tables import Table, render
from ..stats.intervals import Interval
from . import words
from .bars import verdict_bars
from .claims.readings import READINGS
from .figures import FIRST, MAIN, Figure
from .lines import PolicyLine, lines
from .panels import Graph
from .reports import Report, count, in_words
from .results import Results
from .settings import SETTINGS
from .trials import TRIALS
from .verdicts import Checked, Verdict, hinges

Figures = Mapping[str, Figure]

CITED = {
    "authors": words.AUTHORS,
    "paper": words.PAPER,
    "venue": words.VENUE,
    "address": words.ADDRESS,
    "story": words.STORY,
}


class Shown(NamedTuple):
    """A figure of the HTML report: its picture is in the page itself."""

    name: str
    figure: Figure
    picture: str
    values: Table


def own(report: Report[Results], verdict: Verdict) -> list[Checked]:
    """The claims with this verdict, without those that make a choice or read words otherwise."""
    return [c for c in report.checked if c.verdict is verdict and not c.claim.of]


def variants(report: Report[Results], verdict: Verdict) -> list[Checked]:
    """The claims with this verdict that make a choice or read words otherwise."""
    return [c for c in report.checked if c.verdict is verdict and c.claim.of]


def to_markdown(report: Report[Results], figures: Figures) -> str:
    """The report as Markdown that refers to pictures in the folder `figures`."""
    shown = [
        f"{_figure(name, figure)}\n{value_table(figure, report.findings).markdown()}\n"
        for name, figure in figures.items()
    ]
    return words.MARKDOWN.format(
        **report.facts,
        **CITED,
        how=words.HOW,
        disagreements=_disagreements(report),
        settings=settings_table().markdown(),
        verdicts=report.verdicts().markdown(),
        figures="\n".join(shown),
    )


def _disagreements(report: Report[Results]) -> str:
    of_the_paper = _list(own(report, Verdict.NOT_CONFIRMED))
    others = variants(report, Verdict.NOT_CONFIRMED)
    if not others:
        return of_the_paper
    return "\n\n".join([of_the_paper, words.OTHERWISE, _list(others)])


def _list(found: Sequence[Checked], why: bool = True) -> str:
    """Section and text of each, and in plain words `why` it is here."""
    said = (
        f"- {c.claim.section}: {c.claim.text}" + (f" *{'; '.join(c.contrary)}.*" if why else "")
        for c in found
    )
    return "\n".join(said) if found else "None."


def _first(figures: Figures) -> str:
    """What the paper says of its first figure, and ours."""
    if FIRST not in figures:
        return ""
    figure = figures[FIRST]
    return (
        f"{words.SAYS} ({figure.section})\n\n![{figure.title}](figures/{FIRST}.svg)\n\n"
        f"{words.NOT_REDRAWN}{figure.caption}\n\n"
    )


def _figure(name: str, figure: Figure) -> str:
    return (
        f"### {name}: {figure.title}\n\n{figure.section}. {figure.caption}\n\n"
        f"![{figure.title}](figures/{name}.svg)\n"
    )


def to_html(report: Report[Results], figures: Figures, pictures: Path) -> str:
    """The report as one HTML page, with the pictures of that folder in it."""
    shown = {
        name: Shown(
            name, figure, _embedded(pictures / f"{name}.svg"), value_table(figure, report.findings)
        )
        for name, figure in figures.items()
    }
    first, not_yet = shown.get(FIRST), report.counts[Verdict.NOT_YET]
    left_out = {"first": first is None, "not-yet": not not_yet}
    return render(
        words.HTML,
        title=words.TITLE,
        **report.facts,
        **CITED,
        how=words.HOW,
        contents={k: v for k, v in words.CONTENTS.items() if not left_out.get(k)},
        first=first,
        says=words.SAYS,
        not_redrawn=words.NOT_REDRAWN,
        bars=verdict_bars(report),
        own=own(report, Verdict.NOT_CONFIRMED),
        variants=variants(report, Verdict.NOT_CONFIRMED),
        not_yet=words.NOT_YET,
        asymptotic=[c for c in report.checked if c.verdict is Verdict.NOT_YET],
        settings=settings_table(),
        figures=list(shown.values()),
        kinds=[(kind, found, in_words(count(found))) for kind, found in report.kinds.items()],
        choices=report.choices,
    )


def _embedded(picture: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.read_bytes()).decode()}"


def settings_table() -> Table:
    """The problems of the figures: their arms, their users, and who they are in words."""
    rows = [
        [name, ", ".join(f"{mean:g}" for mean in problem.means), str(problem.user), words.WHO[name]]
        for name, problem in SETTINGS.items()
    ]
    return Table(("setting", "items are liked", "user", "who"), rows, left=range(4))


def to_page(report: Report[Results], figures: Figures) -> str:
    """The page for the documentation, with the main figures that there are."""
    readings = [(f"“{r.words}”", r.taken, r.instead) for r in READINGS]
    return words.PAGE.format(
        **report.facts,
        **CITED,
        how=words.HOW,
        disagreements=_disagreements(report),
        not_yet=words.NOT_YET,
        asymptotic=_list([c for c in report.checked if c.verdict is Verdict.NOT_YET], why=False),
        settings=settings_table().markdown(),
        readings=Table(("words", "taken to mean", "could also mean"), readings).markdown(),
        hinges=_hinges(report),
        verdicts=report.verdicts().markdown(),
        runs=_runs(report).markdown(),
        first=_first(figures),
        figures="\n".join(
            _figure(name, figures[name]) for name in MAIN if name in figures and name != FIRST
        ),
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

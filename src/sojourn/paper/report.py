"""The report, the page of the documentation and the digest on the screen."""

import base64
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any

import numpy as np

from ..problem_files import SETTINGS
from ..show.plain import from_toml
from ..show.style import Line
from ..show.tables import Table, render_file
from ..stats.intervals import Interval
from . import claims
from .drawing import PolicyLine, lines, verdict_bars
from .figures import FIRST, Figure, Graph
from .results import Results
from .trials import QUICK, TRIALS, VISITS
from .verdicts import Checked, Report, Verdict, count, hinges, in_words

Figures = Mapping[str, Figure]

TEXTS = from_toml(__package__, "report.toml")
CITED, NOT_YET = TEXTS["cited"], TEXTS["not_yet"]

WIDTH, INDENT = 100, "  "
MOST = 10
"""Width of the screen, and the number of claims that it names; the report has all."""
HEADINGS = ("confirmed", "not yet", "not confirmed", "undecided")
"""Of the verdicts, in their order."""


def with_verdict(report: Report[Results], verdict: Verdict, variants: bool) -> list[Checked]:
    """The claims with this verdict that make a choice or read words otherwise, or all others."""
    found = (c for c in report.checked if c.verdict is verdict)
    return [c for c in found if bool(c.claim.of) is variants]


def to_markdown(report: Report[Results], figures: Figures) -> str:
    """The report as Markdown that refers to pictures in the folder `figures`."""
    return render_file(__package__, "report.md", **_facts(report, figures))


def to_html(report: Report[Results], figures: Figures, pictures: Path) -> str:
    """The report as one HTML page, with the pictures of that folder in it."""

    def embedded(name: str) -> str:
        picture = (pictures / f"{name}.svg").read_bytes()
        return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"

    return render_file(
        __package__,
        "report.html",
        title="The paper, reproduced",
        picture=embedded,
        bars=verdict_bars(report),
        count=count,
        in_words=in_words,
        **_facts(report, figures),
    )


def to_page(report: Report[Results], figures: Figures) -> str:
    """The page for the documentation, with the main figures that there are."""
    found = {checked.claim.name: checked for checked in report.checked}
    otherwise = hinges(report.checked).items()
    pairs = [(found[name], other) for name, others in otherwise for other in others]
    facts = _facts(report, figures)
    return render_file(__package__, "page.md", hinges=pairs, runs=_runs(report), **facts)


def _facts(report: Report[Results], figures: Figures) -> dict[str, Any]:
    """What every template is filled with."""
    return {
        "report": report,
        "figures": figures,
        "values": lambda figure: value_table(figure, report.findings),
        "first_name": FIRST,
        "first": figures.get(FIRST),
        "cited": CITED,
        "readings": claims,
        "verdicts": Verdict,
        "settings": settings_table(),
        "own": with_verdict(report, Verdict.NOT_CONFIRMED, variants=False),
        "variants": with_verdict(report, Verdict.NOT_CONFIRMED, variants=True),
        "asymptotic": [c for c in report.checked if c.verdict is Verdict.NOT_YET],
        "not_yet": NOT_YET,
    }


def settings_table() -> Table:
    """The problems of the figures: their arms, their users, and a description of the users."""
    rows = []
    for name, problem in SETTINGS.items():
        means = ", ".join(f"{mean:g}" for mean in problem.means)
        rows.append([name, means, str(problem.user), TEXTS["users"][name]])
    return Table(("setting", "items are liked", "user", "who"), rows, left=range(4))


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
    points = plot.lines[0].x
    found = [float(points[np.argmin(np.abs(points - mark))]) for mark in panel.marks]
    rows = [[line.label, *(_cell(line, x) for x in found)] for line in plot.lines]
    if not panel.trials:
        return Table([plot.y, *(f"s = {x:g}" for x in found)], rows)
    for row, line in zip(rows, plot.lines, strict=True):
        row.append("")
        if isinstance(line, PolicyLine):
            short = "" if line.reached else " (short of the precision asked for)"
            row[-1] = f"{line.runs:,}{short}"
    return Table([plot.y, *(f"K = {x:,.0f}" for x in found), "runs"], rows)


def _transitions(graph: Graph) -> Table:
    problem = SETTINGS[graph.problem]
    matrix = problem.transition_matrix(problem.best_arm)
    names = ["0", "1", "g"]
    rows = [[f"from {n}", *(f"{p:.4g}" for p in row)] for n, row in zip(names, matrix, strict=True)]
    return Table(["best arm", *(f"to {n}" for n in names)], rows)


def _cell(line: Line, x: float) -> str:
    i = int(np.argmin(np.abs(line.x - x)))
    if line.low is None or line.high is None:
        return f"{line.y[i]:,.5g}"
    return str(Interval(float(line.y[i]), float(line.low[i]), float(line.high[i])))


def digest(report: Report[Results], report_file: Path) -> str:
    """Figures, verdicts by the kind of claim, what was not confirmed and why, where the rest is."""
    parts = [
        f"{CITED['paper']}\n({CITED['short']}): figures drawn: {len(report.figures)}, "
        f"claims checked: {len(report.checked)}.",
        _counts(report),
        _not_confirmed(report),
        _not_yet(report),
        _undecided(report),
        f"Report: {report_file}. Every verdict: in it, and with --verdicts or --json.",
    ]
    return "\n\n".join(part for part in parts if part)


def _counts(report: Report[Results]) -> str:
    if not report.checked:
        return ""
    kinds = {**report.kinds, "all": report.checked}.items()
    rows = [[kind, *(f"{n or ''}" for n in count(found).values())] for kind, found in kinds]
    return Table(("claims about", *HEADINGS), rows).text()


def _not_confirmed(report: Report[Results]) -> str:
    wrong = Verdict.NOT_CONFIRMED
    found, others = (with_verdict(report, wrong, variants) for variants in (False, True))
    if not found and not others:
        return ""
    said = [_line(c) for c in found[:MOST]]
    if len(found) > MOST:
        said.append(f"{INDENT}and {len(found) - MOST} more")
    if others:
        said.append(f"{INDENT}{len(others)} more where a choice was made or words read otherwise")
    return "\n".join(["Not confirmed:", *said])


def _line(found: Checked) -> str:
    """Where it is in the paper, and the first measurement against it."""
    said = ", ".join([_place(found), *found.contrary[:1]])
    return INDENT + shorten(said, WIDTH - len(INDENT), placeholder=" ...")


def _not_yet(report: Report[Results]) -> str:
    found = with_verdict(report, Verdict.NOT_YET, variants=False)
    if not found:
        return ""
    places = ", ".join(map(_place, found))
    return "\n".join(wrap(f"Not yet at K = {VISITS:,}: {places}. {NOT_YET}", WIDTH))


def _undecided(report: Report[Results]) -> str:
    if not report.counts[Verdict.UNDECIDED] or report.precision != QUICK:
        return ""
    minutes = sum(trial.seconds for trial in TRIALS.values()) / 60
    return (
        "Undecided: too few runs. --precision paper decides most, in about "
        f"{minutes:.0f} minutes of processor time."
    )


def _place(found: Checked) -> str:
    """Where in the paper: the figure or theorem, if there is one, else the section."""
    return found.claim.section.split(", ", 1)[-1]

"""The page for the documentation: verdicts, how claims were read, runs, and the main figures."""

from pathlib import Path
from shutil import copyfile

from .claims import READINGS, hinges
from .experiments import EXPERIMENTS
from .figures import MAIN
from .report import VERDICT_HEADS, Report, markdown_figure, markdown_table, verdict_rows
from .templates import PAGE

PICTURES = "figures"


def write_page(report: Report, path: Path, pictures: Path) -> list[Path]:
    """Write the page and, in the folder `figures` beside it, those main figures that there are.

    They are copied from the folder `pictures`.
    """
    folder = path.parent / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(to_page(report), encoding="utf-8")
    names = [f"{name}.svg" for name in MAIN if name in report.figures]
    return [path, *(Path(copyfile(pictures / name, folder / name)) for name in names)]


def to_page(report: Report) -> str:
    """The page as Markdown."""
    readings = [(f"“{r.words}”", r.taken, r.instead) for r in READINGS]
    shown = [markdown_figure(n, report.figures[n], PICTURES) for n in MAIN if n in report.figures]
    return PAGE.format(
        **report.facts,
        readings=markdown_table(("words", "taken to mean", "could also mean"), readings),
        hinges=_hinges(report),
        verdicts=markdown_table(VERDICT_HEADS, verdict_rows(report.checked, "<br>")),
        runs=markdown_table(("experiment", "setting", "asked for", "runs"), _runs(report)),
        figures="\n".join(shown),
    )


def _hinges(report: Report) -> str:
    """The claims whose verdict another choice changes, one a line."""
    verdicts = {found.claim.name: found for found in report.checked}
    found = [
        f"- {verdicts[name].claim.section}: {verdicts[name].claim.text} "
        f"*{verdicts[name].verdict.value}*; with {other.claim.choice}: *{other.verdict.value}*."
        for name, others in hinges(report.checked).items()
        for other in others
    ]
    return "\n".join(found) if found else "None."


def _runs(report: Report) -> list[list[str]]:
    rows = []
    for name, table in report.tables.items():
        result = table.result
        asked = "so many runs" if result.precision is None else f"± {result.precision}"
        each = zip(table.labels, result.runs, result.reached, strict=True)
        runs = (f"{label} {n:,}" + ("" if got else " (short of it)") for label, n, got in each)
        rows.append([name, EXPERIMENTS[name].problem, asked, "; ".join(runs)])
    return rows

"""A fit and a decision as one page of HTML that needs nothing else."""

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...version import __version__
from ..fitting import diagnosis
from ..fitting.model import Fit
from .screen import CASES

if TYPE_CHECKING:
    from ..deciding.decision import Decision
    from .pictures import Picture

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --ink: #16191d; --paper: #fff; --blue: #1f6fa8; --orange: #b85a00; --faint: #8884;
  --warn: #fff4dd; --edge: #b85a00; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e4e7ea; --paper: #15181b; --blue: #6cb8ea;
  --orange: #f0a04b; --faint: #8886; --warn: #33270f; --edge: #f0a04b; }} }}
@media print {{ :root {{ --ink: #000; --paper: #fff; --blue: #1f6fa8; --orange: #b85a00;
  --faint: #8884; --warn: #fff; --edge: #000; }} section {{ break-inside: avoid; }} }}
body {{ font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 1.5rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.3rem; }} h2 {{ font-size: 1.05rem; margin: 1.6rem 0 .3rem; }}
.verdict {{ font-size: 1.1rem; border-left: .3rem solid var(--blue); padding-left: .8rem; }}
.warning {{ background: var(--warn); border-left: .3rem solid var(--edge); padding: .4rem .8rem;
  margin: .5rem 0; }}
.pair {{ display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: flex-start; }}
figure {{ margin: 0; flex: 1 1 20rem; max-width: 32rem; }}
figure svg {{ width: 100%; height: auto; }}
figcaption {{ font-size: .85rem; opacity: .85; }}
.wide {{ flex: 1 1 18rem; overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--faint);
  text-align: right; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
footer {{ margin: 2rem 0; font-size: .85rem; opacity: .85; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="verdict">{verdict}</p>
{lead}
{warnings}
{sections}
</main>
<footer>{footer}</footer>
</body>
</html>
"""


def write_report(fit: Fit, decision: "Decision", path: str | Path) -> Path:
    """Write the page: verdict, warnings, and pictures with their tables. Needs the extra `plot`.

    >>> import tempfile
    >>> from .decision import decide
    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(fit, decide(fit, 40, draws=4, runs=4), f"{folder}/page.html")
    ...     page.read_text(encoding="utf-8").count("<svg")
    3
    """
    path = check_report(path)
    path.write_text(to_html(fit, decision), encoding="utf-8")
    return path


def check_report(path: str | Path) -> Path:
    """The path, or ValueError if no page can be written there."""
    path = Path(path)
    if find_spec("matplotlib") is None:
        raise ValueError("a report needs matplotlib: pip install 'sojourn[plot]'")
    if path.suffix not in (".html", ".htm") or not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"report {path} is not allowed: it must be a file in a folder that exists, ending in "
            ".html"
        )
    return path


def to_html(fit: Fit, decision: "Decision") -> str:
    """The page as text."""
    from .pictures import pictures

    return PAGE.format(
        title=escape(f"{fit.reading.name}: do users leave when disappointed?"),
        verdict=escape(decision.verdict),
        lead="\n".join(f"<p>{escape(line)}</p>" for line in _lead(fit, decision)),
        warnings="\n".join(_warning(w.name, w.seen, w.meaning) for w in fit.warnings),
        sections="\n".join(_section(picture) for picture in pictures(fit, decision)),
        footer=escape(_footer(fit, decision)),
    )


def _lead(fit: Fit, decision: "Decision") -> list[str]:
    lines = [f"Case: {fit.case} - {CASES[fit.case]}."]
    if decision.outcomes:
        lines.append(decision.reason)
    if decision.visits < decision.asked:
        lines.append(f"Simulated: the first {decision.visits:,} of {decision.asked:,} visits.")
    lines.append(f"Assumption 1 (worse rewards, more leave) {diagnosis.overall(fit.assumption_1)}.")
    return lines


def _warning(name: str, seen: str, meaning: str) -> str:
    return (
        f'<div class="warning"><strong>Warning: {escape(name)}.</strong> {escape(seen)}: '
        f"{escape(meaning)}</div>"
    )


def _section(picture: "Picture") -> str:
    svg = picture.svg.replace(
        "<svg", f'<svg role="img" aria-label="{escape(picture.alt, quote=True)}"', 1
    )
    return (
        f'<section><h2>{escape(picture.title)}</h2>\n<div class="pair"><figure>{svg}\n'
        f"<figcaption>{escape(picture.alt)}.</figcaption></figure>\n"
        f"{_table(picture.heads, picture.rows)}</div></section>"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        '<div class="wide"><table><thead><tr>'
        f"{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _footer(fit: Fit, decision: "Decision") -> str:
    log = [f"{fit.visits:,} visits", f"{fit.users:,} users", f"{len(fit.arms)} arms"]
    if fit.totals is not None:
        log.insert(0, f"{int(fit.totals.steps.sum()):,} steps")
        log[1] += f" ({fit.totals.censored:,} censored)"
    return (
        f"sojourn {__version__}. Log: {', '.join(log)}. Intervals are 95 %, clustered by user. "
        f"Expected gains: {decision.draws} draws around the fitted {decision.model} user, "
        f"{decision.arms} arms, {decision.runs} runs on each, seed {decision.seed}; their "
        "intervals hold what the log leaves open about the model, and take the model for true."
    )

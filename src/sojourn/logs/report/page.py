"""A fit and the advice as one page of HTML that needs nothing else."""

from pathlib import Path

from ...extras import require
from ...show.tables import Table, render_file
from ...validation import InputError
from ...version import __version__
from ..deciding.advice import Advice
from ..model.fit import Alternative
from ..model.fitted import Fit
from .text import alternatives_table
from .words import conclusions, context, intervals_are


def page(
    fit: Fit, advice: Advice, path: str | Path, alternatives: tuple[Alternative, ...] = ()
) -> Path:
    """Write the page: verdict, warnings, and pictures with their tables. Needs the extra `plot`.

    `alternatives` are those of `sensitivity`, for a table of their own.

    >>> import tempfile
    >>> from sojourn.logs import decide
    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = page(fit, decide(fit, 40, runs=4), f"{folder}/page.html")
    ...     path.read_text(encoding="utf-8").count("<svg")
    3
    """
    path = check_report(path)
    path.write_text(html(fit, advice, alternatives), encoding="utf-8")
    return path


def check_report(path: str | Path) -> Path:
    """The path, or InputError if no page can be written there."""
    require("a report", "plot", "matplotlib", "jinja2")
    path = Path(path)
    if path.suffix not in (".html", ".htm") or not path.parent.is_dir() or path.is_dir():
        raise InputError(
            f"report {path} is not allowed: it must be a file in a folder that exists, ending in "
            ".html"
        )
    return path


def html(fit: Fit, advice: Advice, alternatives: tuple[Alternative, ...] = ()) -> str:
    """The page as text."""
    from .pictures import pictures

    reason = [] if advice.policy is None else [advice.reason]
    return render_file(
        "sojourn.logs.report",
        "report.html",
        title=f"{fit.reading.name}: do users leave when disappointed?",
        fit=fit,
        advice=advice,
        lead=[*reason, *context(advice), *conclusions(fit)],
        pictures=pictures(fit, advice),
        tables=_tables(fit, alternatives),
        intervals_are=intervals_are(advice),
        version=__version__,
    )


def _tables(fit: Fit, alternatives: tuple[Alternative, ...]) -> dict[str, Table]:
    """Other definitions, if they were tried, and how the log was read."""
    found = {}
    if alternatives:
        found["With other definitions"] = alternatives_table(alternatives)
    reading = fit.reading
    named = {**reading.guessed, **reading.spec.given()}
    if reading.spec.arms is not None:
        named["arms"] = f"a map of {len(reading.spec.arms)} items"
    rows = [(name, str(value)) for name, value in named.items()]
    rows += [("bad rows", f"{count:,} {kind}") for kind, count in reading.bad.items()]
    rows += [("note", note) for note in reading.notes]
    if rows:
        found["How the log was read"] = Table(("", ""), rows, left=(0, 1))
    return found

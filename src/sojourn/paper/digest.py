"""What a reproduction found, on one screen."""

from pathlib import Path
from textwrap import shorten, wrap

from ..show.tables import Table
from . import words
from .report import own, variants
from .reports import Report, count
from .results import Results
from .trial import QUICK, VISITS
from .trials import TRIALS
from .verdicts import Checked, Verdict

WIDTH, INDENT = 100, "  "
MOST = 10
"""Claims that are named; the report has all."""
HEADINGS = {
    Verdict.CONFIRMED: "confirmed",
    Verdict.NOT_YET: "not yet",
    Verdict.NOT_CONFIRMED: "not confirmed",
    Verdict.UNDECIDED: "undecided",
}


def digest(report: Report[Results], report_file: Path) -> str:
    """Figures, verdicts by the kind of claim, what was not confirmed and why, where the rest is."""
    parts = [
        f"{words.PAPER}\n({words.SHORT}): figures drawn: {len(report.figures)}, "
        f"claims checked: {len(report.checked)}.",
        _counts(report),
        _not_confirmed(report),
        _not_yet(report),
        _undecided(report),
        f"Report: {report_file}. Every verdict: in it, and with --verdicts or --json.",
    ]
    return "\n\n".join(part for part in parts if part)


def _counts(report: Report[Results]) -> str:
    rows = {**report.kinds, "all": report.checked}
    if not report.checked:
        return ""
    cells = [
        [kind, *(str(n) if n else "" for n in count(found).values())]
        for kind, found in rows.items()
    ]
    return Table(("claims about", *HEADINGS.values()), cells).text()


def _not_confirmed(report: Report[Results]) -> str:
    found, others = (f(report, Verdict.NOT_CONFIRMED) for f in (own, variants))
    if not found and not others:
        return ""
    lines = [_line(c) for c in found[:MOST]]
    if len(found) > MOST:
        lines.append(f"{INDENT}and {len(found) - MOST} more")
    if others:
        lines.append(f"{INDENT}{len(others)} more where a choice was made or words read otherwise")
    return "\n".join(["Not confirmed:", *lines])


def _line(found: Checked) -> str:
    """Where it is in the paper, and the first thing that is otherwise."""
    said = ", ".join([_place(found), *found.contrary[:1]])
    return INDENT + shorten(said, WIDTH - len(INDENT), placeholder=" ...")


def _not_yet(report: Report[Results]) -> str:
    found = own(report, Verdict.NOT_YET)
    if not found:
        return ""
    places = ", ".join(map(_place, found))
    return "\n".join(wrap(f"Not yet at K = {VISITS:,}: {places}. {words.NOT_YET}", WIDTH))


def _undecided(report: Report[Results]) -> str:
    if not report.counts[Verdict.UNDECIDED] or report.precision != QUICK:
        return ""
    minutes = sum(trial.seconds for trial in TRIALS.values()) / 60
    return (
        "Undecided for want of runs: --precision paper decides most, in about "
        f"{minutes:.0f} minutes of a processor."
    )


def _place(found: Checked) -> str:
    """Where in the paper: the figure or theorem, if there is one, else the section.

    >>> from sojourn.paper.claims import CLAIMS
    >>> [_place(Checked(claim, [], Verdict.CONFIRMED)) for claim in CLAIMS[:2]]
    ['Lemma 1', 'Appendix C.1']
    """
    return found.claim.section.split(", ", 1)[-1]

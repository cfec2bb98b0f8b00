"""A fit and the advice as one page of HTML that needs nothing else."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...version import __version__
from ..fitting.diagnosis import overall
from ..fitting.model import Fit
from .advice import cut_in_words, present_in_words, shares_in_words
from .screen import CASES

if TYPE_CHECKING:
    from ..deciding.advice import Advice

TEMPLATE = """{% extends "page.html" %}
{% block main %}
<p class="verdict">{{ advice.verdict }}</p>
{% for line in lead %}
<p>{{ line }}</p>
{% endfor %}
{% for doubt in fit.warnings %}
<div class="warning"><strong>Warning: {{ doubt.name }}.</strong> {{ doubt }}</div>
{% endfor %}
{% for picture in pictures %}
<section><h2>{{ picture.title }}</h2>
<div class="pair"><figure>{{ picture.svg | safe }}
<figcaption>{{ picture.alt }}.</figcaption></figure>
{{ picture.table }}</div></section>
{% endfor %}
{% endblock %}
{% block footer %}{{ footer }}{% endblock %}
"""


def write_report(fit: Fit, advice: "Advice", path: str | Path) -> Path:
    """Write the page: verdict, warnings, and pictures with their tables. Needs the extra `plot`.

    >>> import tempfile
    >>> from sojourn.logs import decide
    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(fit, decide(fit, 40, draws=4, runs=4), f"{folder}/page.html")
    ...     page.read_text(encoding="utf-8").count("<svg")
    3
    """
    path = check_report(path)
    path.write_text(to_html(fit, advice), encoding="utf-8")
    return path


def check_report(path: str | Path) -> Path:
    """The path, or ValueError if no page can be written there."""
    path = Path(path)
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise ValueError("a report needs Matplotlib and Jinja2: pip install 'sojourn[plot]'")
    if path.suffix not in (".html", ".htm") or not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"report {path} is not allowed: it must be a file in a folder that exists, ending in "
            ".html"
        )
    return path


def to_html(fit: Fit, advice: "Advice") -> str:
    """The page as text."""
    from ...show.pages import render
    from .pictures import pictures

    return render(
        TEMPLATE,
        title=f"{fit.reading.name}: do users leave when disappointed?",
        fit=fit,
        advice=advice,
        lead=_lead(fit, advice),
        pictures=pictures(fit, advice),
        footer=_footer(fit, advice),
    )


def _lead(fit: Fit, advice: "Advice") -> list[str]:
    lines = [f"Case: {fit.case} - {CASES[fit.case]}."]
    if advice.policy is not None:
        lines.append(advice.reason)
    lines += [present_in_words(advice.present), shares_in_words(advice)]
    if advice.visits < advice.asked:
        lines.append(cut_in_words(advice))
    lines.append(
        f"Assumption 1 (more people leave after worse rewards) {overall(fit.assumption_1)}."
    )
    return lines


def _footer(fit: Fit, advice: "Advice") -> str:
    log = [f"{fit.visits:,} visits", f"{fit.users:,} users", f"{len(fit.arms)} arms"]
    if fit.totals is not None:
        log.insert(0, f"{int(fit.totals.steps.sum()):,} steps")
        log[1] += f" ({fit.totals.censored:,} censored)"
    return (
        f"sojourn {__version__}. Log: {', '.join(log)}. Intervals are 95 %, clustered by user. "
        f"Expected gains: {advice.draws} draws around the fit, {advice.arms} arms, {advice.runs} "
        f"runs on each, seed {advice.seed}; their intervals contain the uncertainty of the fit, "
        "and the worst case is the least favourable of the changes to the model that the log "
        "does not rule out."
    )

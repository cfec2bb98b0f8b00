"""The tables of the page."""

from typing import Any

import numpy as np

from ... import problems
from ...outcomes import Outcomes, spread
from ...problems import DRAWS
from ...study import NOT_RUN, short, table
from .conclusions import conclude
from .outcomes import POLICIES, BeyondOutcome, comparable, worst
from .trials import BASELINE, ENGAGEMENT, HEADLINE, LEARNED, PRICED

Findings = Outcomes[BeyondOutcome]

GROUPS = {
    "paper": "The paper's settings",
    "opposite": "Opposite case",
    "near-neutral": "Small effects: nearly neutral",
    "logs": "Fitted to real logs",
    "violations": "Outside the model",
    "by state": "Rewards depend on the state",
    "catalogues": "Catalogues",
}


def tables(findings: Findings) -> dict[str, Any]:
    """What the template of the page is filled with."""
    drawn = findings.of("random", *POLICIES)
    return {
        "headline": _headline(findings.with_roster("headline")),
        "conclusions": "\n\n".join(conclude(findings)),
        "problems": problems,
        "draws": DRAWS,
        "drawn": len(drawn),
        "random": _random(drawn),
        "worst": _worst(findings),
        "groups": "\n\n".join(_group(findings, group) for group in GROUPS),
        "published": _ratios(findings.with_roster("published"), BASELINE),
        "sampling": _ratios(findings.with_roster("sampling"), BASELINE),
        "caution": _caution(findings),
        "confidence": _ratios(findings.with_roster("confidence"), "IMED"),
        "excess": _excess(findings.with_roster("confidence")),
    }


def _headline(outcomes: list[BeyondOutcome]) -> str:
    """Regret of the paper's best in hindsight, ours, and the exact index, by problem."""
    if not outcomes:
        return NOT_RUN
    exact = tuple(HEADLINE)[-1]
    rows = [
        [f"{o.trial.problem}", f"{o.regret(best)} ({best})",
         *(str(o.regret(label)) for label in (LEARNED, PRICED, ENGAGEMENT, exact))]
        for o in outcomes
        for best in [o.best_of_paper]
    ]  # fmt: skip
    heads = (
        "problem", "the paper's best", f"{LEARNED}, told nothing", f"{PRICED}, told nothing",
        f"{ENGAGEMENT}, told nothing",
        f"{exact}, told all but the means",
    )  # fmt: skip
    return table(heads, rows)


def _random(outcomes: list[BeyondOutcome]) -> str:
    if len(outcomes) < 2:
        return NOT_RUN
    rows = []
    for label in POLICIES:
        if label == BASELINE:
            continue
        found = spread(outcomes, label, BASELINE)
        ratios = sorted(o.ratio(label, o.best_of_paper).value for o in outcomes)
        tenth = len(ratios) // 10
        rows.append(
            [label, str(found.typical), f"{found.better}", f"{found.worse}",
             f"{ratios[len(ratios) // 2]:.2f}", f"{ratios[tenth]:.2f} to {ratios[-1 - tenth]:.2f}"]
        )  # fmt: skip
    heads = (
        "policy", f"regret / {BASELINE}'s, geometric mean", "less on", "more on",
        "regret / the paper's best in hindsight, median", "middle 80 %",
    )  # fmt: skip
    return table(heads, rows)


def _worst(findings: Findings) -> str:
    outcomes, rows = comparable(findings), []
    for label in POLICIES:
        there = [o for o in outcomes if label in o]
        if there and label != BASELINE:
            one, two = (worst(there, label, in_hindsight=h) for h in (False, True))
            rows.append(
                [label, short(one.ratio), one.problem, short(two.ratio),
                 f"{two.problem} ({two.versus})"]
            )  # fmt: skip
    heads = (
        "policy", f"worst: regret / {BASELINE}'s", "where",
        "worst: regret / the paper's best in hindsight", "where (best there)",
    )  # fmt: skip
    return table(heads, rows)


def _group(findings: Findings, group: str) -> str:
    tables = []
    for roster in ("main", "ema"):
        there = [o for o in findings.with_roster(roster) if o.trial.group == group]
        if there:
            tables.append(_problems(there))
    return "\n\n".join([f"### {GROUPS[group]}", *(tables or [NOT_RUN])])


def _problems(outcomes: list[BeyondOutcome]) -> str:
    """A column for each problem: facts, regret of the baseline, ratios to it and to the best."""
    rows = [
        ["D(0) / D(1)", *(_cost_ratio(o) for o in outcomes)],
        ["arms", *(f"{o.facts['arms']:.0f}" for o in outcomes)],
        ["steps per visit", *(f"{o.facts['length']:.1f}" for o in outcomes)],
        ["visits; runs", *(f"{o.trial.visits:,}; {o.runs:,}" for o in outcomes)],
        [f"regret of {BASELINE}", *(str(o.regret(BASELINE)) for o in outcomes)],
    ]  # fmt: skip
    labels = [label for label in outcomes[0].labels if label != BASELINE]
    rows += [[label, *(short(o.ratio(label, BASELINE)) for o in outcomes)] for label in labels]
    rows.append(["best of the paper's", *(o.best_of_paper for o in outcomes)])
    rows += [
        [f"{label} / that", *(short(o.ratio(label, o.best_of_paper)) for o in outcomes)]
        for label in labels
    ]
    return table([f"regret / {BASELINE}'s", *(o.trial.problem for o in outcomes)], rows)


def _cost_ratio(outcome: BeyondOutcome) -> str:
    ratio = outcome.facts.get("cost_ratio")
    return "by state" if ratio is None else f"{ratio:.3g}"


def _ratios(outcomes: list[BeyondOutcome], base: str) -> str:
    """A row for each problem, a column for each policy."""
    if not outcomes:
        return NOT_RUN
    labels = [label for label in outcomes[0].labels if label != base]
    rows = [
        [
            o.trial.problem,
            f"{o.trial.visits:,}; {o.runs:,}",
            str(o.regret(base)),
            *(short(o.ratio(label, base)) for label in labels),
        ]
        for o in outcomes
    ]
    return table(["problem", "visits; runs", f"regret of {base}", *labels], rows)


def _excess(outcomes: list[BeyondOutcome]) -> str:
    """How far each level of confidence is from the best of the four, over the problems."""
    if not outcomes:
        return ""
    labels = outcomes[0].labels[1:]
    parts = []
    for rivals in (labels[: len(labels) // 2], labels[len(labels) // 2 :]):
        over = np.mean([[o.ratio(x, o.best(rivals)).value for x in rivals] for o in outcomes], 0)
        parts.append(", ".join(f"{x}: {e - 1:.1%}" for x, e in zip(rivals, over, strict=True)))
    return f"Regret above that of the best of the four, on average. {'. '.join(parts)}."


def _caution(findings: Findings) -> str:
    rows = []
    for o in findings.with_roster("caution", "caution, opposite"):
        for bound, mean in zip(o.labels[::2], o.labels[1::2], strict=True):
            rows.append(
                [o.trial.problem, bound, str(o.regret(bound)), str(o.regret(mean)),
                 short(o.ratio(mean, bound))]
            )  # fmt: skip
    heads = ("problem", "policy", "lower bound", "empirical mean", "ratio")
    return table(heads, rows)

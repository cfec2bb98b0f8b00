"""Advice for the terminal."""

from typing import TYPE_CHECKING

from ...show.tables import Part, Table
from ...stats.intervals import Interval
from ..deciding.advice import NOTABLE, WHERE
from .screen import cells, paragraph

if TYPE_CHECKING:
    from ..deciding.advice import Advice
    from ..deciding.baseline import Baseline

SHOWN = 4
"""Arms whose shares are told; the JSON has all."""


def parts(advice: "Advice") -> list[Part]:
    """The verdict, the incumbent, and a table of forecasts."""
    words = [f"decision: {advice.verdict}"]
    if advice.policy is not None:
        words.append(advice.reason)
    after = [incumbent_in_words(advice.incumbent), shares_in_words(advice)]
    if advice.visits < advice.asked:
        after.append(cut_in_words(advice))
    before: list[Part] = [line for said in words for line in (paragraph(said), "")]
    return [*before, *_expected(advice), *(x for said in after for x in ("", paragraph(said)))]


def _expected(advice: "Advice") -> list[Part]:
    incumbent = advice.incumbent
    rows = [(f"  {incumbent.name}", f"{incumbent.model.reward:.4g}", "", "", "", "", "")]
    for o in advice.outcomes:
        mark = "*" if o.policy == advice.policy else "-" if o.loses else " "
        worst = f"{o.at_worst.value:+.2g} ({o.worst})"
        gain = (f"{o.reward.value:.4g}", *cells(o.gain, "+.2g"), f"{o.share:+.1%}")
        rows.append((f"{mark} {o.name}", *gain, f"{o.over_kl_ucb.value:+.2g}", worst))
    headings = ("per visit", "reward", "gain", "95 %", "", "over KL-UCB", "worst case")
    worst = "; ".join(f"{n}: {WHERE[n]}" for n in advice.outcomes[0].cases)
    return [
        Table(headings, rows),
        paragraph(
            f"Gains are rewards per visit over {incumbent.name}; - may lose to it, * is advised. "
            f"{forecast_in_words(advice)} {advice.arms} arms; {advice.draws} runs, each on users "
            f"drawn around the fit, {advice.runs} in each worst case, seed {advice.seed}. Worst "
            f"cases: {worst}."
        ),
    ]


def forecast_in_words(advice: "Advice") -> str:
    """What the intervals are of."""
    return (
        f"Intervals hold what a run of {advice.visits:,} visits gains in 95 of 100 cases: they "
        "contain what the log leaves open and the luck of learning, but not how lucky single "
        "visits are, which is the same for whatever is shown."
    )


def incumbent_in_words(incumbent: "Baseline") -> str:
    """What the log's recommender earned, and whether the model has it right."""
    if incumbent.reward is None or incumbent.length is None:
        return (
            "These totals do not say what was shown: gains are over showing every arm equally "
            "often, which may not be gains over your current recommender."
        )
    words = (
        f"In the log a visit had {_ranged(incumbent.reward)} rewards in "
        f"{_ranged(incumbent.length)} steps; the model says "
        f"{incumbent.model.reward:.4g} in {incumbent.model.length:.4g}"
    )
    if incumbent.censored > NOTABLE:
        words += (
            f" ({incumbent.censored:.0%} of the visits were cut off before anyone left; so are "
            "those of the simulation)"
        )
    missed = incumbent.missed
    if (missed.low > 0.0 or missed.high < 0.0) and abs(missed.value) > NOTABLE:
        better = missed.value > 0.0
        words += (
            f": the log is {'better' if better else 'worse'} than the model by "
            f"{abs(missed.value):.1%}, beyond noise, because of something that the model does not "
            f"see{', such as a recommender that knows its users' if better else ''}"
        )
    return f"{words}."


def shares_in_words(advice: "Advice") -> str:
    """Which arms are shown now, and which would be."""
    named = {"now": advice.incumbent.shares}
    if (chosen := advice.chosen) is not None:
        named[chosen.name] = chosen.shares
    parts = []
    for name, shares in named.items():
        top = sorted(shares, key=lambda arm: -shares[arm])[:SHOWN]
        parts.append(f"{name}: {', '.join(f'{arm} {shares[arm]:.0%}' for arm in top)}")
    return f"Most shown arms, {'; '.join(parts)}."


def cut_in_words(advice: "Advice") -> str:
    """That not all visits were simulated, and what that means."""
    return (
        f"Simulated: the first {advice.visits:,} of {advice.asked:,} visits, in which policies "
        "learn; later visits gain more over the current recommender."
    )


def _ranged(interval: Interval) -> str:
    value, low, high = interval
    return f"{value:.3g} [{low:.3g}, {high:.3g}]"

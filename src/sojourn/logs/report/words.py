"""What a fit and an advice say, in the words of someone who has not read the paper."""

from math import inf

from ...show.plain import from_toml
from ..deciding.advice import NOTABLE, Advice
from ..deciding.outcomes import Baseline
from ..model.costs import Costs, bracketed
from ..model.fitted import Fit

TEXTS = from_toml(__package__, "words.toml")
CASES = TEXTS["cases"]

NAMED, SHARES = 3, 4
"""Numbers of arms that are named, and of shares; the table and the JSON have all."""


def conclusions(fit: Fit) -> tuple[str, ...]:
    """Who leaves, which arms raise the exit rate, when a mistake is cheap: a paragraph each."""
    found = [_disappointed(fit)]
    if fit.effects:
        found.append(_arms(fit))
    return (*found, _cheap(fit))


def _disappointed(fit: Fit) -> str:
    bad, good = fit.leave["00"], fit.leave["11"]
    words = (
        f"After two rewards of 0 in a row {bad.value:.1%} of people leave, after two of 1 "
        f"{good.value:.1%}"
    )
    wrong = [pair.in_words for pair in fit.assumption_1 if pair.verdict == "fails"]
    unclear = sum(pair.verdict == "undecided" for pair in fit.assumption_1)
    if wrong:
        return f"{words}; but more leave after the better rewards in {len(wrong)} of 5 " + (
            f"comparisons ({', '.join(wrong)})."
        )
    if unclear:
        return f"{words}; {unclear} of the 5 comparisons of worse with better rewards are unclear."
    return f"{words}, and in all 5 comparisons more leave after the worse rewards."


def _arms(fit: Fit) -> str:
    """Those that raise the exit rate most, or none."""
    differ = sorted((e for e in fit.effects if e.differs), key=lambda e: -e.times.value)
    best = max(fit.effects, key=lambda e: e.worth.value)
    if not differ:
        return "No item is found to raise or lower the exit rate beyond what its rewards do."
    driven = [e for e in differ if e.times.value > 1.0][:NAMED] or differ[-1:]
    parts = [
        f"after {e.name} people leave {bracketed(e.times)} times as often as after other items "
        f"that they liked equally, and a visit of it alone is worth {e.worth.value:.3g} rewards"
        for e in driven
    ]
    words = (
        f"What is shown matters beyond its rewards, for {len(differ)} of {len(fit.effects)} items: "
        f"{'; '.join(parts)}; of the best, {best.name}, {best.worth.value:.3g} rewards."
    )
    if fit.model is not None and fit.model.last is not None:
        words += (
            " (Many visits in the log are cut off, and few are seen beyond step "
            f"{fit.model.last}: visits here are over then.)"
        )
    return words


def _cheap(fit: Fit) -> str:
    """When a mistake is cheap, as counted and with controls."""
    counted, held = fit.costs, fit.adjusted
    words = f"A mistake costs {_ratio(counted)}"
    if held:
        parts = [f"{_ratio(control.costs, short=True)} {control.name}" for control in held]
        words += f" as counted, {', '.join(parts)}"
    if fit.case == "undecided" and counted.case in ("normal", "opposite"):
        return f"{words}: {fit.undecided_because}, {CASES['undecided']}."
    end = f"{words}; {CASES[fit.case]}"
    if fit.case == "undecided":
        end += f" ({_times(counted.times_the_data, fit.users)})"
    return f"{end}."


def _ratio(costs: Costs, short: bool = False) -> str:
    if costs.ratio is None:
        return f"{bracketed(costs.d0)} after a 0 and {bracketed(costs.d1)} after a 1"
    if short:
        return bracketed(costs.ratio)
    return f"{bracketed(costs.ratio)} times as much after a 0 as after a 1"


def _times(times: float, users: int) -> str:
    if times == inf or times > 1e4:
        return "no amount of such data would"
    people = f", some {times * users:,.0f} users" if users else ""
    return f"about {max(times, 1.0):.1f} times the data would{people}, if the estimates are right"


def intervals_are(advice: Advice) -> str:
    """What the intervals of a forecast contain."""
    return str(TEXTS["intervals"].format(visits=advice.visits))


def context(advice: Advice) -> list[str]:
    """What the recommender earned, the arms shown before and after, and what was simulated."""
    found = [_incumbent(advice.incumbent), _shares(advice)]
    if advice.visits < advice.asked:
        found.append(TEXTS["simulated"].format(visits=advice.visits, asked=advice.asked))
    return found


def _incumbent(incumbent: Baseline) -> str:
    """What the log's recommender earned, and whether the model has it right."""
    if incumbent.reward is None or incumbent.length is None:
        return str(TEXTS["unknown_incumbent"])
    words = (
        f"In the log a visit had {bracketed(incumbent.reward, 3)} rewards in "
        f"{bracketed(incumbent.length, 3)} steps; the model says "
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


def _shares(advice: Advice) -> str:
    """Which arms are shown now, and which would be."""
    named = {"now": advice.incumbent.shares}
    if (chosen := advice.chosen) is not None:
        named[chosen.name] = chosen.shares
    parts = []
    for name, shares in named.items():
        top = sorted(shares, key=lambda arm: -shares[arm])[:SHARES]
        parts.append(f"{name}: {', '.join(f'{arm} {shares[arm]:.0%}' for arm in top)}")
    return f"Most shown arms, {'; '.join(parts)}."

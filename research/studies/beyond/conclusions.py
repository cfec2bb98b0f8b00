"""What follows from the findings, in sentences with their numbers."""

from collections.abc import Callable
from typing import NamedTuple

from sojourn.stats.intervals import Interval

from ...outcomes import Outcomes, spread
from .outcomes import POLICIES, BeyondOutcome, comparable, worst
from .trials import BASELINE, BOUND, ENGAGEMENT, LEARNED, OURS, PRICED

Findings = Outcomes[BeyondOutcome]

HARM = 1.05
"""A ratio of regrets above which a harm is worth a warning."""


class Side(NamedTuple):
    """One of the two cases: its name, and which problems drawn at random are of it."""

    name: str
    holds: Callable[[BeyondOutcome], bool]


NORMAL = Side("normal", lambda o: o.facts.get("cost_ratio", 1.0) > 1.0)
OPPOSITE = Side("opposite", lambda o: o.facts.get("cost_ratio", 1.0) < 1.0)


def change(ratio: Interval) -> str:
    """A ratio of regrets as a change in per cent.

    >>> change(Interval(0.62, 0.60, 0.64)), change(Interval(1.2, 1.1, 1.3))
    ('38 % less (36 to 40)', '20 % more (10 to 30)')
    """
    low, high = sorted((abs(100 * (ratio.low - 1)), abs(100 * (ratio.high - 1))))
    if ratio.low <= 1.0 <= ratio.high:
        value, least, most = (100 * (x - 1) for x in ratio)
        return f"{value:+.0f} % ({least:+.0f} to {most:+.0f})"
    word = "less" if ratio.value < 1.0 else "more"
    return f"{abs(100 * (ratio.value - 1)):.0f} % {word} ({low:.0f} to {high:.0f})"


def conclude(findings: Findings) -> list[str]:
    """One paragraph each; those whose trials were left out are left out too."""
    made = [
        part(findings)
        for part in (
            _indices,
            _explorer,
            _told,
            _rare,
            _learned,
            _worst,
            _fitted,
            _by_state,
            _catalogues,
            _outside,
            _improper,
        )
    ]
    return [text for text in made if text]


def _indices(findings: Findings) -> str:
    return "\n\n".join(text for text in (_index(findings, x) for x in (ENGAGEMENT, PRICED)) if text)


def _index(findings: Findings, label: str) -> str:
    there = findings.of("random", label, LEARNED, BASELINE)
    if len(there) < 2:
        return ""
    gain, all_in = spread(there, label, LEARNED), spread(there, label, BASELINE)
    played = [o for o in comparable(findings) if label in o]
    ratios = [(o.ratio(label, LEARNED), o.trial.problem) for o in played]
    more = sum(r.low > 1.0 for r, _ in ratios)
    harm, where = max(ratios, key=lambda r: r[0].low)
    return (
        f"**{label}, told nothing,** has {change(gain.typical)} regret than "
        f"{LEARNED} over {gain.problems} problems drawn at random (less on {gain.better}, more on "
        f"{gain.worse}), and {change(all_in.typical)} than {BASELINE}. Of all {len(played)} "
        f"problems it has significantly more than {LEARNED} on {more}; the worst beyond noise is "
        f"{where}, {harm} times."
    )


def _explorer(findings: Findings) -> str:
    there = findings.of("random", "IMED", BASELINE)
    if len(there) < 2:
        return ""
    found = spread(there, "IMED", BASELINE)
    return (
        f"**The explorer matters most.** IMED instead of {BASELINE}, with no gate at all: "
        f"{change(found.typical)} regret over {found.problems} problems drawn at random (geometric "
        f"mean), less on {found.better} of them and more on {found.worse} beyond the noise."
    )


def _told(findings: Findings) -> str:
    parts = []
    for side in (NORMAL, OPPOSITE):
        there = [o for o in findings.of("random", "KL-ULCB", BASELINE) if side.holds(o)]
        if len(there) > 1:
            found = spread(there, "KL-ULCB", BASELINE)
            parts.append(
                f"in the {side.name} case {change(found.typical)} regret than {BASELINE} (less on "
                f"{found.better} of {found.problems} problems, more on {found.worse})"
            )
    if not parts:
        return ""
    hurt = worst(comparable(findings), "KL-ULCB", in_hindsight=False)
    return (
        "**A gate that has to be told the case is a bet.** The paper's KL-ULCB, set for the normal "
        f"case, has {'; '.join(parts)}. In the worst case it has {hurt.ratio} times the regret of "
        f"{BASELINE} ({hurt.problem})."
    )


def _rare(findings: Findings) -> str:
    there = [o for o in comparable(findings) if "KL-ULCB, opposite" in o and OPPOSITE.holds(o)]
    if not there:
        return ""
    own = worst(there, "KL-ULCB, opposite", in_hindsight=False)
    mended = [o for o in findings.with_roster("main") if LEARNED in o and BOUND in o]
    saved = min(mended, key=lambda o: o.ratio(LEARNED, BOUND).high)
    cost = max(o.ratio(LEARNED, BOUND).low for o in mended)
    harms = (
        "on none significantly more"
        if cost < 1.0005
        else f"on none significantly more than {cost:.3f} times"
    )
    return (
        "**A gate can hurt in the very case it is made for.** KL-ULCB set for the opposite case "
        f"has {own.ratio} times the regret of {BASELINE} on {own.problem}, where D(0) < D(1). It "
        "explores in state 0 only; if visits hardly ever are in that state, a wrong arm that is "
        "known well keeps the greater lower bound in state 1 for very long. Empirical means "
        f"instead of lower bounds mend it: {LEARNED} has {saved.ratio(LEARNED, BOUND)} times the "
        f"regret of {BOUND} on {saved.trial.problem}, and {harms}."
    )


def _learned(findings: Findings) -> str:
    there = findings.of("random", BOUND, LEARNED, "IMED", BASELINE)
    if len(there) < 2:
        return ""
    parts, harms = [], []
    for label in (BOUND, LEARNED):
        gate, all_in = spread(there, label, "IMED"), spread(there, label, BASELINE)
        ratios = [(o.ratio(label, "IMED"), o.trial.problem) for o in comparable(findings)]
        gain, harm = min(ratios, key=lambda r: r[0].high), max(ratios, key=lambda r: r[0].low)
        harms.append(harm[0].low)
        parts.append(
            f"{label} has {change(gate.typical)} regret than IMED over the random problems (less "
            f"on {gate.better}, more on {gate.worse} of {gate.problems}) and "
            f"{change(all_in.typical)} than {BASELINE}; beside IMED its best is {gain[0]} times "
            f"the regret ({gain[1]}), its worst {harm[0]} ({harm[1]})."
        )
    title = (
        "Learned optimism has most of the gain without the bet."
        if max(harms) <= HARM
        else "Learned optimism takes away the bet on the case, but not every risk."
    )
    return f"**{title}** {' '.join(parts)}"


def _worst(findings: Findings) -> str:
    there = comparable(findings)
    if not there:
        return ""
    ranked = sorted(
        (
            (worst(there, label, in_hindsight=True), label)
            for label in POLICIES
            if any(label in o for o in there)
        ),
        key=lambda pair: (pair[0].ratio.low, pair[0].problem, pair[0].ratio.value, pair[1]),
    )
    (best, label), (second, next_label) = ranked[:2]
    paper = min((w for w in ranked if w[1] not in OURS), key=lambda pair: pair[0].ratio.low)
    return (
        f"**The smallest worst case is that of {label}:** {best.ratio} times the regret of "
        f"the paper's best policy in hindsight ({best.problem}; there {best.versus}), over all "
        f"{len(there)} problems. Next is {next_label}, {second.ratio} ({second.problem}). The best "
        f"of the paper's is {paper[1]}, {paper[0].ratio} ({paper[0].problem})."
    )


def _fitted(findings: Findings) -> str:
    there = findings.of("logs", BOUND, BASELINE, "KL-ULCB", "KL-ULCB, opposite")
    if len(there) < 2:
        return ""
    better, gate = spread(there, BOUND, BASELINE), spread(there, BOUND, "IMED")
    wrong = max(
        (o.ratio(label, BASELINE).value, label, o.trial.problem)
        for o in there
        for label in ("KL-ULCB", "KL-ULCB, opposite")
    )
    right = min(o.ratio(o.best_of_paper, BASELINE).value for o in there)
    return (
        f"**On problems fitted to real logs the state matters little and the explorer a lot.** "
        f"Even the right gate on KL-UCB saves at most {100 * (1 - right):.0f} % there, and the "
        f"wrong one costs up to {100 * (wrong[0] - 1):.0f} % ({wrong[1]} on {wrong[2]}). {BOUND} "
        f"has {change(better.typical)} regret than {BASELINE}, {change(gate.typical)} than IMED."
    )


def _by_state(findings: Findings) -> str:
    return _multiples(findings, "by state", "Where rewards depend on the state", BASELINE, LEARNED)


def _catalogues(findings: Findings) -> str:
    return _multiples(findings, "catalogues", "In catalogues of 50 and 500 arms", "IMED")


def _multiples(findings: Findings, group: str, where: str, *others: str) -> str:
    there = findings.of(group, ENGAGEMENT, *others)
    if not there:
        return ""
    parts = [
        f"{o.trial.problem}: {' and '.join(str(o.ratio(ENGAGEMENT, x)) for x in others)}"
        for o in there
    ]
    return (
        f"**{where}** {ENGAGEMENT} has these multiples of the regret of {' and of '.join(others)}. "
        f"{'; '.join(parts)}."
    )


def _outside(findings: Findings) -> str:
    there = [o for o in findings.of("violations", BOUND, LEARNED, BASELINE) if o.is_proper]
    if not there:
        return ""
    parts = [
        f"{o.trial.problem}: {o.ratio(BOUND, BASELINE)} and {o.ratio(LEARNED, BASELINE)}"
        for o in there
    ]
    return (
        f"**Outside the model** {BOUND} and {LEARNED} have these multiples of {BASELINE}'s regret. "
        f"{'; '.join(parts)}."
    )


def _improper(findings: Findings) -> str:
    there = [o for o in findings.of("violations", *POLICIES) if not o.is_proper]
    if not there:
        return ""
    parts = []
    for o in there:
        best = o.best(POLICIES)
        parts.append(
            f"{o.trial.problem}: {BASELINE} {o.regret(BASELINE)}, {BOUND} {o.regret(BOUND)}, "
            f"least {best} {o.regret(best)}"
        )
    return (
        "**Where the best arm is not optimal (D < 0 in a state) no policy here is any good:** all "
        "of them go for the best arm, and regret grows with every visit. After "
        f"{there[0].trial.visits:,} visits: {'; '.join(parts)}."
    )

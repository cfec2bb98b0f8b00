"""Two states: the simulation section, and the further settings and coefficients of Appendix E."""

from ..measures.exact import LongestVisits
from ..measures.growth import SlopeBelow, SlopeNears, Towards
from ..measures.regret import Less, OptimalWidth, OwnWidth, RawWidth, Times, rising
from ..results import LOWER, Results
from ..trials import VISITS
from ..verdicts import Claim
from .readings import (
    DECADES,
    ENDS_ONLY,
    FIRST_ARM,
    GROWTH_ONLY,
    MIDDLE,
    ORDER_WISE,
    PAPER_RUNS,
    Q_OPEN,
    SLOPES,
    SLOPES_ONLY,
    TENFOLD,
    THEOREMS_C,
    TOWARDS,
)

OURS = ("ULCB", "KL-ULCB")
RIVALS = (("ULCB", "UCB"), ("KL-ULCB", "KL-UCB"))
Q_GREEDY, Q_UCB = "Q-learning, ε-greedy", "Q-learning, UCB"
Q_NAMES = {"q-greedy": Q_GREEDY, "q-ucb": Q_UCB}
MAIN = {"A": "Section 5, Figure 2 (a)", "B": "Section 5, Figure 2 (c)"}
MORE = {"C": "Appendix E, Figure 8 (a)", "D": "Appendix E, Figure 9 (a)"}
COMPARISONS = MAIN | MORE
BOUNDS = {
    "A": "Section 5, Figure 2 (b)",
    "B": "Section 5, Figure 2 (d)",
    "C": "Appendix E, Figure 8 (b)",
    "D": "Appendix E, Figure 9 (b)",
}
WIDTHS = {"A": 8.73, "B": 0.63}


def width_claims(
    setting: str, section: str, width: float, labels: tuple[str, ...]
) -> list[Claim[Results]]:
    """A stated half-width: exactly, as measured, and as it is here."""
    text = f"95 % half-widths are at most {width:g} (10⁷ runs)."
    return [
        Claim(
            f"{setting}-width",
            section,
            text,
            (OptimalWidth(setting, VISITS, PAPER_RUNS, width),),
            "Exact for the optimal rule: the stated number is the noise of raw rewards.",
            figure={"A": "a", "B": "c"}.get(setting, setting),
        ),
        Claim(
            f"{setting}-width-measured",
            section,
            f"{text} For the proposed policies, measured.",
            (RawWidth(setting, labels, PAPER_RUNS, width),),
            "From the spread of raw rewards here. It is so close to the stated number that "
            "telling which is greater would take millions of runs.",
        ),
        Claim(
            f"{setting}-width-here",
            section,
            f"The half-width {width:g} is reached here, with fewer runs.",
            (OwnWidth(setting, width),),
            "Not a claim of the paper: what the report's own intervals are.",
        ),
    ]


_OUTPERFORMS = [
    Claim(
        f"{setting}-{one.lower()}",
        section,
        f"{one} outperforms {other}.",
        (Less(setting, one, other),),
    )
    for setting, section in COMPARISONS.items()
    for one, other in RIVALS
]

_ORDER_WISE = [
    Claim(
        f"{setting}-{name}",
        section,
        f"ULCB and KL-ULCB have order-wise lower regret than {other}.",
        tuple(Times(setting, one, f"{setting}-rl", other, TENFOLD, MIDDLE) for one in OURS),
        f"{ORDER_WISE} {Q_OPEN}" if other == Q_UCB else ORDER_WISE,
    )
    for setting, section in COMPARISONS.items()
    for name, other in Q_NAMES.items()
]

_GROWTH = [
    Claim(
        f"{setting}-{name}-growth",
        section,
        f"The regret of {other} over that of ULCB and of KL-ULCB exceeds 1 and grows with K.",
        tuple(Times(setting, one, f"{setting}-rl", other, 1.0, MIDDLE) for one in OURS),
        choice=GROWTH_ONLY,
        of=f"{setting}-{name}",
    )
    for setting, section in COMPARISONS.items()
    for name, other in Q_NAMES.items()
]

_TOWARDS = [
    Claim(
        f"{setting}-{label.lower()}-towards",
        section,
        f"The curve of {label} goes towards its asymptotic bound"
        + (", which is the lower bound too." if label == "KL-ULCB" else "."),
        (Towards(setting, label, MIDDLE),),
        TOWARDS,
    )
    for setting, section in BOUNDS.items()
    for label in OURS
]

_SLOPES = [
    Claim(
        f"{setting}-{label.lower()}-slope",
        section,
        f"The slope of {label} goes towards that of its bound (only the slopes matter).",
        (SlopeNears(setting, label, DECADES),),
        SLOPES,
        choice=SLOPES_ONLY,
        of=f"{setting}-{label.lower()}-towards",
    )
    for setting, section in BOUNDS.items()
    for label in OURS
]

_Q_WIDTHS = [
    Claim(
        f"{setting}-width-q",
        section,
        f"95 % half-widths are at most {WIDTHS[setting]:g}, for the Q-learning curves too.",
        (RawWidth(f"{setting}-rl", (Q_GREEDY, Q_UCB), PAPER_RUNS, WIDTHS[setting]),),
        "The paper states one half-width for the whole figure. Runs of Q-learning differ far "
        f"more than rewards do. {Q_OPEN}",
    )
    for setting, section in MAIN.items()
]

CLAIMS: tuple[Claim[Results], ...] = (
    Claim(
        "intro",
        "Section 1, Figure 1 (b)",
        "A well designed algorithm significantly outperforms UCB and KL-UCB.",
        tuple(Less("A", one, other) for one, other in RIVALS),
        "The figure's setting is not stated; taken to be that of Figure 2 (a).",
    ),
    Claim(
        "q-not-optimal",
        "Section 1.1",
        "Q-learning with ε-greedy and Q-learning with UCB are not regret optimal.",
        tuple(
            SlopeBelow(f"{setting}-rl", other, DECADES, LOWER, above=True)
            for setting in MAIN
            for other in Q_NAMES.values()
        ),
        f"Taken to mean: from K = {MIDDLE:,} to {VISITS:,} regret grows faster than the lower "
        f"bound. {Q_OPEN}",
    ),
    *_OUTPERFORMS,
    *_ORDER_WISE,
    *_GROWTH,
    *_TOWARDS,
    *_SLOPES,
    *(c for s, width in WIDTHS.items() for c in width_claims(s, MAIN[s], width, OURS)),
    *_Q_WIDTHS,
    Claim(
        "longest",
        "Appendix E",
        "The expected length of a visit is greatest with the optimal arm always.",
        tuple(LongestVisits(setting) for setting in COMPARISONS),
        "Exact, over all rules that choose the arm by the state.",
        figure="a",
    ),
)

_C1 = tuple(f"c1 = {c1:g}" for c1 in (1.0, 0.75, 0.5, 0.25))
_C0 = tuple(f"c0 = {c0:g}" for c0 in (-1.0, -0.5, 0.0, 0.5, 1.0))

COEFFICIENTS: tuple[Claim[Results], ...] = (
    Claim(
        "sweep-c1",
        "Appendix E, Figure 10 (a)",
        "With c0 = -1, as c1 increases the regret decreases.",
        rising("sweep-c1", *_C1),
        "The paper does not give its values; here up to c1 = 1.",
    ),
    Claim(
        "sweep-c1-ends",
        "Appendix E, Figure 10 (a)",
        "With c0 = -1, regret is less with c1 = 1 than with c1 = 0.25.",
        rising("sweep-c1", _C1[0], _C1[-1]),
        choice=ENDS_ONLY,
        of="sweep-c1",
    ),
    Claim(
        "sweep-c1-beyond",
        "Appendix E, Figure 10 (a), open choice",
        "With c0 = -1, as c1 increases from 1 to 1.5 the regret decreases.",
        rising("sweep-c1", "c1 = 1.5", "c1 = 1"),
        choice="c1 beyond 1",
        of="sweep-c1",
    ),
    Claim(
        "sweep-c0",
        "Appendix E, Figure 10 (b)",
        "With c1 = 1, as c0 increases the regret increases.",
        rising("sweep-c0", *_C0),
        "The paper does not give its values; here from c0 = -1 to c0 = 1.",
    ),
    Claim(
        "sweep-c0-ends",
        "Appendix E, Figure 10 (b)",
        "With c1 = 1, regret is less with c0 = -1 than with c0 = 1.",
        rising("sweep-c0", _C0[0], _C0[-1]),
        choice=ENDS_ONLY,
        of="sweep-c0",
    ),
)

Q_CHOICES = {
    "p": ("Q by state, p = 0.5", "p = 0.5", "if p = 0.5 instead of 0.05"),
    "by-step": ("Q by step and state", "Q by step", "if Q depends on the step of the visit too"),
    "bonus": (
        "Q by state, c = 0.01",
        "bonus c = 0.01",
        "if the constant of the bonus is 0.01 instead of the paper's 4",
    ),
}

_OUTPERFORM_OTHERWISE = [
    Claim(
        f"{setting}-{one.lower()}-{suffix}",
        f"{section}, open choice",
        f"{one} outperforms {other} also {words}.",
        (Less(f"{setting}-{trial}", one, other),),
        note,
        choice=choice,
        of=f"{setting}-{one.lower()}",
    )
    for suffix, trial, choice, words, note in (
        (
            "ties", "ties", FIRST_ARM, "if ties go to the first arm",
            "Elsewhere ties are broken at random. The first arm is the best one here.",
        ),
        (
            "c4", "theorems", THEOREMS_C, "with c = 4",
            "The theorems take c = 4, the simulations c = 0.",
        ),
    )
    for setting, section in MAIN.items()
    for one, other in RIVALS
]  # fmt: skip

_TOWARDS_C4 = [
    Claim(
        f"{setting}-{label.lower()}-{kind}-c4",
        f"{BOUNDS[setting]}, open choice",
        f"{what} of {label} goes towards its bound also with c = 4.",
        (measure,),
        note,
        choice=THEOREMS_C,
        of=f"{setting}-{label.lower()}-{kind}",
    )
    for setting in MAIN
    for label in OURS
    for kind, what, measure, note in (
        ("towards", "The curve", Towards(f"{setting}-theorems", label, MIDDLE), TOWARDS),
        ("slope", "The slope", SlopeNears(f"{setting}-theorems", label, DECADES), SLOPES),
    )
]

_Q_OTHERWISE = [
    Claim(
        f"B-q-ucb-{name}",
        f"{MAIN['B']}, open choice",
        f"ULCB and KL-ULCB have order-wise lower regret than Q-learning with UCB also {words}.",
        tuple(Times("B", one, "B-q", label, TENFOLD, MIDDLE) for one in OURS),
        ORDER_WISE
        + (" The paper has 4: how much of the gap is the bonus's." if name == "bonus" else ""),
        choice=choice,
        of="B-q-ucb",
    )
    for name, (label, choice, words) in Q_CHOICES.items()
]

OPEN_CHOICES: tuple[Claim[Results], ...] = (*_OUTPERFORM_OTHERWISE, *_TOWARDS_C4, *_Q_OTHERWISE)
"""The choices that the paper leaves open, made the other way: ties, c, details of Q-learning."""

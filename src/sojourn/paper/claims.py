"""What the paper says that a simulation or an exact computation can check, sentence by sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .experiments import VISITS
from .measures import (
    LOWER,
    Agrees,
    GapFalls,
    GapOrder,
    Less,
    LinearPulls,
    Measure,
    Measured,
    OptimalWidth,
    Order,
    OwnWidth,
    RawWidth,
    Settles,
    SlopeBelow,
    SlopeNears,
    SlowStart,
    Tables,
    Times,
    Towards,
    Verdict,
    WithinLemma4,
    overall,
)


@dataclass(frozen=True)
class Claim:
    """A sentence, where it is, and what would bear it out: all the measures.

    `note` says what the claim is taken to mean, or which open choice it hinges on.
    """

    name: str
    section: str
    text: str
    measures: tuple[Measure, ...]
    note: str = ""
    figure: str = ""
    """Of claims that need no experiment: the figure to show them with."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """All that it needs, once each."""
        return tuple(dict.fromkeys(e for m in self.measures for e in m.experiments))


class Checked(NamedTuple):
    """A claim with its measurements and the verdict."""

    claim: Claim
    measured: list[Measured]
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        return {
            "claim": self.claim.name,
            "section": self.claim.section,
            "text": self.claim.text,
            "verdict": self.verdict.value,
            "note": self.claim.note,
            "measurements": [
                {
                    "what": m.what,
                    **m.interval._asdict(),
                    "claimed": "above" if m.above else "below",
                    "threshold": m.threshold,
                    "verdict": m.verdict.value,
                }
                for m in self.measured
            ],
        }


def check(claim: Claim, tables: Tables) -> Checked:
    """Measure a claim on results."""
    measured = [found for measure in claim.measures for found in measure.measure(tables)]
    return Checked(claim, measured, overall(measured))


def claims_about(experiments: Iterable[str], figures: Iterable[str]) -> list[Claim]:
    """The claims that these experiments suffice for, or that go with one of these figures."""
    there, shown = set(experiments), set(figures)
    return [
        claim
        for claim in CLAIMS
        if claim.figure in shown or (claim.experiments and there.issuperset(claim.experiments))
    ]


PAPER_RUNS = 1e7
TENFOLD = 10.0
EARLY, MIDDLE = 200, 2_000
DECADES = (EARLY, MIDDLE, VISITS)
OURS = ("ULCB", "KL-ULCB")
Q_GREEDY, Q_UCB = "Q-learning, ε-greedy", "Q-learning, UCB"
TWO_STATE = {"A": "Section 5, Figure (a)", "B": "Section 5, Figure (c)"}
MORE = {"C": "Appendix E, μ = 0.2, 0.1", "D": "Appendix E, three arms"}
BOUNDS = {
    "A": "Section 5, Figure (b)",
    "B": "Section 5, Figure (d)",
    "C": "Appendix E, μ = 0.2, 0.1",
    "D": "Appendix E, three arms",
}
EMA = {
    "ema-1000": "Appendix D.5, c6 = 1000",
    "ema-100": "Appendix D.5, c6 = 100",
    "ema-low": "Appendix D.5, μ = 0.2, 0.1",
}
WIDTHS = {"A": 8.73, "B": 0.63, "ema-1000": 4.43, "ema-100": 3.11, "ema-low": 0.12}

TOWARDS = (
    "Taken to mean: regret / log K is nearer to its bound at K = 20,000 than at K = 2,000. "
    "The bounds leave out terms of lower order, so the curves need not be near them yet."
)
ORDER_WISE = (
    "Taken to mean: more than ten times the regret at K = 20,000, and a ratio that grows with K."
)
Q_OPEN = (
    " The paper does not say whether Q depends on the step of the visit, nor gives p; "
    "here Q depends on the state only and p = 0.05. See q-variants for the alternatives."
)


def _outperforms() -> list[Claim]:
    return [
        Claim(
            f"{setting}-{one.lower()}",
            section,
            f"{one} outperforms {other}.",
            (Less(setting, one, other),),
        )
        for setting, section in (TWO_STATE | MORE).items()
        for one, other in (("ULCB", "UCB"), ("KL-ULCB", "KL-UCB"))
    ]


def _order_wise() -> list[Claim]:
    return [
        Claim(
            f"{setting}-{'q-greedy' if other == Q_GREEDY else 'q-ucb'}",
            section,
            f"ULCB and KL-ULCB have order-wise lower regret than {other}.",
            tuple(Times(setting, one, f"{setting}-rl", other, TENFOLD, MIDDLE) for one in OURS),
            ORDER_WISE + (Q_OPEN if other == Q_UCB else ""),
        )
        for setting, section in (TWO_STATE | MORE).items()
        for other in (Q_GREEDY, Q_UCB)
    ]


def _towards() -> list[Claim]:
    return [
        Claim(
            f"{setting}-{label.lower()}-towards",
            section,
            f"The curve of {label} goes towards its asymptotic bound.",
            (Towards(setting, label, MIDDLE),),
            TOWARDS,
        )
        for settings, labels in ((BOUNDS, OURS), (EMA, ("DISC-ULCB", "DISC-KL-ULCB")))
        for setting, section in settings.items()
        for label in labels
    ]


SLOPES = (
    "Taken to mean: the slope of regret against log K from K = 2,000 to 20,000 is nearer to the "
    "bound's than the slope from 200 to 2,000."
)


def _slopes() -> list[Claim]:
    return [
        Claim(
            f"{setting}-{label.lower()}-slope",
            section,
            f"The slope of {label} goes towards that of its bound (only the slopes matter).",
            (SlopeNears(setting, label, DECADES),),
            SLOPES,
        )
        for setting, section in BOUNDS.items()
        for label in OURS
    ]


def _general() -> list[Claim]:
    claims = []
    for setting, section in EMA.items():
        for kl in ("", "KL-"):
            disc, cont, ucb = f"DISC-{kl}ULCB", f"CONT-{kl}ULCB", f"{kl}UCB"
            claims += [
                Claim(
                    f"{setting}-{kl.lower()}outperform",
                    section,
                    f"{disc} and {cont} outperform {ucb}.",
                    (Less(setting, disc, ucb), Less(setting, cont, ucb)),
                ),
                Claim(
                    f"{setting}-{kl.lower()}cont",
                    section,
                    f"{cont} performs slightly better than {disc}.",
                    (Less(setting, cont, disc),),
                    "Checked: better. The share in brackets says how slightly.",
                ),
                Claim(
                    f"{setting}-{kl.lower()}slope",
                    section,
                    f"The slope of {disc} converges to that of its upper bound.",
                    (SlopeNears(setting, disc, DECADES),),
                    SLOPES,
                ),
            ]
    return claims


def _widths() -> list[Claim]:
    sections = TWO_STATE | EMA
    claims = []
    for setting, width in WIDTHS.items():
        section, text = sections[setting], f"95 % half-widths are at most {width:g} (10⁷ runs)."
        labels = OURS if setting in TWO_STATE else ("DISC-ULCB", "CONT-ULCB")
        claims += [
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
    claims += [
        Claim(
            f"{setting}-width-q",
            section,
            f"95 % half-widths are at most {WIDTHS[setting]:g}, for the Q-learning curves too.",
            (RawWidth(f"{setting}-rl", (Q_GREEDY, Q_UCB), PAPER_RUNS, WIDTHS[setting]),),
            "The paper states one half-width for the whole figure. Runs of Q-learning differ far "
            "more than rewards do." + Q_OPEN,
        )
        for setting, section in TWO_STATE.items()
    ]
    return claims


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "intro",
        "Section 1, Figure 1 (b)",
        "A well designed algorithm significantly outperforms UCB and KL-UCB.",
        (Less("A", "ULCB", "UCB"), Less("A", "KL-ULCB", "KL-UCB")),
        "The figure's setting is not stated; taken to be that of Figure (a).",
    ),
    Claim(
        "example-gaps",
        "Section 3.2, after Theorem 1",
        "With q(0,0) = 1 and no other abandonment, a mistake in state 0 costs 1 / (1 - μ1) times "
        "as much as in state 1.",
        (GapOrder("A"),),
        "Exact: here 1 / (1 - 0.9) = 10.",
        figure="a",
    ),
    Claim(
        "theorem-1",
        "Section 3.2, Theorem 1",
        "The regret of ULCB with c = 4 grows at most like its bound times log K; here, already "
        "from K = 2,000 to 20,000.",
        (SlopeBelow("A-theorems", "ULCB", MIDDLE), SlopeBelow("B-theorems", "ULCB", MIDDLE)),
        "The theorem is about K → ∞: a greater slope at finite K, where the log log term and "
        "others of lower order still count, does not contradict it.",
    ),
    Claim(
        "theorem-1-c0",
        "Section 3.2, Theorem 1 (with c = 0)",
        "The same with c = 0, as in the paper's simulations.",
        (SlopeBelow("A", "ULCB", MIDDLE), SlopeBelow("B", "ULCB", MIDDLE)),
        "The theorem is for c = 4: this shows the open choice made the other way.",
    ),
    Claim(
        "theorem-2",
        "Section 3.2, Theorem 2",
        "The regret of KL-ULCB with c = 4 grows at most like its bound times log K; here, already "
        "from K = 2,000 to 20,000.",
        (SlopeBelow("A-theorems", "KL-ULCB", MIDDLE), SlopeBelow("B-theorems", "KL-ULCB", MIDDLE)),
        "As for Theorem 1.",
    ),
    Claim(
        "theorem-2-c0",
        "Section 3.2, Theorem 2 (with c = 0)",
        "The same with c = 0, as in the paper's simulations.",
        (SlopeBelow("A", "KL-ULCB", MIDDLE), SlopeBelow("B", "KL-ULCB", MIDDLE)),
        "As for Theorem 1.",
    ),
    Claim(
        "theorem-3",
        "Section 3.2, Theorem 3",
        "No consistent policy's regret grows more slowly than the lower bound times log K.",
        tuple(
            SlopeBelow(setting, label, MIDDLE, LOWER, above=True)
            for setting in ("A", "B")
            for label in ("UCB", "ULCB", "KL-UCB", "KL-ULCB")
        ),
        "Slopes from K = 2,000 to 20,000 with c = 0; the bound is about K → ∞.",
    ),
    Claim(
        "decomposition",
        "Section 3.3.1, regret decomposition",
        "Regret is the expected sum of gaps along the policy's own path.",
        (Agrees("A", "ULCB", 1e-3), Agrees("B", "ULCB", 1e-3)),
        "Taken to mean: regret from gaps and from raw rewards differ by less than a thousandth of "
        "all rewards.",
    ),
    Claim(
        "lemma-3",
        "Section 3.3.2, Lemma 3",
        "Under ULCB the pulls of the best arm grow linearly.",
        (LinearPulls("A-theorems", "ULCB", MIDDLE), LinearPulls("B-theorems", "ULCB", MIDDLE)),
    ),
    Claim(
        "lemma-4",
        "Section 3.3.2, Lemma 4",
        "Under ULCB the regret from state 0 is at most a constant.",
        (WithinLemma4("A-theorems", "ULCB"), WithinLemma4("B-theorems", "ULCB")),
        "The constant of the proof is enormous; the next row is the sharper question.",
    ),
    Claim(
        "lemma-4-settles",
        "Section 3.3.2, Lemmas 4 and 5",
        "Under ULCB the regret from state 0 settles while that from state 1 goes on growing.",
        (Settles("A", "ULCB", MIDDLE, 0.05), Settles("B", "ULCB", MIDDLE, 0.05)),
        "Taken to mean: from K = 2,000 to 20,000 it grows by less than 5 % in state 0 and by more "
        "in state 1 (c = 0).",
    ),
    Claim(
        "large-n",
        "Section 4.2, after Theorem 4",
        "With many bins DISC-ULCB explores slowly, and regret might be large initially.",
        (SlowStart("bins", "n = 64", "n = 4", EARLY), SlowStart("bins", "n = 64", "n = 4", MIDDLE)),
        "Checked for n = 64 against n = 4, c6 = 100.",
    ),
    *_outperforms(),
    *_order_wise(),
    Claim(
        "q-variants",
        "Section 5, Figure (c), open choices",
        "ULCB has order-wise lower regret than Q-learning with UCB, whatever p is and whether or "
        "not Q depends on the step.",
        tuple(
            Times("B", "ULCB", "B-q", label, TENFOLD, MIDDLE)
            for label in ("Q by state, p = 0.05", "Q by state, p = 0.5", "Q by step and state")
        ),
        ORDER_WISE,
    ),
    Claim(
        "q-small-bonus",
        "Section 5, Figure (c), open choices",
        "The same if the constant of the bonus is 0.01 instead of the paper's 4.",
        (Times("B", "ULCB", "B-q", "Q by state, c = 0.01", TENFOLD, MIDDLE),),
        ORDER_WISE + " Not a claim of the paper: it shows how much of the gap is due to the bonus.",
    ),
    Claim(
        "ties",
        "Section 5, Figures (a) and (c), open choice",
        "ULCB outperforms UCB and KL-ULCB outperforms KL-UCB also if ties go to the first arm.",
        tuple(
            Less(f"{setting}-ties", one, other)
            for setting in TWO_STATE
            for one, other in (("ULCB", "UCB"), ("KL-ULCB", "KL-UCB"))
        ),
        "Elsewhere ties are broken at random. The first arm is the best one here.",
    ),
    Claim(
        "theorem-c",
        "Section 5, Figures (a) and (c), open choice",
        "ULCB outperforms UCB and KL-ULCB outperforms KL-UCB also with c = 4.",
        tuple(
            Less(f"{setting}-theorems", one, other)
            for setting in TWO_STATE
            for one, other in (("ULCB", "UCB"), ("KL-ULCB", "KL-UCB"))
        ),
        "The theorems take c = 4, the simulations c = 0.",
    ),
    *_towards(),
    *_slopes(),
    *_widths(),
    *_general(),
    Claim(
        "leave-curves",
        "Appendix D.3",
        "For c6 = 5, 50 and 1000 the gap never grows with the state.",
        (GapFalls((5.0, 50.0, 1000.0), mean=0.9, theta=0.5),),
        "Exact, on a grid of more than 1,000 states. The example has q(1) = 0, which the paper's "
        "Assumption 2 (q > 0) excludes at that one point.",
        figure="gaps",
    ),
    Claim(
        "conjecture",
        "Appendix D.3",
        "Conjecture: the gap never grows with the state for any c6 ≥ 5.",
        (GapFalls((5.0, 6.0, 8.0, 10.0, 20.0, 100.0, 1e4, 1e6), mean=0.9, theta=0.5),),
        "A scan, not a proof, for μ1 = 0.9 and θ = 0.5.",
        figure="gaps",
    ),
    Claim(
        "conjecture-theta",
        "Appendix D.3, open choice",
        "The same conjecture for a forgetting factor θ = 0.3.",
        (GapFalls((5.0, 50.0, 1000.0), mean=0.9, theta=0.3),),
        "The paper has θ = 0.5 in mind: this shows that the conjecture is about it.",
        figure="gaps",
    ),
    Claim(
        "sweep-c1",
        "Appendix E, Figure (a) of the coefficients",
        "With c0 = -1, as c1 increases the regret decreases.",
        (Order("sweep-c1", ("c1 = 0.25", "c1 = 0.5", "c1 = 0.75", "c1 = 1"), rises=False),),
        "The paper does not give its values; here up to c1 = 1.",
    ),
    Claim(
        "sweep-c1-beyond",
        "Appendix E, Figure (a) of the coefficients, open choice",
        "The same beyond c1 = 1, to c1 = 1.5.",
        (Order("sweep-c1", ("c1 = 1", "c1 = 1.5"), rises=False),),
        "The paper does not give its values: the claim hinges on them.",
    ),
    Claim(
        "sweep-c0",
        "Appendix E, Figure (b) of the coefficients",
        "With c1 = 1, as c0 increases the regret increases.",
        (Order("sweep-c0", ("c0 = -1", "c0 = -0.5", "c0 = 0", "c0 = 0.5", "c0 = 1"), rises=True),),
    ),
    Claim(
        "opposite-gaps",
        "Appendix F",
        "In the opposite case a mistake costs more in state 1.",
        (GapOrder("opposite", opposite=True),),
        "Exact, for μ = 0.6, 0.5 and q00, q01, q10, q11 = 0.5, 0.4, 0.45, 0.02.",
        figure="opposite",
    ),
    Claim(
        "opposite-signs",
        "Appendix F, Theorems 5 and 6",
        "In the opposite case one should be optimistic in state 0 and pessimistic in state 1.",
        tuple(
            Less("opposite", f"{name}, right signs", other)
            for name, ucb in (("ULCB", "UCB"), ("KL-ULCB", "KL-UCB"))
            for other in (f"{name}, wrong signs", ucb)
        ),
        "Taken to mean: less regret at K = 20,000 than with the signs of the normal case, and than "
        "optimism in both states. The theorems are about K → ∞.",
    ),
    Claim(
        "opposite-bounds",
        "Appendix F, Theorems 5 to 7",
        "In the opposite case the curves go towards the bounds.",
        tuple(Towards("opposite", f"{name}, right signs", MIDDLE) for name in OURS),
        TOWARDS,
    ),
)
"""In the order of the paper, except that rows of a kind stand together."""

"""What is proved for two states: Sections 2 and 3, and the opposite case of Appendix F."""

from ..measures.exact import BoundRatio, ExampleGaps, GapOrder, Lemma2, MistakesCost, ValuesRise
from ..measures.growth import LinearPulls, Settles, SlopeBelow, SlopeNears, Towards, WithinLemma4
from ..measures.regret import Agrees, Less
from ..results import LOWER, Results
from ..verdicts import Claim, Measure
from .readings import (
    AGREE,
    ALREADY,
    AT_LAST,
    DECADES,
    MIDDLE,
    ROUNDING,
    SETTLED,
    SIMULATIONS_C,
    SLOPES,
    THEOREMS_C,
    TOWARDS,
)
from .two_state import MAIN, OURS

SETTINGS = ("A", "B", "C", "D")
FOUR = ("UCB", "ULCB", "KL-UCB", "KL-ULCB")
RIGHT = tuple(f"{name}, right signs" for name in OURS)
WRONG = tuple(f"{name}, wrong signs" for name in OURS)


def _below(suffix: str, *labels: str, level: int | None = None) -> tuple[Measure[Results], ...]:
    return tuple(
        SlopeBelow(f"{setting}{suffix}", label, DECADES, level=level)
        for setting in MAIN
        for label in labels
    )


def _both_c(
    name: str, section: str, text: str, label: str, level: int | None = None
) -> list[Claim[Results]]:
    """A statement about slopes with c = 4, which is proved, and with c = 0."""
    return [
        Claim(name, section, text, _below("-theorems", label, level=level), AT_LAST),
        Claim(
            f"{name}-c0",
            f"{section}, open choice",
            text.replace(THEOREMS_C, SIMULATIONS_C),
            _below("", label, level=level),
            AT_LAST,
            choice=SIMULATIONS_C,
            of=name,
        ),
    ]


_EXACT_BOUNDS = [
    Claim(
        name,
        f"Section 3.2, after Theorem {number}",
        f"The {text}.",
        tuple(BoundRatio(setting, one, other) for setting in SETTINGS),
        "Exact.",
        figure="b",
    )
    for name, number, one, other, text in (
        ("bound-ulcb", 1, "ULCB", "UCB", "bound of ULCB is below that of UCB"),
        (
            "bound-pinsker", 2, "KL-ULCB", "ULCB",
            "bound of KL-ULCB is below that of ULCB (Pinsker's inequality)",
        ),
        ("bound-kl-ulcb", 2, "KL-ULCB", "KL-UCB", "bound of KL-ULCB is below that of KL-UCB"),
        ("sharp-bounds", 3, "KL-ULCB", LOWER, "upper bound of KL-ULCB is the lower bound"),
    )
]  # fmt: skip

MAIN_PART: tuple[Claim[Results], ...] = (
    Claim(
        "lemma-1",
        "Section 2, Lemma 1",
        "The optimal policy is always to pull the best arm.",
        tuple(MistakesCost(setting) for setting in (*SETTINGS, "opposite")),
        "Exact, for the settings here.",
        figure="a",
    ),
    Claim(
        "lemma-1-values",
        "Appendix C.1",
        "V*(1) is at least V*(0).",
        tuple(ValuesRise(setting) for setting in (*SETTINGS, "opposite")),
        "Exact, for the settings here.",
        figure="a",
    ),
    Claim(
        "example-gaps",
        "Section 3.2, after Theorem 1",
        "With q(0,0) = 1 and no other abandonment, a mistake costs (μ1 - μa) / (1 - μ1) in state 1 "
        "and 1 / (1 - μ1) times as much in state 0.",
        (*(ExampleGaps(s, ROUNDING) for s in ("A", "C", "D")), GapOrder("A")),
        "Exact, up to rounding: in setting A 1 / (1 - 0.9) = 10 times.",
        figure="a",
    ),
    Claim(
        "lemma-2",
        "Section 3.2, Lemma 2",
        "Where its condition on q holds, a mistake costs at least as much in state 0.",
        (Lemma2((0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0), means=(0.2, 0.9)),),
        "A scan: all q of Assumption 1 from a grid, for μ1 = 0.2 and 0.9.",
        figure="a",
    ),
    *(
        claim
        for number, name in enumerate(OURS, 1)
        for claim in _both_c(
            f"theorem-{number}",
            f"Section 3.2, Theorem {number}",
            f"The regret of {name} with c = 4 grows at most like its bound times log K, {ALREADY}.",
            name,
        )
    ),
    Claim(
        "theorem-3",
        "Section 3.2, Theorem 3",
        "No consistent policy's regret grows more slowly than the lower bound times log K, "
        f"{ALREADY}.",
        tuple(SlopeBelow(s, label, DECADES, LOWER, above=True) for s in MAIN for label in FOUR),
        f"With c = 0. {AT_LAST}",
    ),
    *_EXACT_BOUNDS,
    Claim(
        "sharp",
        "Section 3.2, after Theorem 3",
        "KL-ULCB with c = 4 attains the lower bound asymptotically.",
        tuple(SlopeNears(f"{setting}-theorems", "KL-ULCB", DECADES) for setting in MAIN),
        SLOPES,
    ),
    Claim(
        "sharp-c0",
        "Section 3.2, after Theorem 3, open choice",
        "KL-ULCB with c = 0 attains the lower bound asymptotically.",
        tuple(SlopeNears(setting, "KL-ULCB", DECADES) for setting in MAIN),
        SLOPES,
        choice=SIMULATIONS_C,
        of="sharp",
    ),
    Claim(
        "decomposition",
        "Section 3.3.1, regret decomposition",
        "Regret is the expected sum of gaps along the policy's own path.",
        tuple(Agrees(setting, "ULCB", AGREE) for setting in MAIN),
        "Taken to mean: regret from gaps and from raw rewards differ by less than a thousandth of "
        "all rewards.",
    ),
    Claim(
        "ucb-bounds",
        "Section 3.3.1",
        "The regrets of UCB and KL-UCB grow at most like the bound with the gap of state 0, "
        f"{ALREADY}.",
        _below("", "UCB", "KL-UCB"),
        f"With c = 0. {AT_LAST}",
    ),
    Claim(
        "lemma-3",
        "Section 3.3.2, Lemma 3",
        "Under ULCB the pulls of the best arm grow linearly.",
        tuple(LinearPulls(f"{setting}-theorems", "ULCB", MIDDLE) for setting in MAIN),
        "Taken to mean: more than a share p_min / 2 of all pulls, which the lemma comes close to.",
    ),
    Claim(
        "lemma-4",
        "Section 3.3.2, Lemma 4",
        "Under ULCB the regret from state 0 is at most a constant.",
        tuple(WithinLemma4(f"{setting}-theorems", "ULCB") for setting in MAIN),
        "The constant of the proof is enormous; the next row is the sharper question.",
    ),
    Claim(
        "lemma-4-settles",
        "Section 3.3.2, Lemmas 4 and 5",
        "Under ULCB the regret from state 0 settles while that from state 1 goes on growing.",
        tuple(Settles(f"{setting}-theorems", "ULCB", MIDDLE, SETTLED) for setting in MAIN),
        "Taken to mean: over the last decade of visits it grows by less than "
        f"{100 * SETTLED:g} % in state 0 and by more in state 1.",
    ),
    Claim(
        "lemma-4-settles-c0",
        "Section 3.3.2, Lemmas 4 and 5, open choice",
        "The same with c = 0: regret from state 0 settles, that from state 1 goes on growing.",
        tuple(Settles(setting, "ULCB", MIDDLE, SETTLED) for setting in MAIN),
        choice=SIMULATIONS_C,
        of="lemma-4-settles",
    ),
    *_both_c(
        "lemma-5",
        "Section 3.3.2, Lemma 5",
        "Under ULCB with c = 4 the regret from state 1 grows at most like the bound times log K, "
        f"{ALREADY}.",
        "ULCB",
        1,
    ),
)

OPPOSITE: tuple[Claim[Results], ...] = (
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
        "Section 3.2 and Appendix F",
        "In the opposite case one should be optimistic in state 0 and pessimistic in state 1.",
        tuple(
            Less("opposite", right, other)
            for right, wrong, ucb in zip(RIGHT, WRONG, ("UCB", "KL-UCB"), strict=True)
            for other in (wrong, ucb)
        ),
        "Taken to mean: less regret at the end than with the signs of the normal case, and than "
        "optimism in both states. The theorems are about K → ∞.",
    ),
    *(
        Claim(
            f"theorem-{number}",
            f"Appendix F.{part}, Theorem {number}",
            f"In the opposite case the regret of {name} grows at most like its bound times log K, "
            f"{ALREADY}.",
            (SlopeBelow("opposite", label, DECADES),),
            f"With c = 0; the theorem takes c = 4. {AT_LAST}",
        )
        for number, part, name, label in zip((5, 6), (1, 2), OURS, RIGHT, strict=True)
    ),
    Claim(
        "theorem-7",
        "Appendix F.3, Theorem 7",
        "In the opposite case no consistent policy's regret grows more slowly than the lower bound "
        f"times log K, {ALREADY}.",
        tuple(
            SlopeBelow("opposite", label, DECADES, LOWER, above=True)
            for label in ("UCB", "KL-UCB", *RIGHT, *WRONG)
        ),
        f"With c = 0. {AT_LAST}",
    ),
    Claim(
        "opposite-sharp",
        "Appendix F.3, after Theorem 7",
        "In the opposite case the upper bound of KL-ULCB is the lower bound.",
        (BoundRatio("opposite", "KL-ULCB, opposite", f"{LOWER}, opposite"),),
        "Exact.",
        figure="opposite",
    ),
    Claim(
        "opposite-bounds",
        "Appendix F, Theorems 5 to 7",
        "In the opposite case the curves go towards the bounds.",
        tuple(Towards("opposite", label, MIDDLE) for label in RIGHT),
        TOWARDS,
    ),
)

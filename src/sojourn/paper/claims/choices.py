"""The choices that the paper leaves open, made the other way: ties, c, details of Q-learning."""

from ..measures.growth import SlopeNears, Towards
from ..measures.regret import Less, Times
from ..results import Results
from ..verdicts import Claim
from .readings import DECADES, FIRST_ARM, MIDDLE, ORDER_WISE, SLOPES, TENFOLD, THEOREMS_C, TOWARDS
from .two_state import BOUNDS, MAIN, OURS, RIVALS

Q_CHOICES = {
    "p": ("Q by state, p = 0.5", "p = 0.5", "if p = 0.5 instead of 0.05"),
    "by-step": ("Q by step and state", "Q by step", "if Q depends on the step of the visit too"),
    "bonus": (
        "Q by state, c = 0.01",
        "bonus c = 0.01",
        "if the constant of the bonus is 0.01 instead of the paper's 4",
    ),
}

_OUTPERFORMS = [
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

_Q = [
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

CLAIMS: tuple[Claim[Results], ...] = (*_OUTPERFORMS, *_TOWARDS_C4, *_Q)

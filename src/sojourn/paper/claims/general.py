"""The general state: Section 4 and Appendix D."""

from ..measures.exact import BoundRatio, GapFalls, MistakesCost, ValuesRise
from ..measures.growth import SlopeBelow, SlopeNears, Towards
from ..measures.regret import Less, MoreWrongPulls
from ..results import LOWER, Results
from ..verdicts import Claim
from .readings import ALREADY, AT_LAST, DECADES, EARLY, MIDDLE, NEARLY, SLOPES, TOWARDS
from .two_state import width_claims

EMA = {"ema-1000": "Figure 5", "ema-100": "Figure 6", "ema-low": "Figure 7"}
SECTION = "Appendix D.5"
WIDTHS = {"ema-1000": 4.43, "ema-100": 3.11, "ema-low": 0.12}
DISC = ("DISC-ULCB", "DISC-KL-ULCB")
POLICIES = ("UCB", "DISC-ULCB", "CONT-ULCB", "KL-UCB", "DISC-KL-ULCB", "CONT-KL-ULCB")


def _simulated(setting: str, figure: str, kl: str) -> list[Claim[Results]]:
    disc, cont, ucb = f"DISC-{kl}ULCB", f"CONT-{kl}ULCB", f"{kl}UCB"
    comparison, bounds = f"{SECTION}, {figure} (a)", f"{SECTION}, {figure} (b)"
    name = f"{setting}-{kl.lower()}"
    return [
        Claim(
            f"{name}outperform",
            comparison,
            f"{disc} and {cont} outperform {ucb}.",
            (Less(setting, disc, ucb), Less(setting, cont, ucb)),
        ),
        Claim(
            f"{name}cont",
            comparison,
            f"{cont} performs slightly better than {disc}.",
            (Less(setting, cont, disc),),
            "Checked: better. The share in brackets says how slightly.",
        ),
        Claim(
            f"{name}slope",
            comparison,
            f"The slope of {disc} converges to that of its upper bound.",
            (SlopeNears(setting, disc, DECADES),),
            SLOPES,
        ),
        Claim(
            f"{setting}-{disc.lower()}-towards",
            bounds,
            f"The curve of {disc} goes towards its asymptotic bound.",
            (Towards(setting, disc, MIDDLE),),
            TOWARDS,
        ),
    ]


def _more_exploration(n: int, trial: str, label: str) -> Claim[Results]:
    return Claim(
        f"cont-explores-{n}",
        "Section 4.2",
        f"CONT-ULCB explores more at the beginning than DISC-ULCB with n = {n}.",
        (MoreWrongPulls("ema-100", "CONT-ULCB", trial, label, EARLY),),
        f"Taken to mean: more pulls of the wrong arm by K = {EARLY:,}, c6 = 100.",
    )


CLAIMS: tuple[Claim[Results], ...] = (
    Claim(
        "lemma-6",
        "Section 4.1, Lemma 6",
        "The optimal policy is always to pull the best arm.",
        tuple(MistakesCost(setting) for setting in EMA),
        "Exact, on a grid of more than 1,000 states, for the paper's settings.",
        figure="gaps",
    ),
    Claim(
        "lemma-6-values",
        "Appendix D.2",
        "V* does not fall with the state.",
        tuple(ValuesRise(setting) for setting in EMA),
        "Exact, as above.",
        figure="gaps",
    ),
    Claim(
        "theorem-4",
        "Section 4.2, Theorem 4",
        "The regrets of DISC-ULCB and DISC-KL-ULCB grow at most like their bounds times log K, "
        f"{ALREADY}.",
        tuple(SlopeBelow(setting, label, DECADES) for setting in EMA for label in DISC),
        f"With c = 0, as in the paper's simulations; the theorem takes c = 4. {AT_LAST}",
    ),
    Claim(
        "general-lower",
        "Section 4.2, before Theorem 4",
        "In the general-state setting too, no policy's regret grows more slowly than the lower "
        f"bound of Theorem 3, {ALREADY}.",
        tuple(
            SlopeBelow(setting, label, DECADES, LOWER, above=True)
            for setting in EMA
            for label in POLICIES
        ),
        AT_LAST,
    ),
    Claim(
        "nearly-tight",
        "Section 4.2, after Theorem 4",
        "For large n the upper bound of DISC-KL-ULCB is nearly tight.",
        tuple(
            BoundRatio(setting, "DISC-KL-ULCB", LOWER, at_most=1.0 + NEARLY, n=64)
            for setting in EMA
        ),
        "Exact. Taken to mean: at n = 64 it exceeds the lower bound by less than "
        f"{100 * NEARLY:g} %.",
        figure="bins",
    ),
    Claim(
        "large-n",
        "Section 4.2, after Theorem 4",
        "With many bins DISC-ULCB explores slowly, and regret might be large initially.",
        (Less("bins", "n = 4", "n = 64", EARLY), Less("bins", "n = 4", "n = 64", MIDDLE)),
        f"Taken to mean: more regret with n = 64 than with n = 4 at K = {EARLY:,} and {MIDDLE:,}, "
        "c6 = 100.",
    ),
    _more_exploration(4, "ema-100", "DISC-ULCB"),
    _more_exploration(64, "bins", "n = 64"),
    *(
        claim
        for setting, figure in EMA.items()
        for kl in ("", "KL-")
        for claim in _simulated(setting, figure, kl)
    ),
    *(
        claim
        for setting, width in WIDTHS.items()
        for claim in width_claims(
            setting, f"{SECTION}, Remark, {EMA[setting]} (a)", width, ("DISC-ULCB", "CONT-ULCB")
        )
    ),
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
        "The same conjecture for a forgetting factor θ = 0.3: the gap never grows with the state.",
        (GapFalls((5.0, 50.0, 1000.0), mean=0.9, theta=0.3),),
        "The paper has θ = 0.5 in mind: this shows that the conjecture is about it.",
        figure="gaps",
        choice="θ = 0.3",
        of="conjecture",
    ),
)

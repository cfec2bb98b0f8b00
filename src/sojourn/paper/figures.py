"""The paper's figures as data: what each one shows, of which trials."""

from dataclasses import dataclass

from .claims.two_state import BOUNDS, COMPARISONS
from .trials import TRIALS

VISIT_MARKS = (200.0, 2_000.0, 20_000.0)
STATE_MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where the tables beside figures read off their curves."""


@dataclass(frozen=True)
class Curves:
    """Regret against visits, from one or more trials on one problem.

    `per_log` divides by log K; `bounds` are the policies whose upper bound is drawn, and `lower`
    draws the lower bound. `labels` picks policies, all unless given. With `since` the picture
    begins at that number of visits.
    """

    trials: tuple[str, ...]
    labels: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    lower: bool = False
    per_log: bool = False
    log_regret: bool = False
    log_visits: bool = True
    since: int = 1
    marks: tuple[float, ...] = VISIT_MARKS

    def shown(self) -> list[tuple[str, str]]:
        """(trial, label) of every curve."""
        return [
            (trial, label)
            for trial in self.trials
            for label in TRIALS[trial].labels
            if not self.labels or label in self.labels
        ]


@dataclass(frozen=True)
class Split:
    """Regret by the state in which it arose, for some policies of one trial."""

    trial: str
    labels: tuple[str, ...]
    marks: tuple[float, ...] = VISIT_MARKS

    @property
    def trials(self) -> tuple[str, ...]:
        return (self.trial,)


@dataclass(frozen=True)
class Versus:
    """Regret of the same policies in two trials that differ in one choice."""

    trials: tuple[str, str]
    names: tuple[str, str]
    labels: tuple[str, ...]
    marks: tuple[float, ...] = VISIT_MARKS


@dataclass(frozen=True)
class LeaveCurves:
    """q(s) = 1 - log(c6 s + 1) / log(c6 + 1); curves are named at the state `named_at`."""

    c6s: tuple[float, ...]
    named_at: float
    marks: tuple[float, ...] = STATE_MARKS
    trials: tuple[str, ...] = ()


@dataclass(frozen=True)
class GapCurves:
    """The mistake cost D(s) with those leave curves, for arms of mean `mean` and `other`."""

    c6s: tuple[float, ...]
    mean: float
    other: float
    theta: float
    named_at: float
    marks: tuple[float, ...] = STATE_MARKS
    trials: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """States, and the probabilities of going from one to another when an arm is pulled."""

    problem: str
    trials: tuple[str, ...] = ()


Panel = Curves | Split | Versus | LeaveCurves | GapCurves | Graph


@dataclass(frozen=True)
class Figure:
    """One picture: its title, where it is in the paper, what is in it, and a word about it."""

    title: str
    section: str
    panel: Panel
    caption: str


INDEX = ("UCB", "ULCB", "KL-UCB", "KL-ULCB")
TWO_STATE = (
    "Policies on the same users; bands are 95 % intervals, too narrow to see where a line is thin."
)
BOUND_LINES = (
    "Dotted: upper bounds (UB), slope times log K without lower-order terms; dash-dotted grey: "
    "lower bound (LB). Only slopes matter."
)
PER_LOG = (
    "Regret / log K. Dotted: the slope of the upper bound; dash-dotted grey: of the lower bound, "
    "which is also KL-ULCB's upper bound."
)


def _two_state(setting: str, comparison: str, bounds: str, what: str) -> dict[str, Figure]:
    return {
        comparison: Figure(
            f"Comparison, setting {setting}",
            COMPARISONS[setting],
            Curves((setting, f"{setting}-rl"), log_regret=True, since=10),
            f"{what}. Both axes logarithmic: Q-learning is off the others' scale. {TWO_STATE}",
        ),
        f"{comparison}-index": Figure(
            f"Index policies, setting {setting}",
            COMPARISONS[setting],
            Curves((setting,), bounds=("ULCB", "KL-ULCB"), lower=True),
            f"{what}. {BOUND_LINES}",
        ),
        bounds: Figure(
            f"Upper and lower bound, setting {setting}",
            BOUNDS[setting],
            Curves((setting,), bounds=("ULCB", "KL-ULCB"), lower=True, per_log=True, since=10),
            f"{what}. {PER_LOG}",
        ),
    }


def _general(setting: str, section: str, what: str) -> dict[str, Figure]:
    disc = ("DISC-ULCB", "DISC-KL-ULCB")
    return {
        setting: Figure(
            f"General state, {what}",
            f"{section} (a)",
            Curves((setting,), bounds=disc, lower=True),
            BOUND_LINES,
        ),
        f"{setting}-bounds": Figure(
            f"General state, bounds, {what}",
            f"{section} (b)",
            Curves((setting,), bounds=disc, lower=True, per_log=True, since=10),
            "Regret / log K. Dotted: the slope of DISC's upper bound; dash-dotted grey: of the "
            "lower bound.",
        ),
    }


C6S = (5.0, 50.0, 1000.0)

FIGURES: dict[str, Figure] = {
    "intro": Figure(
        "Total regret over K visits",
        "Section 1, Figure 1 (b)",
        Curves(("A",), log_visits=False),
        "The setting is not stated; taken to be that of Figure 2 (a). " + TWO_STATE,
    ),
    **_two_state("A", "a", "b", "μ = 0.9, 0.8; q00 = 1, others 0"),
    **_two_state("B", "c", "d", "μ = 0.9, 0.8; q00 = 0.8, q01 = q10 = 0.2, q11 = 0.1"),
    **_two_state("C", "low", "low-bounds", "μ = 0.2, 0.1; q00 = 1"),
    **_two_state("D", "three", "three-bounds", "μ = 0.9, 0.8, 0.5; q00 = 1"),
    "sweep-c1": Figure(
        "ULCB with c0 = -1 and other c1",
        "Appendix E, Figure 10 (a)",
        Curves(("sweep-c1",), log_regret=True, since=10),
        "Setting A. The paper does not give its values. With little optimism in state 1 some runs "
        "never leave the wrong arm, and regret grows linearly.",
    ),
    "sweep-c0": Figure(
        "ULCB with c1 = 1 and other c0",
        "Appendix E, Figure 10 (b)",
        Curves(("sweep-c0",)),
        "Setting A. The paper does not give its values.",
    ),
    **_general("ema-1000", "Appendix D.5, Figure 5", "μ = 0.9, 0.8; c6 = 1000"),
    **_general("ema-100", "Appendix D.5, Figure 6", "μ = 0.9, 0.8; c6 = 100"),
    **_general("ema-low", "Appendix D.5, Figure 7", "μ = 0.2, 0.1; c6 = 1000"),
    "leave-curves": Figure(
        "Probability to leave by state",
        "Appendix D.3, Figure 4",
        LeaveCurves(C6S, named_at=0.3),
        "q(s) = 1 - log(c6 s + 1) / log(c6 + 1).",
    ),
    "gaps": Figure(
        "Cost of a mistake by state",
        "Appendix D.3",
        GapCurves(C6S, mean=0.9, other=0.8, theta=0.5, named_at=0.11),
        "D(s) = gap(s, a) / (μ1 - μa), exact, for μ1 = 0.9 and θ = 0.5: the inequality that the "
        "paper checks says that it never grows.",
    ),
    "transitions": Figure(
        "Transition graph",
        "Appendix B, Figure 3",
        Graph("B"),
        "Probabilities when arm a of mean μ is pulled; the numbers are those of the best arm in "
        "setting B.",
    ),
    "bins": Figure(
        "DISC-ULCB with n bins",
        "Section 4.2",
        Curves(("bins",)),
        "c6 = 100. With many bins the state is seldom in the top one, where DISC explores.",
    ),
    "opposite": Figure(
        "The opposite case, right and wrong signs",
        "Appendix F, not plotted in the paper",
        Curves(("opposite",), bounds=("ULCB, right signs", "KL-ULCB, right signs")),
        "A mistake costs more in state 1. Right signs: optimistic in state 0. Dotted: bounds of "
        "Theorems 5 and 6.",
    ),
    "opposite-bounds": Figure(
        "The opposite case over log K",
        "Appendix F, not plotted in the paper",
        Curves(
            ("opposite",),
            labels=("ULCB, right signs", "KL-ULCB, right signs"),
            bounds=("ULCB, right signs", "KL-ULCB, right signs"),
            lower=True,
            per_log=True,
            since=10,
        ),
        "Regret / log K. Dotted: the slopes of Theorems 5 and 6; dash-dotted grey: of Theorem 7.",
    ),
    "split-a": Figure(
        "Regret by state, setting A",
        "Section 3.3, Lemmas 4 and 5, not plotted in the paper",
        Split("A", ("UCB", "ULCB")),
        "Under ULCB the regret from state 0 levels off and that from state 1 grows like log K; "
        "under UCB both grow.",
    ),
    "split-b": Figure(
        "Regret by state, setting B",
        "Section 3.3, Lemmas 4 and 5, not plotted in the paper",
        Split("B", ("UCB", "ULCB")),
        "As in setting A.",
    ),
    "c4-a": Figure(
        "c = 4 and c = 0, setting A",
        "Theorems 1 and 2 against Section 5",
        Versus(("A", "A-theorems"), ("c = 0", "c = 4"), INDEX),
        "The theorems take c = 4, the simulations c = 0: the log log term multiplies regret.",
    ),
    "c4-b": Figure(
        "c = 4 and c = 0, setting B",
        "Theorems 1 and 2 against Section 5",
        Versus(("B", "B-theorems"), ("c = 0", "c = 4"), INDEX),
        "As in setting A.",
    ),
    "ties": Figure(
        "Ties at random or to the first arm, setting A",
        "Section 5, open choice",
        Versus(("A", "A-ties"), ("random", "first"), INDEX),
        "How ties are broken is not said.",
    ),
    "q-variants": Figure(
        "Q-learning with UCB, open choices, setting B",
        "Section 5, open choice",
        Curves(("B", "B-q"), labels=("ULCB", *TRIALS["B-q"].labels), log_regret=True, since=10),
        "The paper does not say whether Q depends on the step, nor gives p. c = 0.01 is for "
        "comparison: the paper has c = 4.",
    ),
}

FIRST = "intro"
"""The paper's first figure of results, with which reports begin."""

MAIN = (
    FIRST, "a", "b", "c", "d", "low-bounds", "three-bounds", "sweep-c1", "sweep-c0",
    "ema-1000", "ema-1000-bounds", "ema-low", "opposite", "split-a", "c4-a",
)  # fmt: skip
"""The figures for the documentation."""

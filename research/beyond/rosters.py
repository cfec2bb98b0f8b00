"""Who plays: policies by the label they have in tables and pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.paper.trials import GENERAL, VISITS, Roster, by_label
from sojourn.policies import (
    IMED,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ExactIndex,
    KLUCBSwitch,
    LearnedAdaUCB,
    LearnedIMED,
    LearnedKLUCB,
    LearnedThompson,
    LearnedUCB,
    PricedIndex,
    SafeIMED,
    SafeThompson,
    Thompson,
)
from sojourn.problem import Problem


@dataclass(frozen=True)
class Family:
    """An explorer: plain, with optimism fixed for a case, and with learned optimism, by label."""

    plain: str
    fixed: tuple[str, ...]
    learned: str


GATED_KL = (KLUCB(), KLULCB(), KLULCB().opposite())
SAFE_IMED = (SafeIMED(), SafeIMED().opposite())
SAFE_THOMPSON = (SafeThompson(), SafeThompson().opposite())
BOUND_THOMPSON = LearnedThompson(floor=-1)

PAPER = by_label(UCB(), ULCB(), ULCB().opposite(), *GATED_KL)
"""What the paper compares on users with two states; with a moving average it is `GENERAL`."""

BEYOND = by_label(
    IMED(), *SAFE_IMED, LearnedUCB(), LearnedKLUCB(), LearnedIMED(floor=-1), LearnedIMED(),
    PricedIndex(),
)  # fmt: skip
PUBLISHED = by_label(KLUCB(), LearnedAdaUCB(), KLUCBSwitch(), LearnedIMED(), PricedIndex())
"""Beside them, policies of other papers that need not be told the case."""
SAMPLING = by_label(*GATED_KL, Thompson(), *SAFE_THOMPSON, BOUND_THOMPSON)
CAUTION = by_label(KLULCB(), KLULCB(c0=0), SafeIMED(), SafeIMED(c0=0))
CAUTION_OPPOSITE = by_label(
    KLULCB().opposite(), KLULCB(c0=0).opposite(), SafeIMED().opposite(), SafeIMED(c0=0).opposite()
)
"""Where not to explore, the lower confidence bound or the empirical mean: pairs of policies."""


def exact_index(problem: Problem) -> ExactIndex:
    """The exact index, told how people leave and how many visits there are."""
    return ExactIndex(problem.user, visits=VISITS)


HEADLINE: Roster = {**by_label(*GATED_KL, LearnedIMED(), PricedIndex()), "Exact index": exact_index}
"""The paper's best, ours, and what can be had if all but the means is known."""

CONFIDENCE: Roster = {
    "IMED": IMED(),
    **{
        f"{LearnedIMED(floor=floor).label}, confidence={z:g}": LearnedIMED(
            confidence=z, floor=floor
        )
        for floor in (-1, 0)
        for z in (1.0, 1.5, 2.0, 3.0)
    },
}

ROSTERS: Mapping[str, Roster] = {
    "main": {**PAPER, **BEYOND},
    "ema": {**GENERAL, **BEYOND},
    "headline": HEADLINE,
    "published": PUBLISHED,
    "sampling": SAMPLING,
    "caution": CAUTION,
    "caution, opposite": CAUTION_OPPOSITE,
    "confidence": CONFIDENCE,
}

BASELINE = KLUCB().label
BOUND, LEARNED = LearnedIMED(floor=-1).label, LearnedIMED().label
"""Learned optimism that plays the lower bound where mistakes are dear, or the empirical mean."""

PRICED = PricedIndex().label

OURS = tuple(BEYOND)
PAPERS = tuple({**PAPER, **GENERAL})
"""The labels of the paper's policies: the best of them in hindsight is a yardstick."""

FAMILIES = (
    Family("UCB", ("ULCB", "ULCB, opposite", "DISC-ULCB", "CONT-ULCB"), "Learned UCB"),
    Family(
        "KL-UCB", ("KL-ULCB", "KL-ULCB, opposite", "DISC-KL-ULCB", "CONT-KL-ULCB"), "Learned KL-UCB"
    ),
    *(Family("IMED", tuple(by_label(*SAFE_IMED)), learned) for learned in (BOUND, LEARNED)),
    Family("Thompson", tuple(by_label(*SAFE_THOMPSON)), BOUND_THOMPSON.label),
)
"""Every explorer once; a roster has those of the fixed cases that go with its users."""

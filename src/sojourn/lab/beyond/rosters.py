"""Who plays: policies by the label they have in tables and pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...policies import (
    IMED,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContKLULCB,
    ContULCB,
    DiscKLULCB,
    DiscULCB,
    LearnedIMED,
    LearnedKLUCB,
    LearnedThompson,
    LearnedUCB,
    Policy,
    SafeIMED,
    SafeThompson,
    Thompson,
)
from ..trials import Roster


@dataclass(frozen=True)
class Family:
    """An explorer: plain, with optimism fixed for a case, and with learned optimism, by label."""

    plain: str
    fixed: tuple[str, ...]
    learned: str


def _roster(*policies: Policy) -> Roster:
    return {policy.label: policy for policy in policies}


PAPER = _roster(UCB(), ULCB(), ULCB().opposite(), KLUCB(), KLULCB(), KLULCB().opposite())
PAPER_EMA = _roster(UCB(), DiscULCB(), ContULCB(), KLUCB(), DiscKLULCB(), ContKLULCB())
"""What the paper compares on users with two states, and on those with a moving average."""

BEYOND = _roster(
    IMED(),
    SafeIMED(),
    SafeIMED().opposite(),
    LearnedUCB(),
    LearnedKLUCB(),
    LearnedIMED(floor=-1),
    LearnedIMED(),
)
SAMPLING = _roster(
    KLUCB(),
    KLULCB(),
    KLULCB().opposite(),
    Thompson(),
    SafeThompson(),
    SafeThompson().opposite(),
    LearnedThompson(floor=-1),
)
CAUTION = _roster(KLULCB(), KLULCB(c0=0), SafeIMED(), SafeIMED(c0=0))
CAUTION_OPPOSITE = _roster(
    KLULCB().opposite(), KLULCB(c0=0).opposite(), SafeIMED().opposite(), SafeIMED(c0=0).opposite()
)
"""Where not to explore, the lower confidence bound or the empirical mean: pairs of policies."""

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
    "ema": {**PAPER_EMA, **BEYOND},
    "sampling": SAMPLING,
    "caution": CAUTION,
    "caution, opposite": CAUTION_OPPOSITE,
    "confidence": CONFIDENCE,
}

BASELINE = KLUCB().label
BOUND, LEARNED = LearnedIMED(floor=-1).label, LearnedIMED().label
"""Learned optimism that plays the lower bound where mistakes are dear, or the empirical mean."""

OURS = tuple(BEYOND)
PAPERS = tuple({**PAPER, **PAPER_EMA})
"""The labels of the paper's policies: the best of them in hindsight is a yardstick."""

_SAFE = ("Safe IMED", "Safe IMED, opposite")
FAMILIES = (
    Family("UCB", ("ULCB", "ULCB, opposite", "DISC-ULCB", "CONT-ULCB"), "Learned UCB"),
    Family(
        "KL-UCB", ("KL-ULCB", "KL-ULCB, opposite", "DISC-KL-ULCB", "CONT-KL-ULCB"), "Learned KL-UCB"
    ),
    Family("IMED", _SAFE, BOUND),
    Family("IMED", _SAFE, LEARNED),
    Family(
        "Thompson", ("Safe Thompson", "Safe Thompson, opposite"), LearnedThompson(floor=-1).label
    ),
)
"""Every explorer once; a roster has those of the fixed cases that go with its users."""

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

Roster = Mapping[str, Policy]


@dataclass(frozen=True)
class Family:
    """An explorer, plain, with each fixed case, and with learned optimism: by their labels."""

    plain: str
    normal: tuple[str, ...]
    opposite: tuple[str, ...]
    learned: str

    @property
    def fixed(self) -> tuple[str, ...]:
        """Both cases."""
        return self.normal + self.opposite


PAPER: Roster = {
    "UCB": UCB(),
    "ULCB": ULCB(),
    "ULCB, opposite": ULCB().opposite(),
    "KL-UCB": KLUCB(),
    "KL-ULCB": KLULCB(),
    "KL-ULCB, opposite": KLULCB().opposite(),
}
PAPER_EMA: Roster = {
    "UCB": UCB(),
    "DISC-ULCB": DiscULCB(),
    "CONT-ULCB": ContULCB(),
    "KL-UCB": KLUCB(),
    "DISC-KL-ULCB": DiscKLULCB(),
    "CONT-KL-ULCB": ContKLULCB(),
}
"""What the paper compares on users with two states, and on those with a moving average."""

BEYOND: Roster = {
    "IMED": IMED(),
    "Safe IMED": SafeIMED(),
    "Safe IMED, opposite": SafeIMED().opposite(),
    "Learned UCB": LearnedUCB(),
    "Learned KL-UCB": LearnedKLUCB(),
    "Learned IMED": LearnedIMED(floor=-1),
    "Learned IMED, mean": LearnedIMED(floor=0),
}
SAMPLING: Roster = {
    "KL-UCB": KLUCB(),
    "KL-ULCB": KLULCB(),
    "KL-ULCB, opposite": KLULCB().opposite(),
    "Thompson": Thompson(),
    "Safe Thompson": SafeThompson(),
    "Safe Thompson, opposite": SafeThompson().opposite(),
    "Learned Thompson": LearnedThompson(floor=-1),
}
CAUTION: Roster = {
    "KL-ULCB": KLULCB(),
    "KL-ULCB, mean": KLULCB(c0=0),
    "Safe IMED": SafeIMED(),
    "Safe IMED, mean": SafeIMED(c0=0),
}
CAUTION_OPPOSITE: Roster = {
    "KL-ULCB, opposite": KLULCB().opposite(),
    "KL-ULCB, opposite, mean": KLULCB(c0=0).opposite(),
    "Safe IMED, opposite": SafeIMED().opposite(),
    "Safe IMED, opposite, mean": SafeIMED(c0=0).opposite(),
}
"""Where not to explore: the lower confidence bound, or the empirical mean."""

CONFIDENCES = (1.0, 1.5, 2.0, 3.0)
CONFIDENCE: Roster = {
    "IMED": IMED(),
    **{f"Learned IMED, {z:g}": LearnedIMED(confidence=z, floor=-1) for z in CONFIDENCES},
    **{f"mean, {z:g}": LearnedIMED(confidence=z, floor=0) for z in CONFIDENCES},
}

ROSTERS: Mapping[str, Roster] = {
    "main": {**PAPER, **BEYOND},
    "ema": {**PAPER_EMA, **BEYOND},
    "sampling": SAMPLING,
    "caution": CAUTION,
    "caution, opposite": CAUTION_OPPOSITE,
    "confidence": CONFIDENCE,
}

BASELINE = "KL-UCB"
OURS = tuple(BEYOND)
PAPERS = tuple({**PAPER, **PAPER_EMA})
"""The labels of the paper's policies: the best of them in hindsight is a yardstick."""

FAMILIES: Mapping[str, tuple[Family, ...]] = {
    "main": (
        Family("UCB", ("ULCB",), ("ULCB, opposite",), "Learned UCB"),
        Family("KL-UCB", ("KL-ULCB",), ("KL-ULCB, opposite",), "Learned KL-UCB"),
        Family("IMED", ("Safe IMED",), ("Safe IMED, opposite",), "Learned IMED"),
        Family("IMED", ("Safe IMED",), ("Safe IMED, opposite",), "Learned IMED, mean"),
    ),
    "ema": (
        Family("UCB", ("DISC-ULCB", "CONT-ULCB"), (), "Learned UCB"),
        Family("KL-UCB", ("DISC-KL-ULCB", "CONT-KL-ULCB"), (), "Learned KL-UCB"),
        Family("IMED", ("Safe IMED",), ("Safe IMED, opposite",), "Learned IMED"),
        Family("IMED", ("Safe IMED",), ("Safe IMED, opposite",), "Learned IMED, mean"),
    ),
    "sampling": (
        Family("Thompson", ("Safe Thompson",), ("Safe Thompson, opposite",), "Learned Thompson"),
    ),
}
"""By roster."""

"""Who plays: learned optimism with the option and without, where it matters and elsewhere."""

from sojourn.paper.trials import Trial, by_label
from sojourn.policies import KLUCB, LearnedIMED, VisitIMED

from ..beyond.problems import PROBLEMS

IMPROPER, PROPER = "improper", "proper"
"""The groups: D < 0 in a state, and nowhere."""

AS_USUAL, FOLLOWING = LearnedIMED(), LearnedIMED(follow_improper=True)
LEARNED, FOLLOWED = AS_USUAL.label, FOLLOWING.label

WRONG = {
    "best arm is not optimal": "three arms",
    "best arm is not optimal (ASSISTments 2015)": "ASSISTments 2015",
}
"""The problems of the study beyond the paper with D < 0, and what they are called here."""

FIRST = 20
"""Problems drawn at random that a quick look has."""


def _improper(name: str) -> Trial:
    roster = by_label(KLUCB(), AS_USUAL, FOLLOWING, VisitIMED(follow_improper=True))
    return Trial(
        WRONG[name], WRONG[name], PROBLEMS["violations"][name], roster, 16, 1_024, visits=5_000,
        checkpoints=(500, 5_000), group=IMPROPER, roster=IMPROPER, nanoseconds=150.0,
    )  # fmt: skip


def _proper(group: str, name: str, quick: int) -> Trial:
    return Trial(
        name, name, PROBLEMS[group][name], by_label(AS_USUAL, FOLLOWING), quick, 40, visits=2_000,
        checkpoints=(500, 2_000), group=PROPER, roster=PROPER, nanoseconds=60.0,
    )  # fmt: skip


TRIALS: tuple[Trial, ...] = (
    *(_improper(name) for name in WRONG),
    *(
        _proper(group, name, 0 if group == "random" and i >= FIRST else 4)
        for group, problems in PROBLEMS.items()
        for i, name in enumerate(problems)
        if name not in WRONG
    ),
)

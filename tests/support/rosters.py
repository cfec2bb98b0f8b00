"""Which policies are tried with which users.

A policy with a user model is a loop of its own, and takes seconds to compile.
"""

import sojourn as sj
from sojourn.policies import POLICIES, Policy

ON_AVERAGES: tuple[type[Policy], ...] = tuple(
    POLICIES[name]
    for name in (
        "UCB", "KLUCB", "DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB", "KLULCB", "IMED",
        "GatedIMED", "LearnedIMED", "EngagementIndex", "QLearning", "FixedArm", "EpsilonMixture",
    )
)  # fmt: skip
"""Those of figures and recommendations for moving averages, and every kind of lease and memory.

What all policies do in states between 0 and 1 is compared call by call, without a user.
"""


def roster(problem: sj.Problem) -> tuple[type[Policy], ...]:
    """All policies for users of two states, some for others."""
    return tuple(sj.policies.ALL) if isinstance(problem.user, sj.TwoState) else ON_AVERAGES

"""Which policies are tried with which users.

A policy with a user model is a loop of its own, and takes seconds to compile.
"""

import sojourn as sj
from sojourn.policies import Policy

ON_AVERAGES: tuple[type[Policy], ...] = (
    sj.UCB, sj.KLUCB, sj.DiscULCB, sj.DiscKLULCB, sj.ContULCB, sj.ContKLULCB,
    sj.KLULCB, sj.IMED, sj.SafeIMED, sj.LearnedIMED, sj.QLearning, sj.FixedArm, sj.EpsilonMixture,
)  # fmt: skip
"""Those of figures and recommendations for moving averages, and every kind of lease and memory.

What all policies do in states between 0 and 1 is compared call by call, without a user.
"""


def roster(problem: sj.Problem) -> tuple[type[Policy], ...]:
    """All policies for users of two states, some for others."""
    return tuple(sj.ALL) if isinstance(problem.user, sj.TwoState) else ON_AVERAGES

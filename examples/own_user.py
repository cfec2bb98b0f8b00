"""A user model of one's own: someone whose patience shrinks with every bad item in a row.

The state counts the bad items since the last good one, from 0 to 3; the more there were, the more
surely the next bad one is the last. Run it:  python examples/own_user.py
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import sojourn as sj


@dataclass(frozen=True, kw_only=True, repr=False)
class Impatient(sj.User):
    """Leaves after a good item with chance `bored`, after n bad ones in a row with n `step`."""

    bored: float
    step: float
    start: Any = 0
    space: ClassVar[sj.users.Space] = sj.users.Space(states=4)

    def next_state(self, state: float, reward: float) -> float:
        """Bad items in a row, at most 3."""
        return 0.0 if reward > 0.0 else min(state + 1.0, 3.0)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """bored, or (state + 1) step."""
        return self.bored if reward > 0.0 else (state + 1.0) * self.step

    def experience(self, state: float) -> float:
        """1 after a good item, 0 after three bad ones."""
        return 1.0 - state / 3.0


def main(visits: int = 2_000, runs: int = 500) -> sj.Result:
    """Solve the problem, print the values, and compare UCB with ULCB."""
    problem = sj.Problem([0.7, 0.6, 0.4], Impatient(bored=0.02, step=0.2))
    for bad in range(4):
        print(
            f"{bad} bad items in a row: {problem.value(bad):.3f} good ones to come, "
            f"a mistake costs {problem.mistake_cost(bad):.3f} per unit of mean"
        )
    result = sj.simulate(problem, [sj.policies.UCB(), sj.policies.ULCB()], visits=visits, runs=runs)
    print(result)
    return result


if __name__ == "__main__":
    main()

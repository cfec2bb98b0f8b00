"""river's UCB; with delta = 1/2 its index is the paper's with c = 0."""

from loop import Choose, Update, report
from river import bandit

ARMS = [0, 1]


def ucb() -> tuple[Choose, Update]:
    """A fresh policy."""
    policy = bandit.UCB(delta=0.5, seed=1)
    return lambda: policy.pull(ARMS), policy.update


report("river", {"UCB": (ucb, "UCB(delta=0.5)")})

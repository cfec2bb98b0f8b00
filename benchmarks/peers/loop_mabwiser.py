"""mabwiser's UCB1; with alpha = 1/2 its index is the paper's with c = 0."""

from loop import Choose, Update, report
from mabwiser.mab import MAB, LearningPolicy


def ucb() -> tuple[Choose, Update]:
    """A fresh policy, which must have seen every arm before it is asked."""
    policy = MAB([0, 1], LearningPolicy.UCB1(alpha=0.5), seed=1)
    policy.fit(decisions=[0, 1], rewards=[1, 1])
    return policy.predict, lambda arm, reward: policy.partial_fit([arm], [reward])


report("mabwiser", {"UCB": (ucb, "UCB1(alpha=0.5)")})

"""Policies of other papers, for comparison: by the load, and by time over pulls.

AdaUCB (Wu, Guo and Liu, *Adaptive exploration-exploitation tradeoff for opportunistic bandits*,
ICML 2018) explores when the load L of the moment, what a mistake costs then, is low:

    m + sqrt((1 - L') (log t + c log log t) / (2 N)),    L' = (L - least) / (greatest - least).

Here the load is the mistake cost D(s). With two states that is the upper bound in the cheap state
and the empirical mean in the costly one. Its authors ask for alpha > 1/2 in alpha log t; alpha is
1/2 here, as in UCB elsewhere in this package, so that the two differ in the load alone.

KL-UCB-switch, its anytime form (Garivier, Hadiji, Menard and Stoltz, *KL-UCB-switch: optimal regret
bounds for stochastic bandits from both a distribution-dependent and a distribution-free viewpoint*,
JMLR 23, 2022), which is optimal in both senses where nobody leaves:

    max{p : N kl(m, p) <= phi}   while N <= floor((t / K)^(1/5)),   else   m + sqrt(phi / (2 N)),

with phi = log+(x (1 + log+(x)^2)), x = t / (K N), for K arms, where log+ is log, and 0 below 1.
"""

from dataclasses import dataclass
from math import floor, log, sqrt
from typing import Any, ClassVar, Self

from ..engine.divergence import kl_upper
from ..engine.loops import jitable
from ..problem import Problem
from .index import KL, Hoeffding
from .learned import Learned
from .optimism import LEAST, Always, TwoLevel
from .reasons import Seen, mean_of_pulls

__all__ = ["AdaUCB", "LearnedAdaUCB", "KLUCBSwitch"]


@dataclass(frozen=True)
class AdaUCB(Hoeffding, TwoLevel):
    """AdaUCB with a known load in two states: UCB where mistakes are cheap, else the mean.

    `c1` and `c0` are sqrt(1 - L') in states from 1/2 on and below; `for_problem` computes them.

    >>> from sojourn import Problem, TwoState
    >>> AdaUCB.for_problem(Problem([0.6, 0.5], TwoState(0.5, 0.4, 0.45, 0.02))).c0  # opposite
    1.0
    """

    c0: float = 0.0

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        costly = problem.mistake_cost(0.0) >= problem.mistake_cost(1.0)
        known = {"c0": 0.0, "c1": 1.0} if costly else {"c0": 1.0, "c1": 0.0}
        return cls(**{**known, **parameters})


@dataclass(frozen=True)
class LearnedAdaUCB(Learned, Hoeffding):
    """AdaUCB whose load is learned from departures, in bins of the state.

    >>> policy = LearnedAdaUCB()
    >>> memory = policy.memory(arms=2)
    >>> memory.optimism[:] = [-1.0, 0.0, 0.5, 1.0]  # as concluded from departures: 1 - 2 L'
    >>> [round(policy.optimism_now(memory, s), 3) for s in (0.0, 0.3, 0.6, 1.0)]
    [0.0, 0.707, 0.866, 1.0]
    """

    title: ClassVar[str] = "Learned AdaUCB"

    floor: float = 0.0

    def optimism_now(self, memory: Any, state: float) -> float:
        """sqrt(1 - L') in the bin of the state, but not below the floor, or `LEAST`."""
        optimism = float(memory.optimism[self.bin_of(state)])
        return optimism if optimism == LEAST else max(sqrt(0.5 * (1.0 + optimism)), self.floor)


@jitable
def log_plus(x: float) -> float:
    """log x, and 0 for x below 1."""
    return log(x) if x > 1.0 else 0.0


@dataclass(frozen=True)
class KLUCBSwitch(KL, Always):
    """KL-UCB-switch, anytime: KL bounds for arms of few pulls, MOSS-like ones for the others.

    `c` adds c log log t to phi.

    >>> KLUCBSwitch()
    KLUCBSwitch(c=0.0, random_ties=True, introduce_in_any_state=True)
    """

    title: ClassVar[str] = "KL-UCB-switch"

    def target(self, memory: Any, state: float, optimism: float) -> float:
        """t / K."""
        return float((memory.clock[0] + 1.0) / memory.pulls.size)

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        mean, pulls = self.estimate(memory, arm, state)
        x = moment.target / pulls
        phi = log_plus(x * (1.0 + log_plus(x) ** 2)) + moment.extra
        if pulls <= floor(moment.target**0.2):
            return kl_upper(mean, phi / pulls)
        return float(mean + sqrt(phi / (2.0 * pulls)))

    @property
    def _case(self) -> str | None:
        return None

    def _figure(self, choice: Seen, mean: float, optimism: float) -> str:
        return mean_of_pulls(choice)

"""Bayes regret by simulation: means drawn from a prior, and how far policies are from the limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..engine.kernel import REGRET
from ..policies import Planned, Policy
from ..problem import Problem
from ..show.plain import plain
from ..stats.intervals import Z95, Interval
from ..stats.moments import Array
from ..theory import BayesOptimum
from ..validation import InputError
from .chunks import chunk

MEANS, VISITS = 0, 1
EDGE = 1e-9
"""Means are drawn no nearer to 0 and 1 than this."""


@dataclass(frozen=True, eq=False)
class OverPrior:
    """Regret of policies in every run, and the limit they are compared with.

    All policies met the same means, visits and users. If the optimum has a plan, that was played
    too: its mean is known, and what its runs are off by corrects the others (control variate).
    """

    optimum: BayesOptimum
    policies: tuple[Policy, ...]
    regrets: Array
    """Regret by [policy, run]."""
    control: Array
    """The control variate of the optimum in each run; empty without a plan."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(policy.label for policy in self.policies)

    @property
    def runs(self) -> int:
        return int(self.regrets.shape[1])

    def regret(self, policy: int) -> Interval:
        """The Bayes regret of a policy, with its 95 % interval."""
        own = self.regrets[policy]
        if self.control.size and self.control.std() > 0.0:
            both = np.cov(own, self.control)
            own = own - both[0, 1] / both[1, 1] * (self.control - self.optimum.high)
        return Interval.from_error(float(own.mean()), float(own.std(ddof=1)) / self.runs**0.5)

    def multiple(self, policy: int) -> Interval:
        """The same as a multiple of the least there is.

        The least is taken to be `high`, which is attained, and the interval is that of sampling
        alone. As a multiple of the true least it is more, by a factor of at most high / low.
        """
        value, low, high = self.regret(policy)
        least = self.optimum.high
        return Interval(value / least, low / least, high / least)

    def to_dict(self) -> dict[str, Any]:
        policies = {}
        for p, label in enumerate(self.labels):
            regret, multiple = self.regret(p), self.multiple(p)
            std_error = (regret.high - regret.value) / Z95
            policies[label] = {"regret": regret, "std_error": std_error, "multiple": multiple}
        return {**self.optimum.to_dict(), "runs": self.runs, "policies": plain(policies)}


def over_prior(
    optimum: BayesOptimum,
    policies: Policy | Sequence[Policy],
    *,
    runs: int = 2_000,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> OverPrior:
    """Play policies, or one, on problems whose means are drawn from the priors of an optimum.

    Every run draws the means of all arms, and the number of visits unless it is fixed. Regret is
    summed from gaps. The numbers of a run depend on the seed and the number of the run only.

    >>> import sojourn as sj
    >>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> best = sj.theory.bayes_optimum(user, visits=2, pulls=30, plan=True)
    >>> print(over_prior(best, [sj.policies.Uniform()], runs=200).multiple(0))
    2.89 ± 0.52
    """
    policies = [policies] if isinstance(policies, Policy) else list(policies)
    runs = validation.whole("runs", runs, 2, 10**7)
    seed = validation.whole("seed", seed, 0, 2**63 - 1)
    every = policies if optimum.plan is None else [Planned.of(optimum.plan), *policies]
    for policy in policies:
        if not isinstance(policy, Policy):
            raise InputError(f"policies has {policy!r}, which is not a policy of this package")
        policy.check_arms(optimum.arms)
    problems, visits = drawn(optimum, runs, seed)
    found = np.empty((len(every), runs))
    for p, policy in enumerate(every):
        for i, (problem, number) in enumerate(zip(problems, visits, strict=True)):
            rows = chunk(problem, policy, seed, i, 1, np.array([number]))
            found[p, i] = rows[0, 0, REGRET]
            if progress is not None and (i % 64 == 63 or i == runs - 1):
                progress((p + (i + 1) / runs) / len(every))
    own = found[len(every) - len(policies) :]
    control = found[0] if optimum.plan is not None else np.zeros(0)
    return OverPrior(optimum, tuple(policies), own, control)


def drawn(optimum: BayesOptimum, runs: int, seed: int) -> tuple[list[Problem], NDArray[np.int64]]:
    """The problem and the number of visits of every run."""
    a, b = np.array(optimum.priors).T
    means = np.random.default_rng([seed, MEANS]).beta(a, b, (runs, optimum.arms))
    horizon = optimum.horizon
    if horizon.fixed or horizon.visits == 1.0:
        visits = np.full(runs, int(horizon.visits))
    else:
        visits = np.random.default_rng([seed, VISITS]).geometric(1.0 / horizon.visits, runs)
    means = np.clip(means, EDGE, 1.0 - EDGE)
    return [Problem(row.tolist(), optimum.user) for row in means], visits

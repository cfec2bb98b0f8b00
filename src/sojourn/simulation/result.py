"""What a simulation found: moments over runs at checkpoints, never trajectories."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..policies import Policy
from ..problem import Problem
from ..version import __version__
from .kernel import BY_LEVEL, REGRET, REWARD, STEPS

Array = NDArray[np.float64]

NORMAL_95 = 1.959963984540054


class Moments(NamedTuple):
    """Number of runs, mean over runs, and sum of squared deviations from it."""

    runs: int
    mean: Array
    squares: Array

    @staticmethod
    def of(rows: Array) -> "Moments":
        """The moments over the first axis."""
        mean = rows.mean(axis=0)
        return Moments(len(rows), mean, ((rows - mean) ** 2).sum(axis=0))

    def join(self, other: "Moments") -> "Moments":
        """The moments of both sets of runs together (Chan, Golub and LeVeque's update)."""
        runs = self.runs + other.runs
        delta = other.mean - self.mean
        return Moments(
            runs,
            self.mean + delta * (other.runs / runs),
            self.squares + other.squares + delta**2 * (self.runs * other.runs / runs),
        )


class Estimate(NamedTuple):
    """A mean over runs and its standard error."""

    mean: Array
    std_error: Array

    @property
    def half_width(self) -> Array:
        """Of the 95 % confidence interval."""
        return NORMAL_95 * self.std_error


@dataclass(frozen=True, eq=False)
class Result:
    """Estimates for every policy (first axis) at every checkpoint (second axis).

    >>> import sojourn as sj
    >>> result = sj.simulate(sj.paper.SETTINGS["B"], [sj.UCB(), sj.ULCB()], visits=50, runs=8)
    >>> result.regret.mean.shape == (2, len(result.checkpoints))
    True
    """

    problem: Problem
    policies: tuple[Policy, ...]
    seed: int
    checkpoints: NDArray[np.int64]
    moments: tuple[Moments, ...]

    @property
    def runs(self) -> list[int]:
        """How many runs each policy had."""
        return [m.runs for m in self.moments]

    @property
    def regret(self) -> Estimate:
        """Expected reward lost against the optimal rule, estimated from gaps."""
        return self._estimate(slice(REGRET, REGRET + 1), ())

    @property
    def reward(self) -> Estimate:
        """Total reward."""
        return self._estimate(slice(REWARD, REWARD + 1), ())

    @property
    def raw_regret(self) -> Estimate:
        """The same regret estimated from rewards: unbiased too, but far noisier."""
        optimal = self.checkpoints * self.problem.value()
        return Estimate(optimal - self.reward.mean, self.reward.std_error)

    @property
    def steps(self) -> Estimate:
        """Steps of all visits so far."""
        return self._estimate(slice(STEPS, STEPS + 1), ())

    @property
    def regret_by_level(self) -> Estimate:
        """Regret by the level of experience it arose in (third axis), lowest first."""
        levels = self.problem.user.levels
        return self._estimate(slice(BY_LEVEL, BY_LEVEL + levels), (levels,))

    @property
    def pulls(self) -> Estimate:
        """Pulls by level of experience (third axis) and arm (fourth)."""
        levels = self.problem.user.levels
        return self._estimate(slice(BY_LEVEL + levels, None), (levels, self.problem.arms))

    def _estimate(self, columns: slice, shape: tuple[int, ...]) -> Estimate:
        size = (len(self.policies), len(self.checkpoints), *shape)
        mean = np.array([m.mean[:, columns] for m in self.moments])
        variance = [m.squares[:, columns] / max(m.runs - 1, 1) / m.runs for m in self.moments]
        return Estimate(mean.reshape(size), np.sqrt(variance).reshape(size))

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want to know, in plain types."""
        regret, raw, steps = self.regret, self.raw_regret, self.steps
        return {
            "version": __version__,
            "problem": repr(self.problem),
            "seed": self.seed,
            "policies": [
                {
                    "name": policy.name,
                    "parameters": policy.parameters,
                    "runs": self.runs[p],
                    "checkpoints": [
                        {
                            "visits": int(visits),
                            "regret": float(regret.mean[p, c]),
                            "regret_std_error": float(regret.std_error[p, c]),
                            "regret_half_width": float(regret.half_width[p, c]),
                            "raw_regret": float(raw.mean[p, c]),
                            "raw_regret_std_error": float(raw.std_error[p, c]),
                            "steps": float(steps.mean[p, c]),
                        }
                        for c, visits in enumerate(self.checkpoints)
                    ],
                }
                for p, policy in enumerate(self.policies)
            ],
        }

    def __str__(self) -> str:
        visits = int(self.checkpoints[-1])
        lines = [
            f"{visits:,} visits, seed {self.seed}; regret with 95 % intervals",
            f"{'policy':<16}{'runs':>9}{'regret':>12}{'±':>9}{'from rewards':>15}{'±':>11}"
            f"{'steps a visit':>16}",
        ]
        regret, raw, steps = self.regret, self.raw_regret, self.steps
        for p, policy in enumerate(self.policies):
            lines.append(
                f"{policy.name:<16}{self.runs[p]:>9,}{regret.mean[p, -1]:>12,.1f}"
                f"{regret.half_width[p, -1]:>9,.1f}{raw.mean[p, -1]:>15,.1f}"
                f"{raw.half_width[p, -1]:>11,.1f}{steps.mean[p, -1] / visits:>16,.2f}"
            )
        return "\n".join(lines)

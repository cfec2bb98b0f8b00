"""What a trial found: regret on the way and at the end, slopes, and the worst runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn import theory
from sojourn.paper.trial import Trial
from sojourn.problem import Problem
from sojourn.stats.intervals import Interval
from sojourn.stats.moments import Array, Moments

from ..beyond.outcomes import TrialOutcome
from .trials import Ends

RARE = 0.001
"""The share of runs of which the tail of a regret consists here."""


class Path(NamedTuple):
    """Of one policy, at every checkpoint; slopes are between two of them."""

    mean: Array
    error: Array
    slope: Array
    slope_error: Array
    median: Array
    rare: Array
    """What a share `RARE` of all runs is above."""
    worst: Array

    @classmethod
    def of(cls, regret: Array, visits: NDArray[np.int64]) -> "Path":
        """From the regret of every run, [run, checkpoint]."""
        steps = np.diff(regret, axis=1) / np.diff(np.log(visits))
        return cls(
            *Moments.of(regret).estimate,
            *Moments.of(steps).estimate,
            np.quantile(regret, 0.5, axis=0),
            np.quantile(regret, 1.0 - RARE, axis=0),
            regret.max(axis=0),
        )

    def to_dict(self) -> dict[str, list[float]]:
        return {name: array.tolist() for name, array in self._asdict().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, list[float]]) -> "Path":
        return cls(**{name: np.array(array) for name, array in data.items()})


@dataclass(frozen=True, eq=False)
class HorizonOutcome(TrialOutcome):
    """Regret of every policy at the end, and on the way there."""

    visits: tuple[int, ...]
    paths: Mapping[str, Path]

    @classmethod
    def of(cls, trial: Trial, found: Any) -> "HorizonOutcome":
        ends: Ends = found
        grid = ends.result.checkpoints
        last = np.array([regret[:, -1] for regret in ends.regrets])
        covariance = np.atleast_2d(np.cov(last)) / last.shape[1]
        paths = {x: Path.of(r, grid) for x, r in zip(trial.labels, ends.regrets, strict=True)}
        own = (trial, trial.labels, last.shape[1], last.mean(axis=1), covariance)
        return cls(*own, facts_of(ends.result.problem.at(1)), tuple(int(k) for k in grid), paths)

    @classmethod
    def from_dict(cls, trial: Trial, data: Mapping[str, Any]) -> "HorizonOutcome":
        plain = TrialOutcome.from_dict(trial, data)
        own = (plain.trial, plain.labels, plain.runs, plain.mean, plain.covariance, plain.facts)
        paths = {label: Path.from_dict(path) for label, path in data["paths"].items()}
        return cls(*own, tuple(data["at"]), paths)

    def to_dict(self) -> dict[str, Any]:
        paths = {label: path.to_dict() for label, path in self.paths.items()}
        return {**super().to_dict(), "at": list(self.visits), "paths": paths}

    def at(self, label: str, visits: int) -> Interval:
        """Regret after so many visits, one of the checkpoints."""
        c, path = self.visits.index(visits), self.paths[label]
        return Interval.from_error(float(path.mean[c]), float(path.error[c]))

    def slope(self, label: str, visits: int) -> Interval:
        """Regret from a checkpoint to the next, over the logarithm of their ratio."""
        c, path = self.visits.index(visits), self.paths[label]
        return Interval.from_error(float(path.slope[c]), float(path.slope_error[c]))


def facts_of(problem: Problem) -> dict[str, float]:
    """Of the problem: arms, mean length of visits, and the least slope there can be in the end."""
    slopes = [b.slope for b in theory.bounds(problem) if b.name.startswith("lower bound")]
    least = max(slope for slope in slopes if slope is not None)
    return {"arms": float(problem.arms), "length": problem.length.mean, "least": least}

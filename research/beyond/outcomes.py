"""What a trial found: regrets at the end with their covariance, so that ratios have intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sojourn.paper.trial import Trial
from sojourn.simulation import Result
from sojourn.stats.intervals import Z95, Interval
from sojourn.stats.moments import Array

from .problems import cost_ratio
from .rosters import BASELINE, PAPERS


def end_of(result: Result) -> tuple[Array, Array]:
    """Mean regrets at the end, all policies of which had the same runs, and their covariance."""
    policies = len(result.policies)
    last = result.regret.std_error[:, -1]
    covariance = np.diag(last**2)
    for p in range(policies):
        for q in range(p + 1, policies):
            apart = float(result.difference(p, q).std_error[-1])
            both = (last[p] ** 2 + last[q] ** 2 - apart**2) / 2
            covariance[p, q] = covariance[q, p] = both
    return result.regret.mean[:, -1], covariance


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """Regret of every policy of a trial after its visits.

    Policies met the same users in every run, so that a `ratio` is much sharper than the regrets.
    """

    trial: Trial
    labels: tuple[str, ...]
    runs: int
    mean: Array
    covariance: Array
    """Of the means, over policies."""
    facts: Mapping[str, float]
    """Of the problem: its `cost_ratio`, number of arms, mean length of visits."""

    @classmethod
    def of(cls, trial: Trial, result: Result) -> "TrialOutcome":
        """The end of a result, all of whose policies had the same runs."""
        problem = result.problem.at(1)
        facts = {
            "cost_ratio": cost_ratio(problem),
            "arms": float(problem.arms),
            "length": problem.length.mean,
        }
        return cls(trial, trial.labels, result.runs[0], *end_of(result), facts)

    @classmethod
    def from_dict(cls, trial: Trial, data: Mapping[str, Any]) -> "TrialOutcome":
        policies = data["policies"]
        return cls(
            trial,
            tuple(policies),
            int(data["runs"]),
            np.array([policies[label]["regret"]["value"] for label in policies]),
            np.array(data["covariance"]),
            data["facts"],
        )

    def __contains__(self, label: str) -> bool:
        return label in self.labels

    def regret(self, label: str) -> Interval:
        return self._combined({label: 1.0})

    def ratio(self, one: str, other: str) -> Interval:
        """Regret of one over that of the other; interval by the delta method."""
        if one == other:
            return Interval.exact(1.0)
        bottom = self.mean[self.labels.index(other)]
        value = float(self.mean[self.labels.index(one)] / bottom)
        width = self._combined({one: 1.0, other: -value})
        half = (width.high - width.low) / 2 / abs(float(bottom))
        return Interval.around(value, half)

    def best(self, labels: Iterable[str]) -> str:
        """The one of least regret among these, in hindsight."""
        return min((x for x in labels if x in self), key=lambda x: self.mean[self.labels.index(x)])

    @property
    def best_of_paper(self) -> str:
        return self.best(PAPERS)

    def _combined(self, weights: Mapping[str, float]) -> Interval:
        w = np.zeros(len(self.labels))
        for label, weight in weights.items():
            w[self.labels.index(label)] += weight
        variance = max(float(w @ self.covariance @ w), 0.0)
        return Interval.around(float(w @ self.mean), Z95 * variance**0.5)

    def to_dict(self) -> dict[str, Any]:
        baseline = BASELINE if BASELINE in self else None
        return {
            "trial": self.trial.name,
            "group": self.trial.group,
            "problem": self.trial.problem,
            "visits": self.trial.visits,
            "runs": self.runs,
            "facts": dict(self.facts),
            "policies": {
                label: {
                    "regret": asdict(self.regret(label)),
                    **({"to_baseline": asdict(self.ratio(label, baseline))} if baseline else {}),
                }
                for label in self.labels
            },
            "covariance": self.covariance.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of all trials of the study."""

    every: Sequence[TrialOutcome]

    def of(self, group: str, *labels: str, beside: Iterable[str] = ()) -> list[TrialOutcome]:
        """Outcomes of a group with all these policies; for each problem the one of most runs.

        With `beside`, those that have at least one of these as well.
        """
        others = set(beside)
        there = [
            o
            for o in self.every
            if o.trial.group == group
            and all(label in o for label in labels)
            and (not others or others & set(o.labels))
        ]
        last_of_most = {o.trial.problem: o for o in sorted(there, key=lambda o: o.runs)}
        return [last_of_most[name] for name in dict.fromkeys(o.trial.problem for o in there)]

    def with_roster(self, *rosters: str) -> list[TrialOutcome]:
        return [o for o in self.every if o.trial.roster in rosters]

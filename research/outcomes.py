"""What trials found: regrets with their covariance, so that ratios of regrets have intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from sojourn.paper.trials import Trial
from sojourn.policies import KLUCB
from sojourn.problem import Problem
from sojourn.simulation import Result
from sojourn.stats.intervals import Z95, Interval
from sojourn.stats.moments import Array

BASELINE = KLUCB().label


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
class Outcome:
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
    """Of the problem, such as its number of arms and the mean length of visits."""

    @classmethod
    def of(cls, trial: Trial, result: Any) -> Self:
        """The end of a result, all of whose policies had the same runs."""
        problem = result.problem.at(1)
        return cls(trial, trial.labels, result.runs[0], *end_of(result), cls.facts_of(problem))

    @staticmethod
    def facts_of(problem: Problem) -> dict[str, float]:
        """What is kept of the problem."""
        length, value = problem.length.mean, problem.value()
        return {"arms": float(problem.arms), "length": length, "value": value}

    @classmethod
    def from_dict(cls, trial: Trial, data: Mapping[str, Any]) -> Self:
        policies = data["policies"]
        mean = np.array([policies[label]["regret"]["value"] for label in policies])
        covariance = np.array(data["covariance"])
        own = (trial, tuple(policies), int(data["runs"]), mean, covariance, data["facts"])
        return cls(*own, **cls.more_from(data))

    @classmethod
    def more_from(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that a subclass adds."""
        return {}

    def __contains__(self, label: str) -> bool:
        return label in self.labels

    def regret(self, label: str) -> Interval:
        return self.combined({label: 1.0})

    def ratio(self, one: str, other: str) -> Interval:
        """Regret of one over that of the other; interval by the delta method."""
        if one == other:
            return Interval.exact(1.0)
        bottom = self.mean[self.labels.index(other)]
        value = float(self.mean[self.labels.index(one)] / bottom)
        width = self.combined({one: 1.0, other: -value})
        half = (width.high - width.low) / 2 / abs(float(bottom))
        return Interval.around(value, half)

    def best(self, labels: Iterable[str]) -> str:
        """The one of least regret among these, in hindsight."""
        return min((x for x in labels if x in self), key=lambda x: self.mean[self.labels.index(x)])

    def combined(self, weights: Mapping[str, float]) -> Interval:
        """A weighted sum of regrets."""
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
class PathOutcome(Outcome):
    """Regret of every policy at the end, and on the way there."""

    visits: tuple[int, ...]
    path: Array
    """Mean regret by [policy, checkpoint]."""
    late_error: Array
    """Standard errors of the regret after the first checkpoint, by policy, or a bound on them."""

    @classmethod
    def of(cls, trial: Trial, result: Any) -> Self:
        regret, plain = result.regret, Outcome.of(trial, result)
        # Of a difference at most the sum: results do not keep how checkpoints go together.
        late_error = regret.std_error[:, 0] + regret.std_error[:, -1]
        visits = tuple(int(k) for k in result.checkpoints)
        return cls(**vars(plain), visits=visits, path=regret.mean, late_error=late_error)

    @classmethod
    def more_from(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        path, late_error = np.array(data["path"]), np.array(data["late_error"])
        return {"visits": tuple(data["at"]), "path": path, "late_error": late_error}

    def to_dict(self) -> dict[str, Any]:
        more = {"path": self.path.tolist(), "late_error": self.late_error.tolist()}
        return {**super().to_dict(), "at": list(self.visits), **more}

    def late_share(self, label: str) -> Interval:
        """The reward per visit after the first checkpoint, as a share of the best possible."""
        p, last = self.labels.index(label), self.visits[-1] - self.visits[0]
        best = last * self.facts["value"]
        lost = float(self.path[p, -1] - self.path[p, 0]) / best
        return Interval.around(1.0 - lost, Z95 * float(self.late_error[p]) / best)


Found = TypeVar("Found", bound=Outcome)
"""The kind of outcome that a study keeps."""


@dataclass(frozen=True, eq=False)
class Outcomes(Generic[Found]):
    """The outcomes of all trials of a study."""

    every: Sequence[Found]

    def of(self, group: str, *labels: str, beside: Iterable[str] = ()) -> list[Found]:
        """Outcomes of a group with all these policies; for each problem the one of most runs.

        With `beside`, those that have at least one of these as well.
        """
        others = set(beside)
        there = [o for o in self.played(group, *labels) if not others or others & set(o.labels)]
        last_of_most = {o.trial.problem: o for o in sorted(there, key=lambda o: o.runs)}
        return [last_of_most[name] for name in dict.fromkeys(o.trial.problem for o in there)]

    def played(self, group: str, *labels: str) -> list[Found]:
        """Outcomes of a group with all these policies, every trial for itself."""
        there = [o for o in self.every if o.trial.group == group]
        return [o for o in there if all(label in o for label in labels)]

    def with_roster(self, *rosters: str) -> list[Found]:
        return [o for o in self.every if o.trial.roster in rosters]


class Spread(NamedTuple):
    """Ratios of regret over a group of problems."""

    typical: Interval
    """The geometric mean, with an interval over problems."""
    better: int
    worse: int
    """On how many problems the ratio is below 1, or above 1, with its whole interval."""
    problems: int


def spread(outcomes: Sequence[Outcome], one: str, other: str) -> Spread:
    """How one policy compares with another over these problems."""
    ratios = [o.ratio(one, other) for o in outcomes]
    logs = np.log([r.value for r in ratios])
    half = Z95 * logs.std(ddof=1) / np.sqrt(logs.size) if logs.size > 1 else np.nan
    low, mid, high = (float(np.exp(logs.mean() + d)) for d in (-half, 0.0, half))
    return Spread(
        Interval(mid, low, high),
        sum(r.high < 1.0 for r in ratios),
        sum(r.low > 1.0 for r in ratios),
        logs.size,
    )

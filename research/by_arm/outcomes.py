"""What a trial found: regrets at every checkpoint, and at the end with their covariance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.paper.trial import Trial
from sojourn.simulation import Result
from sojourn.stats.intervals import Z95, Interval, share
from sojourn.stats.moments import Array

from ..beyond.outcomes import TrialOutcome, end_of


@dataclass(frozen=True, eq=False)
class ByArmOutcome(TrialOutcome):
    """Regret of every policy at the end, and on the way there."""

    visits: tuple[int, ...]
    path: Array
    """Mean regret by [policy, checkpoint]."""
    late_error: Array
    """Standard errors of the regret after the first checkpoint, by policy, or a bound on them."""

    @classmethod
    def of(cls, trial: Trial, result: Result) -> "ByArmOutcome":
        problem, regret = result.problem.at(1), result.regret
        facts = {
            "arms": float(problem.arms),
            "length": problem.length.mean,
            "value": problem.value(),
        }
        mean, covariance = end_of(result)
        # Of a difference at most the sum: results do not keep how checkpoints go together.
        late_error = regret.std_error[:, 0] + regret.std_error[:, -1]
        visits = tuple(int(k) for k in result.checkpoints)
        own = (trial, trial.labels, result.runs[0], mean, covariance, facts)
        return cls(*own, visits, regret.mean, late_error)

    @classmethod
    def from_dict(cls, trial: Trial, data: Mapping[str, Any]) -> "ByArmOutcome":
        plain = TrialOutcome.from_dict(trial, data)
        own = (plain.trial, plain.labels, plain.runs, plain.mean, plain.covariance, plain.facts)
        return cls(*own, tuple(data["at"]), np.array(data["path"]), np.array(data["late_error"]))

    def to_dict(self) -> dict[str, Any]:
        more = {"path": self.path.tolist(), "late_error": self.late_error.tolist()}
        return {**super().to_dict(), "at": list(self.visits), **more}

    def late_share(self, label: str) -> Interval:
        """The reward of a visit after the first checkpoint, as a share of the best possible."""
        p, last = self.labels.index(label), self.visits[-1] - self.visits[0]
        best = last * self.facts["value"]
        lost = float(self.path[p, -1] - self.path[p, 0]) / best
        return Interval.around(1.0 - lost, Z95 * float(self.late_error[p]) / best)


def worse_than(outcomes: Sequence[TrialOutcome], label: str, other: str) -> Interval:
    """The share of problems on which a policy surely has more regret than another, and Wilson's."""
    found = share(sum(o.ratio(label, other).low > 1.0 for o in outcomes), len(outcomes))
    assert found is not None
    return found

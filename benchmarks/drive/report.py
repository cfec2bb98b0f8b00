"""What a run of simulated traffic has measured."""

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.problem import Problem
from sojourn.stats.intervals import Z95

QUANTILES = (50, 95, 99)
SUMS = ("visits", "steps", "reward", "reward2", "regret", "pulls", "answers", "failed")


@dataclass
class LoadReport:
    """Sums over visits, steps and calls; those of several processes are added with `+`.

    `visits` counts completed visits; `steps`, `regret` and `pulls` are over all decisions.
    `answers` counts requests by status, or "no answer": all but 200 and 201 were retried or have
    failed. `failed` counts abandoned visits by error.

    >>> one, two = LoadReport(visits=2, reward=6.0), LoadReport(visits=1, reward=3.0)
    >>> (one + two).reward
    9.0
    """

    visits: int = 0
    steps: int = 0
    reward: float = 0.0
    reward2: float = 0.0
    regret: float = 0.0
    seconds: float = 0.0
    pulls: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))
    latencies: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    answers: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False

    def __add__(self, other: "LoadReport") -> "LoadReport":
        total = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        return LoadReport(
            **total,
            seconds=max(self.seconds, other.seconds),
            latencies=np.concatenate((self.latencies, other.latencies)),
            interrupted=self.interrupted or other.interrupted,
        )

    def to_dict(self, problem: Problem) -> dict[str, Any]:
        """As plain data, with the optimum of the problem beside it.

        `regret` is the sum of gaps. `raw_regret`, with the half-width of its 95 % interval, is the
        optimum minus the rewards: the same in expectation, with far more variance. It is None if
        visits were cut short, because completed visits are then a biased sample: the shorter ones.
        """
        n = max(self.visits, 1)
        mean = self.reward / n
        deviation = sqrt(max(self.reward2 / n - mean * mean, 0.0))
        optimum = problem.value()
        seconds = max(self.seconds, 1e-9)
        return {
            "visits": self.visits,
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps / seconds,
            "calls_per_second": len(self.latencies) / seconds,
            "latency_ms": {f"p{q}": self._quantile(q) * 1e3 for q in QUANTILES},
            "answers": dict(self.answers),
            "failed_visits": dict(self.failed),
            "reward_per_visit": mean,
            "optimum_per_visit": optimum,
            "regret": self.regret,
            "raw_regret": None if self.cut else self.visits * optimum - self.reward,
            "raw_regret_half_width": None if self.cut else Z95 * deviation * sqrt(self.visits),
            "pulls_by_level_and_arm": self.pulls.tolist(),
            "interrupted": self.interrupted,
        }

    @property
    def cut(self) -> bool:
        """Whether some visits were not completed."""
        return self.interrupted or bool(self.failed)

    def _quantile(self, percent: float) -> float:
        return float(np.percentile(self.latencies, percent)) if len(self.latencies) else 0.0

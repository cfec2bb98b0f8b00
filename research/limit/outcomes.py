"""What the trials found: regrets of all policies, and the bracket of the least one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any

from sojourn.stats.intervals import Interval


@dataclass(frozen=True, eq=False)
class LimitOutcome:
    """Bayes regrets in one case, and what the least there can be is between."""

    case: str
    low: float
    high: float
    told: float
    runs: int
    regrets: Mapping[str, Interval]

    @classmethod
    def from_dict(cls, case: str, data: Mapping[str, Any]) -> "LimitOutcome":
        regrets = {label: Interval(**interval) for label, interval in data["regrets"].items()}
        return cls(case, data["low"], data["high"], data["told"], int(data["runs"]), regrets)

    def to_dict(self) -> dict[str, Any]:
        regrets = {label: asdict(interval) for label, interval in self.regrets.items()}
        return {
            "case": self.case, "low": self.low, "high": self.high, "told": self.told,
            "runs": self.runs, "regrets": regrets,
        }  # fmt: skip

    def multiple(self, label: str) -> Interval:
        """A regret over the least that is attained."""
        value, low, high = self.regrets[label]
        return Interval(value / self.high, low / self.high, high / self.high)


@dataclass(frozen=True, eq=False)
class Limits:
    """The outcomes of all trials."""

    every: Sequence[LimitOutcome]

    @property
    def labels(self) -> list[str]:
        """Policies by their geometric mean, best first; those that fit everywhere come first."""
        found = list(dict.fromkeys(label for o in self.every for label in o.regrets))
        return sorted(
            found, key=lambda label: (not self.everywhere(label), self.typical(label).value)
        )

    def of(self, label: str) -> list[LimitOutcome]:
        return [o for o in self.every if label in o.regrets]

    def everywhere(self, label: str) -> bool:
        return len(self.of(label)) == len(self.every)

    def typical(self, label: str) -> Interval:
        """The geometric mean of its multiples over these cases.

        The cases share their draws, so that errors may go together: they are added up.
        """
        multiples = [o.multiple(label) for o in self.of(label)]
        logs = [log(max(m.value, 1e-9)) for m in multiples]
        widths = [(m.high - m.low) / 2 / m.value for m in multiples]
        mean = exp(sum(logs) / len(logs))
        return Interval.around(mean, mean * sum(widths) / len(widths))

    def worst(self, label: str) -> float:
        return max(o.multiple(label).value for o in self.of(label))

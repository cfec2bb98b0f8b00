"""How wide the intervals are: those that the paper states, and those here."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...stats.intervals import Z95, Interval
from ..results import Results, at
from ..settings import SETTINGS
from ..verdicts import Measure, Measured, Verdict
from . import Simulated

KIND = "half-widths of intervals"


@dataclass(frozen=True)
class RawWidth(Simulated):
    """With `runs` runs, regret from raw rewards has at most this 95 % half-width."""

    kind = KIND

    trial: str
    labels: tuple[str, ...]
    runs: float
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        """From the spread of rewards; a spread from n runs is known to a share 1 / sqrt(2 n)."""
        trial = results[self.trial]
        found = []
        for label in self.labels:
            p = trial[label]
            n = trial.result.runs[p]
            width = at(trial.result.raw_regret, p, -1)[1] * sqrt(n / self.runs)
            what = f"{self.trial}: half-width of {label}, {self.runs:,.0f} runs"
            interval = Interval.around(width, Z95 * width / sqrt(2.0 * n))
            so = f"{what}, would be {width:,.3g}, not {self.at_most:g}"
            found.append(Measured(what, interval, self.at_most, above=False, contrary=so))
        return found


@dataclass(frozen=True)
class OptimalWidth(Measure[Results]):
    """The same for the optimal rule, exactly: from the variance of the reward of a visit."""

    kind = KIND

    problem: str
    visits: int
    runs: float
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        spread = self.visits * SETTINGS[self.problem].reward.variance
        width = Z95 * sqrt(spread / self.runs)
        what = f"{self.problem}: half-width for the optimal rule, {self.runs:,.0f} runs"
        so = f"{what}, is {width:,.4g}, not {self.at_most:g}"
        return [Measured(what, Interval.exact(width), self.at_most, above=False, contrary=so)]


@dataclass(frozen=True)
class OwnWidth(Simulated):
    """Every regret here has at most this 95 % half-width.

    Runs that were not asked for a half-width decide nothing if theirs is greater.
    """

    kind = KIND

    trial: str
    at_most: float

    def measure(self, results: Results) -> list[Measured]:
        result = results[self.trial].result
        width = float(np.max(result.regret.half_width))
        runs = f"{min(result.runs):,} to {max(result.runs):,} runs"
        what = f"{self.trial}: largest half-width here, from gaps, {runs}"
        so = f"{self.trial}: the largest half-width is {width:,.3g}, not {self.at_most:g}"
        verdict = Verdict.UNDECIDED if result.precision is None else Verdict.NOT_CONFIRMED
        return [Measured(what, Interval.exact(width), self.at_most, False, so, verdict)]

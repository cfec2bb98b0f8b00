"""What a log says: leave probabilities, means, the user model, and how far to trust them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ... import validation
from ...problem import Problem
from ...rewards import Discrete
from ...show.sheets import Part, Shown
from ...stats.clusters import one_ratio_variance, ratio_covariance, share_interval, widening
from ...stats.intervals import Interval
from ...stats.moments import Array
from ...users import ByArm, Ema, Levels, TwoState, User
from ...validation import InputError
from ..reading.options import Reading
from . import diagnosis
from .by_arm import ArmEffect, arm_effects
from .controlled import Control, Controlled, controlled, controls
from .diagnosis import Costs, Inequality
from .doubts import CASE, Doubt, doubts
from .ema import EmaFit, believed
from .faults import faults
from .present import Present, present
from .sample import Sample
from .shrinking import centred, spread_between
from .totals import CELLS, USER_SUMS, Totals
from .users import OwnFirstStep

MODELS = ("two-state", "ema")


@dataclass(frozen=True)
class ArmFit:
    """An arm of the log: its pulls and successes, and its mean with a 95 % interval.

    `levels` are the means of rewards that are not good, and of those that are: 0 and 1 unless
    rewards are graded. Then successes are the sum of rewards.

    >>> ArmFit("cooking", 200, 150, Interval(0.75, 0.69, 0.81)).mean.value
    0.75
    """

    name: str
    pulls: int
    successes: float
    mean: Interval
    levels: tuple[float, float] = (0.0, 1.0)

    @property
    def good(self) -> float:
        """The share of good rewards; the mean unless rewards are graded."""
        low, high = self.levels
        return min(max((self.mean.value - low) / (high - low), 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class Fit(Shown):
    """The model fitted to a log. Made by `fit` or from totals by `Fit.from_counts`.

    `n` and `k` are steps (not censored) and departures for the six cells of `CELLS`: by reward at
    the first step, then by (previous reward, reward). `covariance` is that of the six leave
    probabilities and of the best arm's mean.

    If rewards are graded, `threshold` says from where on they are good: cells, costs and the case
    are about good rewards, and so is the covariance of the best arm.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178])
    >>> fit.case, fit.counts["10"]
    ('opposite', (425, 789))
    """

    n: Array
    k: Array
    covariance: Array
    arms: tuple[ArmFit, ...]
    users: int
    visits: int
    reading: Reading = field(default_factory=Reading)
    totals: Totals | None = field(default=None, repr=False)
    ema: EmaFit | None = field(default=None, repr=False)
    threshold: float | None = None
    sample: Sample | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.k.sum() == 0:
            raise InputError(f"{self.reading.name} has no departure: nobody is seen to leave")
        for cell, steps in zip(CELLS[2:], self.n[2:], strict=True):
            if steps == 0:
                raise InputError(
                    f"{self.reading.name} has no step with previous reward {cell[0]} and reward "
                    f"{cell[1]} whose end is known: the two-state model cannot be fitted"
                )

    @classmethod
    def from_totals(
        cls,
        totals: Totals,
        reading: Reading | None = None,
        ema: EmaFit | None = None,
        threshold: float | None = None,
        sample: Sample | None = None,
    ) -> "Fit":
        """The fit to the totals of a log, with intervals clustered by user."""
        over = [USER_SUMS.index(x) for x in (*(f"k {c}" for c in CELLS), "best successes")]
        under = [USER_SUMS.index(x) for x in (*(f"n {c}" for c in CELLS), "best pulls")]
        _, covariance = ratio_covariance(totals.products, over, under, totals.users)
        wide = widening(totals.products[-1, under], totals.products.diagonal()[under])
        return cls(
            n=totals.n, k=totals.k, covariance=covariance * np.outer(wide, wide),
            arms=_arms(totals, threshold),
            users=totals.users, visits=totals.visits, reading=reading or Reading(),
            totals=totals, ema=ema, threshold=threshold, sample=sample,
        )  # fmt: skip

    @classmethod
    def from_counts(
        cls,
        n: Sequence[Sequence[float]],
        k: Sequence[Sequence[float]],
        means: Sequence[float],
        *,
        first_n: Sequence[float] = (0, 0),
        first_k: Sequence[float] = (0, 0),
        users: int = 0,
        visits: int = 0,
        name: str = "totals",
    ) -> "Fit":
        """The fit to published totals: `n[s][r]` steps and `k[s][r]` departures, s before r.

        Without the users, steps count as independent and means as known: intervals are too narrow.
        """
        steps = np.array([*first_n, *np.ravel(n)], float)
        gone = np.array([*first_k, *np.ravel(k)], float)
        if steps.shape != (6,) or gone.shape != (6,) or (gone > steps).any() or gone.min() < 0:
            raise InputError(
                "n and k are not allowed: give two rows of two, with 0 <= k <= n everywhere"
            )
        q = np.divide(gone, steps, out=np.zeros(6), where=steps > 0)
        variance = np.divide(q * (1.0 - q), steps, out=np.zeros(6), where=steps > 0)
        checked = [validation.number(f"means[{i}]", m, 0, 1) for i, m in enumerate(means)]
        if len(checked) < 2:
            raise InputError(f"means = {list(means)!r} is not allowed: give at least two arms")
        arms = tuple(ArmFit(f"arm {i}", 0, 0, Interval.exact(m)) for i, m in enumerate(checked))
        covariance = np.diag([*variance, 0.0])
        return cls(steps, gone, covariance, arms, users, visits, Reading(name))

    @property
    def q(self) -> Array:
        """The six leave probabilities, in the order of `CELLS`; 0 for a cell without steps."""
        return np.divide(self.k, self.n, out=np.zeros(6), where=self.n > 0)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Departures and steps of each cell."""
        return {c: (int(k), int(n)) for c, k, n in zip(CELLS, self.k, self.n, strict=True)}

    @cached_property
    def leave(self) -> dict[str, Interval]:
        each = zip(CELLS, self.q, self.k, self.n, self.covariance.diagonal()[:-1], strict=True)
        return {c: Interval(float(q), *share_interval(k, n, v)) for c, q, k, n, v in each}

    @cached_property
    def present(self) -> Present | None:
        """What the log's own recommender showed and earned; None for published totals."""
        if self.totals is None or self.sample is None:
            return None
        return present(self.totals, self.sample)

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(arm.mean.value for arm in self.arms)

    @cached_property
    def assumption_1(self) -> tuple[Inequality, ...]:
        return diagnosis.assumption_1(self.q[2:], self.covariance[2:6, 2:6])

    @cached_property
    def costs(self) -> Costs:
        best, kept = self._best
        keep = np.array([1.0, 1.0, 1.0, 1.0, kept])
        covariance = self.covariance[2:, 2:] * np.outer(keep, keep)
        covariance[-1, -1] /= kept
        return diagnosis.costs(np.array([*self.q[2:], best]), covariance)

    @property
    def _best(self) -> tuple[float, float]:
        """The share of good rewards of the best arm, and how much of its lead is not luck.

        The best of many arms owes some of its lead to luck: it is drawn towards the average as far
        as arms differ by no more than their errors.
        """
        good = np.array([arm.good for arm in self.arms])
        best, variance = int(np.argmax(self.means)), self.covariance[-1, -1]
        if self.totals is None or variance <= 0.0:
            return float(good[best]), 1.0
        scale = np.array([arm.levels[1] - arm.levels[0] for arm in self.arms])
        variances = arms_variances(self.totals) / scale**2
        variances = np.maximum(variances, 1e-12)
        between = spread_between(good, variances)
        middle = float(np.average(good, weights=1.0 / (variances + between)))
        kept = between / (between + float(variance))
        return middle + kept * float(good[best] - middle), kept

    @cached_property
    def controlled(self) -> Controlled | None:
        """The log with people, steps and arms held equal; None for published totals."""
        return None if self.sample is None else controlled(self.sample)

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """Mistake costs with more and more held equal; none for published totals."""
        if self.sample is None or self.controlled is None:
            return ()
        return controls(self.sample, self.controlled)

    @property
    def case(self) -> str:
        """One of "normal", "opposite", "improper", or "undecided" by these data.

        As counted (`costs`), and only if that stands with all `controls` and no warning says that
        it cannot be read off this log.
        """
        return "undecided" if self.why_undecided else self.costs.case

    @cached_property
    def why_undecided(self) -> str:
        """Why the case as counted does not stand; nothing if it does."""
        if spoilt := [doubt.name for doubt in self.warnings if doubt.spoils == CASE]:
            return f"that cannot be relied on here (warning: {spoilt[0]})"
        against = [c.name for c in self.controls if c.costs.case != self.costs.case]
        return f"that does not stand for {against[0]}" if against else ""

    @cached_property
    def effects(self) -> tuple[ArmEffect, ...]:
        """What each arm does beyond its rewards; none for published totals."""
        return () if self.controlled is None else arm_effects(self.controlled)

    @property
    def by_arm(self) -> bool:
        """Whether leaving is found to depend on the arm."""
        return any(effect.differs for effect in self.effects)

    @cached_property
    def warnings(self) -> tuple[Doubt, ...]:
        """Where the log does not look like the model, and what that means for the decision."""
        best = int(np.argmax(self.means))
        found = faults(self.sample, self.n, self.k, best, self.costs, self.leave)
        return doubts(self.n, self.k, self.costs, self.totals, found)

    def problem(
        self,
        model: str = "two-state",
        *,
        first_step: bool = True,
        graded: bool = True,
        by_arm: bool | None = None,
    ) -> Problem:
        """The fitted problem, ready to be solved and simulated.

        `model` is "two-state" or "ema". With `first_step` the first step of a visit has leave
        probabilities of its own, as counted (`OwnFirstStep`); without, visits start in state 1 (or
        in the moving average's fitted start), as in the paper.

        Graded rewards take two values in it, the means of an arm's rewards on either side of the
        threshold; with `graded` False they are 1 if they are good, else 0.

        If leaving is found to depend on the arm, two-state users leave by arm (`ByArm.odds`), with
        effects shrunk towards each other as far as the data say, and such that people leave
        after all arms together as counted; `by_arm` says whether they shall instead.
        """
        graded = graded and self.threshold is not None
        odds: tuple[float, ...] = ()
        q = self.q
        if validation.one_of("model", model, MODELS) == "two-state":
            if by_arm if by_arm is not None else self.by_arm:
                if self.controlled is None or self.sample is None:
                    raise InputError("by_arm = True is not allowed: totals say nothing of arms")
                odds = self.controlled.arm_odds
                q = centred(q, np.array(odds), self.sample.by_cell)
            user: User = TwoState(*q[2:].tolist())
            if odds:
                user = ByArm.odds(user, odds)
            if graded:
                assert self.threshold is not None
                user = Levels(user, (self.threshold,))
        else:
            ema = believed(self.ema)
            user = Ema(theta=ema.theta, leave=ema.curve, start=ema.start)
        if first_step and self.n[:2].min() > 0:
            good = self.threshold if graded and self.threshold is not None else 0.0
            first0, first1 = q[:2].tolist()
            user = OwnFirstStep(user, first0, first1, good=good, odds=odds)
        with warnings.catch_warnings():
            # A curve with corners is solved to some digits less, still far better than it is known.
            warnings.filterwarnings("ignore", "the values of", UserWarning)
            if not graded:
                return Problem([arm.good for arm in self.arms], user)
            rewards = [Discrete(arm.levels, (1.0 - arm.good, arm.good)) for arm in self.arms]
            return Problem(rewards=rewards, user=user)

    def to_dict(self) -> dict[str, Any]:
        from ..reporting.data import as_dict

        return as_dict(self)

    def _parts(self) -> Sequence[Part]:
        from ..reporting.screen import parts

        return parts(self)


def arms_variances(totals: Totals) -> Array:
    """Of the means of the arms, clustered by user."""
    arms = totals.arms
    found = one_ratio_variance(arms.successes, arms.pulls, arms.squares, totals.users)
    return found * widening(arms.pulls, arms.squares[:, 0]) ** 2


def _arms(totals: Totals, threshold: float | None) -> tuple[ArmFit, ...]:
    arms = totals.arms
    levels = [(0.0, 1.0)] * len(arms.names) if threshold is None else arms.levels
    variances = arms_variances(totals)
    return tuple(
        ArmFit(
            name, int(n), int(s) if threshold is None else float(s),
            Interval(s / n, *share_interval(s, n, v)), both,
        )
        for name, n, s, v, both in zip(
            arms.names, arms.pulls, arms.successes, variances, levels, strict=True
        )
    )  # fmt: skip

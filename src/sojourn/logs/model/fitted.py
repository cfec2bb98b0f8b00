"""A fitted log: leave probabilities, means, the user model, and how far to trust them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import validation
from ...problem import Problem
from ...rewards import Discrete
from ...show import saved
from ...show.tables import Shown, renderer
from ...stats.clusters import one_ratio_variance, ratio_covariance, share_interval, widening
from ...stats.effects import Spread
from ...stats.intervals import Interval
from ...stats.moments import Array
from ...users import ByArm, Ema, Levels, TwoState, User
from ...validation import InputError
from ..reading.spec import LogSpec, Reading
from .adjusted import AdjustedCosts, ArmEffect, JointModel, adjusted_costs, arm_effects, joint_model
from .costs import Costs, Inequality, assumption_1, costs
from .design import Layout, Shrunk, centred
from .detection import CASE
from .diagnostics import Diagnostic, diagnostics
from .ema import EmaFit, believed, moving_average
from .joint import JointFit, LatentClasses
from .sample import Incumbent, Sample, incumbent
from .totals import CELLS, USER_SUMS, Arms, Totals
from .users import OwnFirstStep, TableLeave

NOT_INFERRED = "not inferred"
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

    If rewards are graded, they are good from `threshold` on: cells, costs and the case
    are about good rewards, and so is the covariance of the best arm.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178])
    >>> fit.case, fit.counts["10"]
    ('opposite', (425, 789))
    """

    _rendered_by: ClassVar[str] = "sojourn.logs.report"

    n: Array
    k: Array
    covariance: Array
    arms: tuple[ArmFit, ...]
    users: int
    visits: int
    leave: dict[str, Interval]
    assumption_1: tuple[Inequality, ...]
    costs: Costs
    """As counted."""
    reading: Reading = field(default_factory=Reading)
    threshold: float | None = None
    totals: Totals | None = field(default=None, repr=False)
    sample: Sample | None = field(default=None, repr=False)
    ema: EmaFit | None = field(default=None, repr=False)
    incumbent: Incumbent | None = None
    """What the log's own recommender showed and earned; None for published totals."""
    model: JointModel | None = field(default=None, repr=False)
    """Rewards and departures of users who differ; None for published totals."""
    adjusted: tuple[AdjustedCosts, ...] = ()
    """Mistake costs adjusted for more and more covariates."""
    effects: tuple[ArmEffect, ...] = ()
    """The effect of each arm beyond its rewards."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Where the log deviates from the model, and what that means for the decision."""
    case: str = NOT_INFERRED
    """One of "normal", "opposite", "improper", "undecided" by these data, or "not inferred".

    As counted (`costs`), and only if all `adjusted` costs agree and no diagnostic says that it
    cannot be read off this log.
    """
    undecided_because: str = ""
    """Why the case as counted does not stand; empty if it does."""

    @classmethod
    def from_totals(
        cls,
        totals: Totals,
        reading: Reading | None = None,
        threshold: float | None = None,
        sample: Sample | None = None,
        *,
        ema: bool = False,
        infer: bool = True,
    ) -> "Fit":
        """The fit to the totals of a log, as `fit` makes it."""
        over = [USER_SUMS.index(x) for x in (*(f"k {c}" for c in CELLS), "best successes")]
        under = [USER_SUMS.index(x) for x in (*(f"n {c}" for c in CELLS), "best pulls")]
        _, covariance = ratio_covariance(totals.products, over, under, totals.users)
        wide = widening(totals.products[-1, under], totals.products.diagonal()[under])
        counted = cls._counted(
            totals.n, totals.k, covariance * np.outer(wide, wide), _arms(totals, threshold),
            users=totals.users, visits=totals.visits, reading=reading or Reading(),
            threshold=threshold, totals=totals, sample=sample,
        )  # fmt: skip
        if sample is not None:
            average = moving_average(sample) if ema else None
            counted = replace(counted, incumbent=incumbent(totals, sample), ema=average)
        return counted._inferred() if infer else counted

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
        checked = validation.numbers("means", means, 0, 1)
        if len(checked) < 2:
            raise InputError(f"means = {list(means)!r} is not allowed: give at least two arms")
        arms = tuple(ArmFit(f"arm {i}", 0, 0, Interval.exact(m)) for i, m in enumerate(checked))
        covariance = np.diag([*variance, 0.0])
        counted = cls._counted(
            steps, gone, covariance, arms, users=users, visits=visits, reading=Reading(name)
        )
        return counted._inferred()

    @classmethod
    def _counted(
        cls, n: Array, k: Array, covariance: Array, arms: tuple[ArmFit, ...], **known: Any
    ) -> "Fit":
        """What follows from counts alone."""
        _check_cells(n, k, known["reading"].name)
        q = np.divide(k, n, out=np.zeros(6), where=n > 0)
        each = zip(CELLS, q, k, n, covariance.diagonal()[:-1], strict=True)
        leave = {c: Interval(float(p), *share_interval(a, b, v)) for c, p, a, b, v in each}
        best, kept = best_share(arms, covariance[-1, -1], known.get("totals"))
        keep = np.array([1.0, 1.0, 1.0, 1.0, kept])
        shrunk = covariance[2:, 2:] * np.outer(keep, keep)
        shrunk[-1, -1] /= kept
        return cls(
            n, k, covariance, arms, leave=leave,
            assumption_1=assumption_1(q[2:], covariance[2:6, 2:6]),
            costs=costs(np.array([*q[2:], best]), shrunk), **known,
        )  # fmt: skip

    def _inferred(self) -> "Fit":
        """With the joint model of the sample, diagnostics, and the case that stands with both."""
        found, fitted = diagnostics(self), self
        if self.sample is not None:
            model = joint_model(self.sample)
            adjusted = adjusted_costs(self.sample, model)
            fitted = replace(self, model=model, adjusted=adjusted, effects=arm_effects(model))
        because = _undecided_because(self.costs, fitted.adjusted, found)
        case = "undecided" if because else self.costs.case
        return replace(fitted, diagnostics=found, case=case, undecided_because=because)

    @classmethod
    def load(cls, path: str | Path) -> "Fit":
        """Load a saved fit."""
        found = saved.load(path, KINDS)
        if not isinstance(found, Fit):
            raise InputError(f"path = {str(path)!r} is not allowed: it must be a saved fit")
        return found

    def save(self, path: str | Path) -> None:
        """Write the whole fit to a file: arrays as npz, all else in it as JSON."""
        saved.save(self, path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fit) and saved.same(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def q(self) -> Array:
        """The six leave probabilities, in the order of `CELLS`; 0 for a cell without steps."""
        return np.divide(self.k, self.n, out=np.zeros(6), where=self.n > 0)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Departures and steps of each cell."""
        return {c: (int(k), int(n)) for c, k, n in zip(CELLS, self.k, self.n, strict=True)}

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(arm.mean.value for arm in self.arms)

    @property
    def by_arm(self) -> bool:
        """Whether leaving is found to depend on the arm."""
        return any(effect.differs for effect in self.effects)

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
        effects shrunk towards each other as far as the data say, and such that users leave after
        all arms together as counted; `by_arm` overrules that.
        """
        cut = self.threshold if graded else None
        odds: tuple[float, ...] = ()
        q = self.q
        if validation.one_of("model", model, MODELS) == "two-state":
            if self.by_arm if by_arm is None else by_arm:
                if self.model is None or self.sample is None:
                    raise InputError(
                        "by_arm = True is not allowed: totals have no departures by arm"
                    )
                odds = self.model.arm_odds
                q = centred(q, np.array(odds), self.sample.by_cell)
            user: User = TwoState(*q[2:].tolist())
            user = ByArm.odds(user, odds) if odds else user
            user = user if cut is None else Levels(user, (cut,))
        else:
            ema = believed(self.ema)
            user = Ema(theta=ema.theta, leave=ema.curve, start=ema.start)
        if first_step and self.n[:2].min() > 0:
            user = OwnFirstStep(user, float(q[0]), float(q[1]), good=cut or 0.0, odds=odds)
        with warnings.catch_warnings():
            # A curve with corners is solved to some digits less, still far better than it is known.
            warnings.filterwarnings("ignore", "the values of", UserWarning)
            if cut is None:
                return Problem([arm.good for arm in self.arms], user)
            rewards = [Discrete(arm.levels, (1.0 - arm.good, arm.good)) for arm in self.arms]
            return Problem(rewards=rewards, user=user)

    def to_dict(self) -> dict[str, Any]:
        data = renderer(self).data
        assert data is not None
        return data(self)


def _check_cells(n: Array, k: Array, name: str) -> None:
    if k.sum() == 0:
        raise InputError(f"{name} has no departure: nobody is seen to leave")
    for cell, steps in zip(CELLS[2:], n[2:], strict=True):
        if steps == 0:
            raise InputError(
                f"{name} has no step with previous reward {cell[0]} and reward "
                f"{cell[1]} whose end is known: the two-state model cannot be fitted"
            )


def best_share(
    arms: tuple[ArmFit, ...], variance: float, totals: Totals | None
) -> tuple[float, float]:
    """The share of good rewards of the best arm, and how much of its lead is not luck.

    The best of many arms owes some of its lead to luck: it is drawn towards the average as far as
    arms differ by no more than their errors.
    """
    good = np.array([arm.good for arm in arms])
    best = int(np.argmax([arm.mean.value for arm in arms]))
    if totals is None or variance <= 0.0:
        return float(good[best]), 1.0
    scale = np.array([arm.levels[1] - arm.levels[0] for arm in arms])
    variances = np.maximum(arms_variances(totals) / scale**2, 1e-12)
    between = Spread.of(good, variances).estimate
    middle = float(np.average(good, weights=1.0 / (variances + between)))
    kept = between / (between + float(variance))
    return middle + kept * float(good[best] - middle), kept


def _undecided_because(
    counted: Costs, adjusted: tuple[AdjustedCosts, ...], found: tuple[Diagnostic, ...]
) -> str:
    if spoilt := [d.name for d in found if d.spoils == CASE]:
        return f"that cannot be relied on here (warning: {spoilt[0]})"
    against = [a.name for a in adjusted if a.costs.case != counted.case]
    return f"the case changes when {against[0]}" if against else ""


def arms_variances(totals: Totals) -> Array:
    """Variances of the means of the arms, clustered by user."""
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


KINDS = (
    Fit, ArmFit, Interval, Inequality, Costs, LogSpec, Reading, Totals, Arms, Sample, EmaFit,
    TableLeave, Incumbent, JointModel, Layout, JointFit, LatentClasses, Shrunk, AdjustedCosts,
    ArmEffect, Diagnostic,
)  # fmt: skip
"""The parts of a saved fit."""

"""Problems that a log does not rule out: draws around the fit, errors and all."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ... import checks
from ...problem import Problem
from ...stats.intervals import Interval, z
from ...stats.moments import Array
from ..fitting.ema import EmaFit, falling
from ..fitting.model import MODELS, ArmFit, Fit

BEST = 6
"""The row of the best arm's mean in `Fit.covariance`, after the six leave probabilities."""


def draw_problems(
    fit: Fit, draws: int, *, seed: int = 0, model: str = "two-state", arms: int | None = None
) -> tuple[Problem, ...]:
    """Problems drawn around the fitted one.

    Log odds of the leave probabilities and of the best mean are normal with the fit's covariance,
    clustered by user; those of the other means, and of the points of a moving average's leave
    curve, are normal with the width of their own intervals. Graded rewards are 1 in them if they
    are good, else 0. A probability of which all or none of
    the steps count is drawn from Beta(k + 1/2, n - k + 1/2), and one without an interval is taken
    as known. With `arms`, that many arms are spread from best to worst as those of the log are.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178])
    >>> [round(p.user.q00, 3) for p in draw_problems(fit, 3)]
    [0.352, 0.348, 0.344]
    >>> draw_problems(fit, 1, arms=3)[0].means
    (0.794, 0.486, 0.178)
    """
    checks.one_of("model", model, MODELS)
    checks.whole("draws", draws, 1)
    if arms is not None:
        arms = checks.whole("arms", arms, 2, 10_000)
    rng = np.random.default_rng([checks.whole("seed", seed, 0, 2**63 - 1), 6])
    q, means = _parameters(fit, draws, rng)
    curves: Sequence[EmaFit | None] = [fit.ema] * draws
    if model == "ema":
        curves = _curves(fit, draws, rng)
    # One step in every cell that the log has: then q = k / n is the drawn probability.
    n = (fit.n > 0).astype(float)
    drawn = zip(q, (_arms(fit, m, arms) for m in means), curves, strict=True)
    made = (replace(fit, n=n, k=k, arms=a, ema=ema) for k, a, ema in drawn)
    return tuple(each.problem(model, graded=False) for each in made)


def _parameters(fit: Fit, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Leave probabilities [draw, cell] and means [draw, arm]."""
    best = int(np.argmax(fit.means))
    estimate = np.array([*fit.q, fit.arms[best].good])
    inside = (estimate > 0.0) & (estimate < 1.0)
    slope = np.divide(1.0, estimate * (1.0 - estimate), out=np.zeros(BEST + 1), where=inside)
    spread = fit.covariance * np.outer(slope, slope)
    joint = _probability(
        _log_odds(estimate) + rng.multivariate_normal(np.zeros(BEST + 1), spread, draws)
    )
    for cell in np.flatnonzero(~inside[:BEST] & (fit.n > 0)):
        joint[:, cell] = rng.beta(fit.k[cell] + 0.5, fit.n[cell] - fit.k[cell] + 0.5, draws)
    means = np.stack([_mean(arm, draws, rng) for arm in fit.arms], axis=1)
    if inside[BEST]:
        low, high = fit.arms[best].levels
        means[:, best] = low + joint[:, BEST] * (high - low)
    return joint[:, :BEST], means


def _mean(arm: ArmFit, draws: int, rng: np.random.Generator) -> Array:
    if arm.mean.low == arm.mean.high:
        return np.full(draws, arm.mean.value)
    if not 0 < arm.successes < arm.pulls:
        return rng.beta(arm.successes + 0.5, arm.pulls - arm.successes + 0.5, draws)
    return _around(np.array([arm.mean.value]), arm.mean.low, arm.mean.high, draws, rng)[:, 0]


def _around(
    value: Array, low: Array | float, high: Array | float, draws: int, rng: np.random.Generator
) -> Array:
    """[draw, i], from 95 % intervals that are symmetric in log odds."""
    error = (_log_odds(np.asarray(high)) - _log_odds(np.asarray(low))) / (2.0 * z())
    return _probability(_log_odds(value) + error * rng.standard_normal((draws, value.size)))


def _curves(fit: Fit, draws: int, rng: np.random.Generator) -> list[EmaFit]:
    """Moving averages, alike but for their leave curves: bins drawn, then made to fall."""
    if fit.ema is None:
        raise ValueError("model = 'ema' is not allowed: no moving average was fitted")
    q = np.clip(fit.ema.left / fit.ema.n, 0.5 / fit.ema.n, 1.0 - 0.5 / fit.ema.n)
    bins = _around(q, fit.ema.low, fit.ema.high, draws, rng)
    return [replace(fit.ema, curve=falling(fit.ema.state, drawn, fit.ema.n)) for drawn in bins]


def _arms(fit: Fit, means: Array, number: int | None) -> tuple[ArmFit, ...]:
    """The arms with these means, or a given number of arms with the same spread."""
    if number is None:
        return tuple(
            replace(arm, mean=Interval.exact(m))
            for arm, m in zip(fit.arms, means.tolist(), strict=True)
        )
    ranks: Sequence[float] = np.quantile(means, np.linspace(1.0, 0.0, number)).tolist()
    low, high = np.mean([arm.levels for arm in fit.arms], axis=0).tolist()
    arms = enumerate(ranks)
    return tuple(ArmFit(f"arm {i}", 0, 0, Interval.exact(m), (low, high)) for i, m in arms)


def _log_odds(p: Array) -> Array:
    # Far enough from 0 and 1 to be a number; what is at the edge is drawn another way.
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(p) - np.log1p(-p))


def _probability(log_odds: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))

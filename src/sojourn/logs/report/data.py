"""A fit as plain data, for JSON."""

from typing import TYPE_CHECKING, Any

from ...show.plain import plain
from ...stats.intervals import Interval
from ..model.costs import overall
from ..model.diagnostics import gains
from .words import conclusions

if TYPE_CHECKING:
    from ..model.ema import EmaFit
    from ..model.fitted import Fit
    from ..model.totals import Totals


def data(fit: "Fit") -> dict[str, Any]:
    """Everything that the fit knows."""
    reading = {**vars(fit.reading), "spec": fit.reading.spec.given()}
    log = {**reading, "users": fit.users, "visits": fit.visits}
    costs = fit.costs
    found = {
        "log": log,
        "leave": [
            {"cell": c, "left": k, "steps": n, **_named("q", fit.leave[c])}
            for c, (k, n) in fit.counts.items()
        ],
        "arms": [
            {"arm": a.name, "pulls": a.pulls, "successes": a.successes, **_named("mean", a.mean)}
            | ({} if fit.threshold is None else {"good": a.good})
            for a in fit.arms
        ],
        "effects": fit.effects,
        "incumbent": fit.incumbent,
        "assumption_1": {"verdict": overall(fit.assumption_1), "pairs": fit.assumption_1},
        "mistake_cost": {"d0": costs.d0, "d1": costs.d1, "ratio": costs.ratio},
        "adjusted": fit.adjusted,
        "case": fit.case,
        "undecided_because": fit.undecided_because or None,
        "conclusions": conclusions(fit),
        "confidence": costs.confidence,
        "times_the_data": costs.times_the_data,
        "ema": None if fit.ema is None else _ema(fit.ema),
        "diagnostics": fit.diagnostics,
    }
    if (totals := fit.totals) is not None:
        log |= {"steps": totals.steps.sum(), "censored_visits": totals.censored}
        found |= _totals(totals)
    return plain(found)  # type: ignore[no-any-return]


def _named(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, "low": interval.low, "high": interval.high}


def _ema(ema: "EmaFit") -> dict[str, Any]:
    bins = zip(ema.state, ema.n, ema.left, ema.curve.q, ema.low, ema.high, strict=True)
    return {
        "theta": ema.theta,
        "start": ema.start,
        "believed": ema.believed,
        "gain_per_1000": {"value": ema.gain, "error": ema.error, "shuffled": ema.shuffled},
        "bins": [
            {"state": s, "n": int(n), "left": int(k), "q": q, "low": low, "high": high}
            for s, n, k, q, low, high in bins
        ],
        "curve": ema.curve,
    }


def _totals(totals: "Totals") -> dict[str, Any]:
    last = int(totals.steps.sum(axis=(0, 2, 3, 4)).nonzero()[0].max()) + 1
    arms, (steps, left) = totals.arms, totals.hazard
    lengths = totals.lengths[:last]
    return {
        "rare_arms": {"arms": arms.others, "pulls": arms.other_pulls, "min_pulls": arms.min_pulls},
        "hazard": {"steps": steps[:last], "left": left[:last]},
        "visit_lengths": {"left": lengths[:, 0], "censored": lengths[:, 1]},
        "gain_per_1000": {"all": gains(totals), "after_first": gains(totals, first=False)},
    }

"""What is printed of a fit, an advice and an evaluation, one screen each; a fit as plain data."""

from math import expm1, inf
from textwrap import fill
from typing import Any

from ...show.plain import plain
from ...show.tables import Part, Table
from ...stats.intervals import Interval
from ..deciding.advice import WHERE, Advice
from ..evaluating.evaluate import Evaluation
from ..evaluating.trajectories import Estimate
from ..model.costs import overall
from ..model.diagnostics import gains
from ..model.ema import EmaFit
from ..model.fit import Alternative
from ..model.fitted import ArmFit, Fit
from ..model.totals import CELLS, Totals
from ..reading.spec import Reading
from .words import TEXTS, conclusions, context, intervals_are

WIDTH = 100

SHOWN = 6
"""Arms in the table; the JSON has all."""


def fit_parts(fit: Fit) -> list[Part]:
    """The one-screen answer."""
    heading, totals = f"{fit.reading.name}:", fit.totals
    if totals is not None:
        heading += (
            f" {int(totals.steps.sum()):,} steps, {fit.visits:,} visits "
            f"({totals.censored:,} censored), {fit.users:,} users"
        )
    parts: list[Part] = [*map(paragraph, (heading, *reading_lines(fit.reading)))]
    parts += ["", leave_table(fit), ""]
    if totals is not None:
        parts += [arms_table(fit, SHOWN), *[paragraph(TEXTS["explained"])] * bool(fit.effects), ""]
        parts += [paragraph(_moving_average(fit.ema)), ""] if fit.ema is not None else []
    parts += [paragraph(words) for words in conclusions(fit)]
    for found in fit.diagnostics:
        parts += ["", paragraph(f"{'note' if found.note else 'warning'}: {found}")]
    return parts


def paragraph(words: str) -> str:
    """Wrap lines at `WIDTH` characters."""
    return fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def cells(interval: Interval, form: str) -> tuple[str, str]:
    """The value, and both ends as in "0.1 to 0.2"."""
    return f"{interval.value:{form}}", f"{interval.low:{form}} to {interval.high:{form}}"


def alternatives_table(alternatives: tuple[Alternative, ...]) -> Table:
    """The table of a sensitivity study; "0 to 1" is what a mistake costs after a 0, beside a 1."""
    headings = ("with", "visits", "left 00", "01", "10", "11", "0 to 1", "95 %", "case")
    rows = []
    for a in alternatives:
        counts = [f"{k:,}/{n:,}" for k, n in (a.counts[c] for c in CELLS[2:])]
        ratio = a.costs.ratio
        shown = ("", "") if ratio is None else cells(ratio, ".3f")
        rows.append((a.name, f"{a.visits:,}", *counts, *shown, a.case))
    return Table(headings, rows, left=(0,))


def reading_lines(reading: Reading) -> list[str]:
    """What was guessed about a log, its bad rows, and remarks."""
    lines = []
    if reading.guessed:
        guesses = (f"{role} = {column}" for role, column in reading.guessed.items())
        lines.append(f"columns guessed: {', '.join(guesses)}")
    if reading.bad:
        bad = (f"{count:,} {kind}" for kind, count in reading.bad.items())
        lines.append(f"bad rows, not counted: {', '.join(bad)}")
    return [*lines, *reading.notes]


def leave_table(fit: Fit) -> Table:
    """Departures after each pair of rewards that the log has."""
    rows = []
    for cell, name in zip(CELLS, ("first 0", "first 1", "0 0", "0 1", "1 0", "1 1"), strict=True):
        left, steps = fit.counts[cell]
        if steps:
            numbers = (f"{left:,}", f"{steps:,}", *cells(fit.leave[cell], ".4f"))
            rows.append((*name.split(), *numbers))
    return Table(("previous", "reward", "left", "steps", "q", "95 %"), rows)


def arms_table(fit: Fit, shown: int | None = None) -> Table:
    """Arms by what a visit of each alone is worth (by their means, if only these are known)."""
    effects = {effect.name: effect for effect in fit.effects}
    graded = fit.threshold is not None

    def value(arm: ArmFit) -> float:
        return effects[arm.name].worth.value if effects else arm.mean.value

    def row(arm: ArmFit) -> tuple[str, ...]:
        columns = [arm.name, f"{arm.pulls:,}", *cells(arm.mean, ".4f")]
        columns += [f"{arm.good:.4f}"] * graded
        if effects:
            effect = effects[arm.name]
            often = f"{effect.times.value:.2f}{'*' if effect.differs else ' '}"
            columns += [often, *cells(effect.worth, ".2f")]
        return tuple(columns)

    ranked = sorted(fit.arms, key=value, reverse=True)
    headings = ["arm", "pulls", "mean", "95 %", *["good"] * graded]
    headings += ["leave", "visit", "95 %"] if effects else []
    if shown is None or len(ranked) <= shown + 1:
        rows = [row(arm) for arm in ranked]
    else:
        more = f"... {len(ranked) - shown} more"
        rows = [*(row(arm) for arm in ranked[: shown - 1]), (more,), row(ranked[-1])]
    if fit.totals is not None and (others := fit.totals.arms).others:
        name = f"{others.others} rare (below {others.min_pulls:,})"
        mean = others.other_successes / others.other_pulls
        rows.append((name, f"{others.other_pulls:,}", f"{mean:.4f}"))
    numbers = range(1, len(headings))
    return Table(headings, rows, left=[0, *(i for i in numbers if headings[i] == "95 %")])


def _moving_average(ema: EmaFit) -> str:
    """What it says, or that it says nothing; likelihoods as per cent per step."""
    # From nats per 1,000 steps.
    found, other = (
        100.0 * expm1(gain / 1000.0) for gain in (ema.gain, max(ema.shuffled, default=0.0))
    )
    random = f"and rewards put in random order do so by up to {other:.2g} %"
    how_much = (
        f"it makes what held-out users did {found:.2g} % likelier per step than the step number "
        f"alone does, {random if ema.above_noise else 'no more than noise would'}"
    )
    if not ema.believed:
        return (
            "the moving average of the rewards of a visit predicts departures no better than a "
            f"count of steps: {how_much}"
        )
    return (
        f"moving average of the rewards of a visit, with weight {ema.theta:g} for the newest and "
        f"{ema.start:g} at first: at equal step numbers the chance to leave falls from "
        f"{ema.curve.q[0]:.3g} in the worst state to {ema.curve.q[-1]:.3g} in the best; {how_much}"
    )


def advice_parts(advice: Advice) -> list[Part]:
    """The verdict, a table of forecasts, and the incumbent."""
    reason = [] if advice.policy is None else [advice.reason]
    worst = "; ".join(f"{n}: {WHERE[n]}" for n in advice.outcomes[0].cases)
    explained = (
        f"Gains are rewards per visit over {advice.incumbent.name}; - may lose to it, * is "
        f"advised, = is tied with that. {intervals_are(advice)} {advice.arms} arms; "
        f"{advice.draws} runs, each on users drawn around the fit, {advice.runs} in each worst "
        f"case, seed {advice.seed}. Worst cases: {worst}."
    )
    parts: list[Part] = []
    for said in (f"decision: {advice.verdict}", *reason):
        parts += [paragraph(said), ""]
    parts += [gains_table(advice), paragraph(explained)]
    for said in context(advice):
        parts += ["", paragraph(said)]
    return parts


def gains_table(advice: Advice) -> Table:
    """The forecast for each candidate; * is advised, = tied with that, - may lose."""
    incumbent = advice.incumbent
    rows = [(f"  {incumbent.name}", f"{incumbent.model.reward:.4g}", "", "", "", "", "")]
    for o in advice.outcomes:
        mark = (
            "*"
            if o.policy == advice.policy
            else "-"
            if o.loses
            else "="
            if o.name in advice.tied
            else " "
        )
        worst = f"{o.worst_gain.value:+.2g} ({o.worst})"
        gain = (f"{o.reward.value:.4g}", *cells(o.gain, "+.2g"), f"{o.share:+.1%}")
        rows.append((f"{mark} {o.name}", *gain, f"{o.over_kl_ucb.value:+.2g}", worst))
    return Table(("per visit", "reward", "gain", "95 %", "", "over KL-UCB", "worst case"), rows)


def evaluation_parts(found: Evaluation) -> list[Part]:
    """The policy, the log, a table of the estimates, and the visits that the log cuts short."""
    worth = "" if found.effective is None else f", worth {found.effective:,.1f} of this policy"
    until = "" if found.max_steps is None else f"; the first {found.max_steps} steps of a visit"
    interval = f"{100 * found.confidence:g} % interval"
    headings = ("method", "reward per visit", interval, "steps per visit", interval)
    rows = [
        (method, *_bounded(reward), *_bounded(found.length[method]))
        for method, reward in found.reward.items()
    ]
    lines: list[Part] = [f"{found.policy!r}"]
    lines += map(paragraph, [found.reading.name, *reading_lines(found.reading)])
    if found.arms != tuple(range(len(found.arms))):
        numbers = (f"{number} = {arm}" for number, arm in enumerate(found.arms))
        lines.append(paragraph(f"arms: {', '.join(numbers)}"))
    lines += [
        f"{found.visits:,} visits of {found.users:,} users{worth}{until}",
        Table(headings, rows),
        *map(paragraph, found.diagnostics),
    ]
    if found.cut and found.effective is not None:
        lines.append(
            f"{found.cut:,} visits are cut short by the log: PDIS and SN-PDIS count them as far as "
            "they go"
        )
    return lines


def _bounded(estimate: Estimate) -> tuple[str, str]:
    if estimate.high == inf:
        return f"{estimate.mean:.4f}", f"{estimate.low:.4f} or more" if estimate.low else "unknown"
    return cells(Interval(estimate.mean, estimate.low, estimate.high), ".4f")


def data(fit: Fit) -> dict[str, Any]:
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


def _ema(ema: EmaFit) -> dict[str, Any]:
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


def _totals(totals: Totals) -> dict[str, Any]:
    last = int(totals.steps.sum(axis=(0, 2, 3, 4)).nonzero()[0].max()) + 1
    arms, (steps, left) = totals.arms, totals.hazard
    lengths = totals.lengths[:last]
    return {
        "rare_arms": {"arms": arms.others, "pulls": arms.other_pulls, "min_pulls": arms.min_pulls},
        "hazard": {"steps": steps[:last], "left": left[:last]},
        "visit_lengths": {"left": lengths[:, 0], "censored": lengths[:, 1]},
        "gain_per_1000": {"all": gains(totals), "after_first": gains(totals, first=False)},
    }

"""Where a log does not look like the model.

A diagnostic is a row of `CHECKS`, which says how it is detected, and a table of `diagnostics.toml`,
which has its sentences and what does not stand with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import expm1
from typing import TYPE_CHECKING, Any

import numpy as np

from ...stats.moments import Array
from .costs import bracketed
from .design import LAYERS, layers
from .detection import WORDS, Found, apart, confounding, few_decide, reverse_causation
from .totals import CELLS, USER_SUMS, Totals

if TYPE_CHECKING:
    from .fitted import Fit

FEW_STEPS, FEW_LEFT, FEW_USERS = 100, 10, 30
"""Cells, and logs, with less than this are called small."""

REPEAT = 0.05
"""Correlation of consecutive rewards of one arm from which it is worth a word."""

DISPERSION = 1.5
"""Overdispersion worth a word: the variance of users' successes over that of users alike."""

SPIKE = 1.5
SPIKE_SHARE = 0.02
"""A length is a spike if visits end there so many times more often than around it, and this share
of all visits does."""
AT_DEPARTURE = 2.0
"""An odds ratio of leaving by the reward from which it matters which of them came first."""

LASTING = 0.25
"""If the last reward has less than this share of the current one's effect, on the scale of
logarithms, a 0 looks like the trace of leaving."""

SURE, NATS = 1.645, 2.0
"""One explanation is better than the other by so many standard errors, and so much in all."""


@dataclass(frozen=True)
class Diagnostic:
    """One warning: a name, what was seen, in numbers, and what it means for the decision.

    A `note` says what cannot be known, and is no alarm. `spoils` names what is not valid with it:
    the case, or any forecast of a change.

    >>> print(Diagnostic("few departures", "3 people left", "the intervals are wide"))
    3 people left: the intervals are wide
    """

    name: str
    seen: str
    meaning: str
    note: bool = False
    spoils: str = ""

    def __str__(self) -> str:
        return f"{self.seen}: {self.meaning}"


def _improper(fit: "Fit") -> Found:
    for state, d in ((0, fit.costs.d0), (1, fit.costs.d1)):
        if d.value < 0.0:
            yield {"state": state, "cost": bracketed(d)}


def odds_ratio(n: Array, k: Array) -> float:
    """Mantel-Haenszel odds ratio of leaving, first column against second, over the rows."""
    total = n.sum(axis=1)
    stay = n - k
    rows = total > 0
    above = (k[:, 0] * stay[:, 1])[rows] / total[rows]
    below = (k[:, 1] * stay[:, 0])[rows] / total[rows]
    return float(above.sum() / below.sum()) if below.sum() > 0.0 else float("inf")


def _odds(fit: "Fit") -> tuple[float, float]:
    """The odds ratios of leaving by the reward now, and by the one before."""
    steps, left = fit.n[2:].reshape(2, 2), fit.k[2:].reshape(2, 2)
    return odds_ratio(steps, left), odds_ratio(steps.T, left.T)


def _reverse_causation(fit: "Fit") -> Found:
    now, _ = _odds(fit)
    if now < AT_DEPARTURE or fit.sample is None:
        return
    told = reverse_causation(fit.sample)
    if told.better > max(SURE * told.error, NATS):
        yield {"now": now, "share": told.share}


def _possible_reverse_causation(fit: "Fit") -> Found:
    now, before = _odds(fit)
    if now < AT_DEPARTURE or before >= now**LASTING:
        return
    told = None if fit.sample is None else reverse_causation(fit.sample)
    if told is None or -SURE * told.error < told.better <= max(SURE * told.error, NATS):
        yield {"now": now, "before": before}


def _few_steps(fit: "Fit") -> Found:
    small = [
        f"{cell}: {int(a)} of {int(b)}"
        for cell, a, b in zip(CELLS[2:], fit.k[2:], fit.n[2:], strict=True)
        if b < FEW_STEPS or a < FEW_LEFT or b - a < FEW_LEFT
    ]
    if small:
        yield {"cells": ", ".join(small)}


def _few_users(totals: Totals) -> Found:
    if totals.users < FEW_USERS:
        yield {"users": totals.users}


def gains(totals: Totals, first: bool = True) -> dict[str, float]:
    """Log-likelihood of held-out users over a constant chance to leave, in nats per 1,000 steps.

    By "rewards" (the cells) and by "step" (classes of the step number); of all steps, or without
    the `first` of each visit.
    """
    counts = totals.steps[:, :, : 3 if first else 2, :2, :2].astype(float)
    layer = layers(np.arange(1, counts.shape[1] + 1))
    by_class = np.stack([counts[:, layer == i].sum(axis=1) for i in range(LAYERS)], axis=1)
    train, test = by_class[0], by_class[1]
    if train.sum() == 0 or test.sum() == 0:
        train = test = by_class.sum(axis=0)
    # Axes: step class, previous, reward, end.
    found = {}
    for name, over in (("rewards", (0,)), ("step", (1, 2))):
        n, k = (train[..., i].sum(axis=over, keepdims=True) for i in (0, 1))
        q = (k + 0.5) / (n + k + 1.0)
        level = np.array(train[..., 1].sum() / train.sum())
        steps, left = test.sum(axis=-1), test[..., 1]
        better = _log_likelihood(q, steps, left) - _log_likelihood(level, steps, left)
        found[name] = 1000.0 * better / float(test.sum())
    return found


def _log_likelihood(q: Array, n: Array, left: Array) -> float:
    """Of `left` departures in `n` steps with chance q, up to what does not depend on q."""
    q = np.clip(q, 1e-12, 1.0 - 1e-12)
    return float((left * np.log(q) + (n - left) * np.log1p(-q)).sum())


def _step_number(totals: Totals) -> Found:
    gain = gains(totals)
    if gain["step"] > gain["rewards"] and gain["step"] > 0.1:
        n, k = totals.hazard
        q = [f"{k[i] / n[i]:.3g} at step {i + 1}" for i in (0, 1, 9) if n[i] > 0]
        likelier = {name: 100.0 * expm1(gain[name] / 1000.0) for name in gain}
        yield {**likelier, "rates": ", ".join(q)}


def _spikes(totals: Totals) -> Found:
    n, k = totals.hazard
    visits = k.sum()
    found = []
    for i in range(2, min(len(n) - 3, 100)):
        around = [i - 2, i - 1, i + 1, i + 2]
        usual = k[around].sum() / max(n[around].sum(), 1.0)
        expected = n[i] * usual
        error = np.sqrt(max(expected * (1.0 - usual), 1.0))
        if (
            k[i] > SPIKE * expected
            and k[i] - expected > 5.0 * error
            and k[i] > SPIKE_SHARE * visits
        ):
            times = k[i] / expected if expected else np.inf  # nobody leaves at the lengths around
            than = f"{times:.1f} times its" if expected else "none at"
            words = f"{k[i] / visits:.0%} after {i + 1} steps ({than} neighbours)"
            found.append((times, i, words))
    if found:
        yield {"lengths": ", ".join(words for *_, words in sorted(found, reverse=True)[:3])}


def _repeats(totals: Totals) -> Found:
    """Consecutive rewards of the same arm within a visit are correlated."""
    pairs = totals.arms.pairs.reshape(-1, 2, 2)
    count, m, r = pairs.sum(), totals.arms.shares[:, None, None], np.array([0.0, 1.0])
    spread = (pairs * (m * (1.0 - m))).sum()
    if spread > 0.0:
        correlation = (pairs * (r[:, None] - m) * (r - m)).sum() / spread
        if correlation > max(REPEAT, 4.0 / np.sqrt(count)):
            yield {"correlation": correlation, "pairs": count}


def _users_differ(totals: Totals) -> Found:
    """Users' successes vary more than they would if every pull had the mean of its arm."""
    s, e, v, one = (USER_SUMS.index(x) for x in ("successes", "expected", "spread", "one"))
    p = totals.products
    if p[v, one] > 0.0:
        ratio = (p[s, s] - 2.0 * p[s, e] + p[e, e]) / p[v, one]
        if ratio > DISPERSION:
            yield {"ratio": ratio}


def _unknown_at_the_end(totals: Totals) -> Found:
    unknown = totals.steps[..., 2, :].sum(axis=(0, 1, 2)).astype(float)
    every = totals.steps.sum(axis=(0, 1, 2, 3)).astype(float)
    last, before = (unknown[end] / max(every[end], 1.0) for end in (1, 0))
    if unknown[1] >= FEW_LEFT and last > 2.0 * before:
        yield {"last": last, "before": before}


CHECKS: dict[str, tuple[str, Callable[[Any], Found]]] = {
    "improper": ("", _improper),
    "reverse causation": ("", _reverse_causation),
    "possible reverse causation": ("", _possible_reverse_causation),
    "few users decide": ("", few_decide),
    "confounding": ("sample", confounding),
    "arms apart": ("sample", apart),
    "few steps": ("", _few_steps),
    "few users": ("totals", _few_users),
    "step number": ("totals", _step_number),
    "spikes": ("totals", _spikes),
    "repeating rewards": ("totals", _repeats),
    "users differ": ("totals", _users_differ),
    "unknown at the end": ("totals", _unknown_at_the_end),
}
"""By name, the gravest first: what a check needs of a fit as counted (all of it, the totals or the
sample; published totals have neither), and how it detects what its sentences have placeholders for.
"""


def diagnostics(fit: "Fit") -> tuple[Diagnostic, ...]:
    """All diagnostics that apply to a fit as counted, the gravest first."""
    found = []
    for name, (needs, detect) in CHECKS.items():
        known, words = getattr(fit, needs) if needs else fit, WORDS[name]
        for facts in detect(known) if known is not None else ():
            seen, meaning = (words[part].format_map(facts) for part in ("seen", "meaning"))
            spoils = facts.get("spoils", words.get("spoils", ""))
            found.append(Diagnostic(name, seen, meaning, words.get("note", False), spoils))
    return tuple(found)

"""Where a log does not look like the model: warnings with numbers, and what they mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import expm1

import numpy as np

from ...stats.moments import Array
from .diagnosis import Costs, bracketed
from .totals import CELLS, USER_SUMS, Totals

FEW_STEPS, FEW_LEFT, FEW_USERS = 100, 10, 30
"""Cells, and logs, with less than this are called small."""

STEP_BINS = (1, 2, 3, 5, 10, 20, 50)
"""Upper ends of the classes of step numbers; a last one takes the rest."""

REPEAT = 0.05
"""Correlation of consecutive rewards of one arm from which it is worth a word."""

DISPERSION = 1.5
"""Overdispersion worth a word: the variance of users' successes over that of users alike."""

SPIKE = 1.5
SPIKE_SHARE = 0.02
"""A length is a spike if visits end there so many times more often than around it, and this share
of all visits does."""


CASE, ADVICE = "case", "advice"


@dataclass(frozen=True)
class Diagnostic:
    """One warning: a name, what was seen, in numbers, and what it means for the decision.

    A `note` says what cannot be known, and is no alarm. `spoils` names what does not stand with it:
    the `CASE`, or any `ADVICE` to change what is shown.

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


def diagnostics(
    n: Array, k: Array, costs: Costs, totals: Totals | None, faults: Sequence[Diagnostic] = ()
) -> tuple[Diagnostic, ...]:
    """All warnings that apply, the gravest first, with `faults` that were found elsewhere."""
    found = [*_improper(costs), *faults, *_few(n, k)]
    if totals is not None:
        for check in (
            _few_users, _step_number, _spikes, _repeats, _users_differ, _unknown_at_the_end,
        ):  # fmt: skip
            found += check(totals)
    return tuple(found)


def _improper(costs: Costs) -> Iterator[Diagnostic]:
    for state, d in ((0, costs.d0), (1, costs.d1)):
        if d.value < 0.0:
            yield Diagnostic(
                "improper",
                f"a wrong item after a {state} costs less than 0: D({state}) = {bracketed(d)}",
                "a success there shortens the visit by more than it is worth, so that always "
                "showing the best-liked arm is not best (Lemma 1 of the paper fails); look first "
                "at what counts as a reward and as leaving",
            )


def odds_ratio(n: Array, k: Array) -> float:
    """Mantel-Haenszel odds ratio of leaving, first column against second, over the rows.

    >>> odds_ratio(np.array([[100.0, 100.0]]), np.array([[20.0, 10.0]]))
    2.25
    """
    total = n.sum(axis=1)
    stay = n - k
    rows = total > 0
    above = (k[:, 0] * stay[:, 1])[rows] / total[rows]
    below = (k[:, 1] * stay[:, 0])[rows] / total[rows]
    return float(above.sum() / below.sum()) if below.sum() > 0.0 else float("inf")


def _few(n: Array, k: Array) -> Iterator[Diagnostic]:
    small = [
        f"{cell}: {int(a)} of {int(b)}"
        for cell, a, b in zip(CELLS[2:], k[2:], n[2:], strict=True)
        if b < FEW_STEPS or a < FEW_LEFT or b - a < FEW_LEFT
    ]
    if small:
        yield Diagnostic(
            "few steps",
            "few departures or steps after some pairs of rewards (departures of steps after "
            f"{', '.join(small)})",
            "intervals that rest on these are rough, those of the costs of mistakes included",
        )


def _few_users(totals: Totals) -> Iterator[Diagnostic]:
    if totals.users < FEW_USERS:
        yield Diagnostic(
            "few users",
            f"there are only {totals.users} users",
            "intervals rest on how users differ, and so few do not show it",
        )


def gains(totals: Totals, first: bool = True) -> dict[str, float]:
    """Log-likelihood of held-out users over a constant chance to leave, in nats per 1,000 steps.

    By "rewards" (the cells) and by "step" (classes of the step number); of all steps, or without
    the `first` of each visit.
    """
    counts = totals.steps[:, :, : 3 if first else 2, :2, :2].astype(float)
    edges = np.searchsorted(STEP_BINS, np.arange(1, counts.shape[1] + 1))
    by_class = np.stack([counts[:, edges == e].sum(axis=1) for e in range(len(STEP_BINS) + 1)], 1)
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
        better = log_likelihood(q, steps, left) - log_likelihood(level, steps, left)
        found[name] = 1000.0 * better / float(test.sum())
    return found


def log_likelihood(q: Array, n: Array, left: Array) -> float:
    """Of `left` departures in `n` steps with chance q, up to what does not depend on q."""
    q = np.clip(q, 1e-12, 1.0 - 1e-12)
    return float((left * np.log(q) + (n - left) * np.log1p(-q)).sum())


def _step_number(totals: Totals) -> Iterator[Diagnostic]:
    gain = gains(totals)
    if gain["step"] > gain["rewards"] and gain["step"] > 0.1:
        n, k = totals.hazard
        q = [f"{k[i] / n[i]:.3g} at step {i + 1}" for i in (0, 1, 9) if n[i] > 0]
        step, rewards = (100.0 * expm1(gain[x] / 1000.0) for x in ("step", "rewards"))
        yield Diagnostic(
            "step number",
            "the number of the step tells better who leaves than rewards do (it makes what "
            f"held-out users did {step:.2g} % likelier per step, rewards {rewards:.2g} %; the "
            f"chance to leave is {', '.join(q)})",
            "people leave by habit or by kind more than by how the visit goes, and there is little "
            "to gain from looking at the last reward",
        )


def _spikes(totals: Totals) -> Iterator[Diagnostic]:
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
            found.append((times, i + 1, k[i] / visits))
    if found:
        parts = [
            f"{share:.0%} after {length} steps "
            f"({f'{times:.1f} times its' if np.isfinite(times) else 'none at'} neighbours)"
            for times, length, share in sorted(found, reverse=True)[:3]
        ]
        yield Diagnostic(
            "spikes",
            f"visits end at certain lengths: {', '.join(parts)}",
            "a quota or the end of a lesson ends visits there, not the user; mark them as censored",
        )


def repeat_correlation(totals: Totals) -> tuple[float, float]:
    """Correlation of consecutive rewards of the same arm within a visit, and its error if none."""
    pairs = totals.arms.pairs.reshape(-1, 2, 2)
    m = totals.arms.shares[:, None, None]
    r = np.array([0.0, 1.0])
    product = (pairs * (r[:, None] - m) * (r[None, :] - m)).sum()
    spread = (pairs * (m * (1.0 - m))).sum()
    count = pairs.sum()
    return (float(product / spread), float(1.0 / np.sqrt(count))) if spread > 0 else (0.0, 1.0)


def _repeats(totals: Totals) -> Iterator[Diagnostic]:
    correlation, error = repeat_correlation(totals)
    if correlation > max(REPEAT, 4.0 * error):
        yield Diagnostic(
            "repeating rewards",
            f"rewards of the same arm repeat within a visit (correlation {correlation:.2f} in "
            f"{totals.arms.pairs.sum():,.0f} pairs, 0 if users and items of an arm were alike)",
            "users or items differ inside an arm, so part of what looks like the effect of the "
            "last reward on leaving is who the user is",
        )


def dispersion(totals: Totals) -> float:
    """Variance of users' successes over what it would be if every pull had its arm's mean."""
    s, e, v, one = (USER_SUMS.index(x) for x in ("successes", "expected", "spread", "one"))
    p = totals.products
    squares = p[s, s] - 2.0 * p[s, e] + p[e, e]
    return float(squares / p[v, one]) if p[v, one] > 0 else 1.0


def _users_differ(totals: Totals) -> Iterator[Diagnostic]:
    ratio = dispersion(totals)
    if ratio > DISPERSION:
        yield Diagnostic(
            "users differ",
            f"users' successes vary {ratio:,.3g} times as much as if users were alike",
            "intervals allow for it; a policy that takes all users for alike learns more slowly "
            "than in a simulation of such users",
        )


def _unknown_at_the_end(totals: Totals) -> Iterator[Diagnostic]:
    unknown = totals.steps[..., 2, :].sum(axis=(0, 1, 2)).astype(float)
    every = totals.steps.sum(axis=(0, 1, 2, 3)).astype(float)
    if unknown.sum() == 0:
        return
    last, before = unknown[1] / max(every[1], 1.0), unknown[0] / max(every[0], 1.0)
    if unknown[1] >= FEW_LEFT and last > 2.0 * before:
        yield Diagnostic(
            "unknown at the end",
            f"{last:.1%} of departures have no known reward, of other steps {before:.1%}",
            "outcomes are lost when people leave, which hides departures after some rewards: "
            "the leave probabilities here are too low",
        )

"""Where a log does not look like the model: warnings with numbers, and what they mean."""

from collections.abc import Iterator
from dataclasses import dataclass

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

AT_DEPARTURE = 3.0
LASTING = 0.25
"""An odds ratio of leaving by the current reward from which it is suspicious that the last reward
has less than a quarter of the effect, on the scale of logarithms."""


SPOILS = ("recorded at departure", "single users")
"""Warnings with which no case stands."""


@dataclass(frozen=True)
class Doubt:
    """One warning: a name, what was seen, in numbers, and what it means for the decision."""

    name: str
    seen: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.seen}: {self.meaning}"


def doubts(n: Array, k: Array, costs: Costs, totals: Totals | None) -> tuple[Doubt, ...]:
    """All warnings that apply, the gravest first."""
    found = [*_improper(costs), *_recorded_at_departure(n, k), *_few(n, k)]
    if totals is not None:
        for check in (
            _few_users, _step_number, _spikes, _repeats, _users_differ, _unknown_at_the_end,
        ):  # fmt: skip
            found += check(totals)
    return tuple(found)


def _improper(costs: Costs) -> Iterator[Doubt]:
    for state, d in ((0, costs.d0), (1, costs.d1)):
        if d.value < 0.0:
            yield Doubt(
                "improper",
                f"D({state}) = {bracketed(d)}",
                f"in state {state} a success shortens the visit by more than it is worth, so that "
                "always showing the best arm is not optimal (Lemma 1 fails) and every policy here "
                "aims at the wrong target; look first at what counts as a reward and as leaving",
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


def _recorded_at_departure(n: Array, k: Array) -> Iterator[Doubt]:
    """A disappointment that drives people away should still be felt a step later."""
    steps, left = n[2:].reshape(2, 2), k[2:].reshape(2, 2)
    now = odds_ratio(steps, left)
    before = odds_ratio(steps.T, left.T)
    if now >= AT_DEPARTURE and before < now**LASTING:
        share = (left[:, 0].sum() + k[0]) / (left.sum() + k[:2].sum())
        yield Doubt(
            "recorded at departure",
            f"reward 0 multiplies the odds of leaving by {now:.3g}, but after a 0 one step earlier "
            f"they are {before:.3g} times as high, and {share:.0%} of departures have reward 0",
            "a 0 may be the result of leaving (an item left unfinished), not its reason; then q of "
            "reward 0 is too high and the case cannot be read off this log",
        )


def _few(n: Array, k: Array) -> Iterator[Doubt]:
    small = [
        f"{cell}: {int(a)} of {int(b)}"
        for cell, a, b in zip(CELLS[2:], k[2:], n[2:], strict=True)
        if b < FEW_STEPS or a < FEW_LEFT or b - a < FEW_LEFT
    ]
    if small:
        yield Doubt(
            "few steps",
            f"few departures or steps in some cells ({', '.join(small)})",
            "intervals that rest on these cells are rough, those of the mistake costs included",
        )


def _few_users(totals: Totals) -> Iterator[Doubt]:
    if totals.users < FEW_USERS:
        yield Doubt(
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


def _step_number(totals: Totals) -> Iterator[Doubt]:
    gain = gains(totals)
    if gain["step"] > gain["rewards"] and gain["step"] > 0.1:
        n, k = totals.hazard
        q = [f"{k[i] / n[i]:.3g} at step {i + 1}" for i in (0, 1, 9) if n[i] > 0]
        yield Doubt(
            "step number",
            f"the step number predicts leaving better than rewards do ({gain['step']:.3g} against "
            f"{gain['rewards']:.3g} nats per 1,000 steps of held-out users; {', '.join(q)})",
            "people leave by habit or by kind more than by how the visit goes; the gain of "
            "state-aware exploration is at most what rewards explain",
        )


def _spikes(totals: Totals) -> Iterator[Doubt]:
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
            found.append((k[i] / expected, i + 1, k[i] / visits))
    if found:
        parts = [
            f"{share:.0%} after {length} steps ({times:.1f} times its neighbours)"
            for times, length, share in sorted(found, reverse=True)[:3]
        ]
        yield Doubt(
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


def _repeats(totals: Totals) -> Iterator[Doubt]:
    correlation, error = repeat_correlation(totals)
    if correlation > max(REPEAT, 4.0 * error):
        yield Doubt(
            "repeating rewards",
            f"rewards of the same arm repeat within a visit (correlation {correlation:.2f}, "
            f"0 in the model; {totals.arms.pairs.sum():,.0f} pairs)",
            "users or items differ inside an arm, so part of what looks like the effect of the "
            "last reward on leaving is who the user is",
        )


def dispersion(totals: Totals) -> float:
    """Variance of users' successes over what it would be if every pull had its arm's mean."""
    s, e, v, one = (USER_SUMS.index(x) for x in ("successes", "expected", "spread", "one"))
    p = totals.products
    squares = p[s, s] - 2.0 * p[s, e] + p[e, e]
    return float(squares / p[v, one]) if p[v, one] > 0 else 1.0


def _users_differ(totals: Totals) -> Iterator[Doubt]:
    ratio = dispersion(totals)
    if ratio > DISPERSION:
        yield Doubt(
            "users differ",
            f"users' successes vary {ratio:,.3g} times as much as if users were alike",
            "intervals here allow for it (they are clustered by user), simulations of the fitted "
            "problem do not: expect a real policy to learn more slowly",
        )


def _unknown_at_the_end(totals: Totals) -> Iterator[Doubt]:
    unknown = totals.steps[..., 2, :].sum(axis=(0, 1, 2)).astype(float)
    every = totals.steps.sum(axis=(0, 1, 2, 3)).astype(float)
    if unknown.sum() == 0:
        return
    last, before = unknown[1] / max(every[1], 1.0), unknown[0] / max(every[0], 1.0)
    if unknown[1] >= FEW_LEFT and last > 2.0 * before:
        yield Doubt(
            "unknown at the end",
            f"{last:.1%} of departures have no known reward, of other steps {before:.1%}",
            "outcomes are lost when people leave, which hides departures after some rewards: "
            "the leave probabilities here are too low",
        )

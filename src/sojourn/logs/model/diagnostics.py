"""Where a log does not look like the model: one table of diagnostics.

A row of `CHECKS` has the name of a diagnostic, how it is detected, what it says, and what does not
stand with it. A new diagnostic is a new row.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import expm1
from typing import Any

import numpy as np

from ...stats.intervals import Interval
from ...stats.moments import Array
from .costs import Costs, bracketed
from .detection import COSTS, by_propensity, confounding, groups, influence, reverse_causation
from .sample import Sample
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
AT_DEPARTURE = 2.0
"""An odds ratio of leaving by the reward from which it matters which of them came first."""

LASTING = 0.25
"""If the last reward has less than this share of the current one's effect, on the scale of
logarithms, a 0 looks like the trace of leaving."""

SURE, NATS = 1.645, 2.0
"""One explanation is better than the other by so many standard errors, and so much in all."""

NUMBERS = {
    COSTS: "the cost of a mistake after a 0, over that after a 1,",
    "first 0": "the chance to leave at the first step, with reward 0,",
    "first 1": "the chance to leave at the first step, with reward 1,",
    "00": "the chance to leave after two rewards of 0",
    "01": "the chance to leave after a 0 and then a 1",
    "10": "the chance to leave after a 1 and then a 0",
    "11": "the chance to leave after two rewards of 1",
}

CASES = {
    "normal": "a mistake costs more after a 0 than after a 1",
    "opposite": "a mistake costs less after a 0 than after a 1",
    "undecided": "a mistake may cost more after a 0 or after a 1",
    "improper": "always the best arm is not best",
}

SHOWN = 3
"""Arms whose weighted means a warning lists."""

CASE, FORECAST = "case", "forecast"


@dataclass(frozen=True)
class Diagnostic:
    """One warning: a name, what was seen, in numbers, and what it means for the decision.

    A `note` says what cannot be known, and is no alarm. `spoils` names what does not stand with it:
    the `CASE`, or any `FORECAST` of what a change would do.

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


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a log; of published totals only what cells say.

    `n` and `k` are steps and departures by cell, `best` is the arm of greatest mean.
    """

    n: Array
    k: Array
    best: int
    costs: Costs
    leave: dict[str, Interval]
    totals: Totals | None = None
    sample: Sample | None = None


Found = Iterator[Mapping[str, Any]]


@dataclass(frozen=True)
class Check:
    """A kind of diagnostic.

    `detect` yields, for each time that it applies, the values of the placeholders in both
    sentences; "spoils" among them overrules that of the row. It is called with the `Facts`, or with
    what it `needs` of them, if that is known.
    """

    name: str
    needs: str
    detect: Callable[[Any], Found]
    seen: str
    meaning: str
    note: bool = False
    spoils: str = ""

    def __call__(self, facts: Facts) -> Iterator[Diagnostic]:
        known = getattr(facts, self.needs) if self.needs else facts
        for found in self.detect(known) if known is not None else ():
            said = (self.seen.format_map(found), self.meaning.format_map(found))
            yield Diagnostic(self.name, *said, self.note, found.get("spoils", self.spoils))


def diagnostics(facts: Facts) -> tuple[Diagnostic, ...]:
    """All that apply, the gravest first."""
    return tuple(diagnostic for check in CHECKS for diagnostic in check(facts))


def _improper(facts: Facts) -> Found:
    for state, d in ((0, facts.costs.d0), (1, facts.costs.d1)):
        if d.value < 0.0:
            yield {"state": state, "cost": bracketed(d)}


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


def _odds(facts: Facts) -> tuple[float, float]:
    """The odds ratios of leaving by the reward now, and by the one before."""
    steps, left = facts.n[2:].reshape(2, 2), facts.k[2:].reshape(2, 2)
    return odds_ratio(steps, left), odds_ratio(steps.T, left.T)


def _reverse_causation(facts: Facts) -> Found:
    now, _ = _odds(facts)
    if now < AT_DEPARTURE or facts.sample is None:
        return
    told = reverse_causation(facts.sample)
    if told.better > max(SURE * told.error, NATS):
        yield {"now": now, "share": told.share}


def _possible_reverse_causation(facts: Facts) -> Found:
    now, before = _odds(facts)
    if now < AT_DEPARTURE or before >= now**LASTING:
        return
    told = None if facts.sample is None else reverse_causation(facts.sample)
    if told is None or -SURE * told.error < told.better <= max(SURE * told.error, NATS):
        yield {"now": now, "before": before}


def _few_decide(facts: Facts) -> Found:
    sample, costs = facts.sample, facts.costs
    found = None if sample is None else influence(sample, facts.best, costs.ratio, facts.leave)
    if sample is None or found is None:
        return
    names = found.users if sample.ids is None else sample.ids[found.users]
    old = costs.ratio if found.what == COSTS else facts.leave[found.what]
    assert old is not None
    rest = ""
    if found.rest is not None and found.rest.ratio is not None:
        rest = f"; among the others {CASES[found.rest.case]} ({bracketed(found.rest.ratio)} times)"
    yield {
        "few": len(names),
        "users": sample.users,
        "names": ", ".join(str(name) for name in names),
        "steps": found.steps,
        "what": f"{NUMBERS[found.what]} is {found.without:.3g}, not {old.value:.3g}",
        "rest": rest,
        "spoils": CASE if found.rest is None or found.rest.case != costs.case else "",
    }


def _confounding(sample: Sample) -> Found:
    found = confounding(sample)
    if found is None:
        return
    weighted = by_propensity(sample)
    instead = "the values of visits by arm are adjusted for users, compare these"
    if weighted is not None:
        ranked = np.argsort(-np.nan_to_num(weighted, nan=-1.0))[:SHOWN]
        listed = ", ".join(f"{sample.names[i]} {weighted[i]:.3f}" for i in ranked)
        instead = (
            "weighted by the log's propensities, as if everybody had been shown the same, they are "
            f"{listed}{' ...' if sample.arms > SHOWN else ''}"
        )
    yield {
        "arm": sample.names[found.arm],
        "after_0": found.after_0,
        "after_1": found.after_1,
        "how": "less" if found.liked.value > 0 else "more",
        "by": abs(found.liked.value),
        "instead": instead,
    }


def _apart(sample: Sample) -> Found:
    found = groups(sample)
    if len(found) > 1:
        names = (", ".join(sample.names[i] for i in group[:SHOWN]) for group in found[:2])
        yield {"groups": len(found), "named": " and ".join(names)}


def _few_steps(facts: Facts) -> Found:
    small = [
        f"{cell}: {int(a)} of {int(b)}"
        for cell, a, b in zip(CELLS[2:], facts.k[2:], facts.n[2:], strict=True)
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
            found.append((times, i + 1, k[i] / visits))
    if found:
        parts = [
            f"{share:.0%} after {length} steps "
            f"({f'{times:.1f} times its' if np.isfinite(times) else 'none at'} neighbours)"
            for times, length, share in sorted(found, reverse=True)[:3]
        ]
        yield {"lengths": ", ".join(parts)}


def repeat_correlation(totals: Totals) -> tuple[float, float]:
    """Correlation of consecutive rewards of the same arm within a visit, and its error if none."""
    pairs = totals.arms.pairs.reshape(-1, 2, 2)
    m = totals.arms.shares[:, None, None]
    r = np.array([0.0, 1.0])
    product = (pairs * (r[:, None] - m) * (r[None, :] - m)).sum()
    spread = (pairs * (m * (1.0 - m))).sum()
    count = pairs.sum()
    return (float(product / spread), float(1.0 / np.sqrt(count))) if spread > 0 else (0.0, 1.0)


def _repeats(totals: Totals) -> Found:
    correlation, error = repeat_correlation(totals)
    if correlation > max(REPEAT, 4.0 * error):
        yield {"correlation": correlation, "pairs": totals.arms.pairs.sum()}


def dispersion(totals: Totals) -> float:
    """Variance of users' successes over what it would be if every pull had its arm's mean."""
    s, e, v, one = (USER_SUMS.index(x) for x in ("successes", "expected", "spread", "one"))
    p = totals.products
    squares = p[s, s] - 2.0 * p[s, e] + p[e, e]
    return float(squares / p[v, one]) if p[v, one] > 0 else 1.0


def _users_differ(totals: Totals) -> Found:
    ratio = dispersion(totals)
    if ratio > DISPERSION:
        yield {"ratio": ratio}


def _unknown_at_the_end(totals: Totals) -> Found:
    unknown = totals.steps[..., 2, :].sum(axis=(0, 1, 2)).astype(float)
    every = totals.steps.sum(axis=(0, 1, 2, 3)).astype(float)
    last, before = (unknown[end] / max(every[end], 1.0) for end in (1, 0))
    if unknown[1] >= FEW_LEFT and last > 2.0 * before:
        yield {"last": last, "before": before}


CHECKS: tuple[Check, ...] = (
    Check(
        "improper", "", _improper,
        "a wrong item after a {state} costs less than 0: D({state}) = {cost}",
        "a success there shortens the visit by more than it is worth, so that always showing the "
        "best-liked arm is not best (Lemma 1 of the paper fails); look first at what counts as a "
        "reward and as leaving",
    ),
    Check(
        "reverse causation", "", _reverse_causation,
        "with a reward of 0 the odds of leaving are {now:.3g} times as high, and most so for arms "
        "that are liked otherwise",
        "a 0 is written down because people leave (an item left unfinished) in about {share:.0%} "
        "of departures, rather than being why they leave: when a mistake is cheap cannot be read "
        "off this log; what a visit of an item is worth can, because that does not depend on which "
        "of the two came first",
        spoils=CASE,
    ),
    Check(
        "possible reverse causation", "", _possible_reverse_causation,
        "with a reward of 0 the odds of leaving are {now:.3g} times as high, a step later "
        "{before:.3g} times",
        "whether people leave because of a 0, or a 0 is written down because they leave, cannot be "
        "told apart in this log",
        note=True,
    ),
    Check(
        "few users decide", "", _few_decide,
        "{few} of {users:,} users ({names}) make {steps:.0%} of the steps, and without them "
        "{what}{rest}",
        "see whether they are people (not robots or testers), and leave them out otherwise",
    ),
    Check(
        "confounding", "sample", _confounding,
        "after a 0 the recommender shows other arms ({arm} in {after_0:.0%} of the steps, after a "
        "1 in {after_1:.0%}), and then the same arms are liked {how} often (by {by:.2g})",
        "means of arms are those of different users or moods and cannot be compared as they are; "
        "{instead}",
    ),
    Check(
        "arms apart", "sample", _apart,
        "arms fall into {groups} groups, and hardly a visit is shown more than one of them (for "
        "instance {named})",
        "what differs between groups may be the people who are shown them, and nothing in the log "
        "says what they would make of the others: decide within a group, or try it on a few visits",
        spoils=FORECAST,
    ),
    Check(
        "few steps", "", _few_steps,
        "few departures or steps after some pairs of rewards (departures of steps after {cells})",
        "intervals that rest on these are rough, those of the costs of mistakes included",
    ),
    Check(
        "few users", "totals", _few_users,
        "there are only {users} users",
        "intervals rest on how users differ, and so few do not show it",
    ),
    Check(
        "step number", "totals", _step_number,
        "the number of the step tells better who leaves than rewards do (it makes what held-out "
        "users did {step:.2g} % likelier per step, rewards {rewards:.2g} %; the chance to leave is "
        "{rates})",
        "users leave by habit or type more than by how the visit goes, and there is little to gain "
        "from looking at the last reward",
    ),
    Check(
        "spikes", "totals", _spikes,
        "visits end at certain lengths: {lengths}",
        "a quota or the end of a lesson ends visits there, not the user; mark them as censored",
    ),
    Check(
        "repeating rewards", "totals", _repeats,
        "rewards of the same arm repeat within a visit (correlation {correlation:.2f} in "
        "{pairs:,.0f} pairs, 0 if users and items of an arm were alike)",
        "users or items differ inside an arm, so part of what looks like the effect of the last "
        "reward on leaving is who the user is",
    ),
    Check(
        "users differ", "totals", _users_differ,
        "users' successes vary {ratio:,.3g} times as much as if users were alike",
        "intervals allow for it; a policy that takes all users for alike learns more slowly than "
        "in a simulation of such users",
    ),
    Check(
        "unknown at the end", "totals", _unknown_at_the_end,
        "{last:.1%} of departures have no known reward, of other steps {before:.1%}",
        "outcomes are lost when people leave, which hides departures after some rewards: the leave "
        "probabilities here are too low",
    ),
)  # fmt: skip
"""The kinds of diagnostics, the gravest first."""

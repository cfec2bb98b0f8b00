"""Warnings that need the steps one by one: traces of leaving, single users, selection."""

from collections.abc import Iterator

import numpy as np

from ...stats.intervals import Interval
from ...stats.moments import Array
from .diagnosis import Costs, bracketed
from .doubts import ADVICE, CASE, Diagnostic, odds_ratio
from .influence import COSTS, influence
from .sample import Sample
from .selection import by_propensity, groups, selection
from .stories import stories

AT_DEPARTURE = 2.0
"""An odds ratio of leaving by the reward from which it matters which of them came first."""

LASTING = 0.25
"""If the last reward has less than this share of the current one's effect, on the scale of
logarithms, a 0 looks like the trace of leaving."""

SURE, NATS = 1.645, 2.0
"""One story is better than another by so many standard errors, and so much in all."""

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


def faults(
    sample: Sample | None, n: Array, k: Array, best: int, costs: Costs, leave: dict[str, Interval]
) -> tuple[Diagnostic, ...]:
    """All that apply; of published totals only what cells alone say."""
    found = [*recorded_at_departure(n, k, sample)]
    if sample is not None:
        found += [*_few_decide(sample, best, costs, leave), *_selection(sample), *_apart(sample)]
    return tuple(found)


def recorded_at_departure(n: Array, k: Array, sample: Sample | None) -> Iterator[Diagnostic]:
    """Whether a 0 drives people away, or is what is written down as they leave."""
    steps, left = n[2:].reshape(2, 2), k[2:].reshape(2, 2)
    now, before = odds_ratio(steps, left), odds_ratio(steps.T, left.T)
    if now < AT_DEPARTURE:
        return
    told = None if sample is None else stories(sample)
    if told is not None and told.better > max(SURE * told.error, NATS):
        yield Diagnostic(
            "recorded at departure",
            f"with a reward of 0 the odds of leaving are {now:.3g} times as high, and most so for "
            "arms that are liked otherwise",
            f"a 0 is written down because people leave (an item left unfinished) in about "
            f"{told.share:.0%} of departures, rather than being why they leave: when a mistake is "
            "cheap cannot be read off this log; what a visit of an item is worth can, because that "
            "does not depend on which of the two came first",
            spoils=CASE,
        )
    elif before < now**LASTING and (told is None or told.better > -SURE * told.error):
        yield Diagnostic(
            "cannot be told apart",
            f"with a reward of 0 the odds of leaving are {now:.3g} times as high, a step later "
            f"{before:.3g} times",
            "whether a 0 drives people away, or is written down because they leave, cannot be told "
            "apart in this log",
            note=True,
        )


def _few_decide(
    sample: Sample, best: int, costs: Costs, leave: dict[str, Interval]
) -> Iterator[Diagnostic]:
    found = influence(sample, best, costs.ratio, leave)
    if found is None:
        return
    names = found.users if sample.ids is None else sample.ids[found.users]
    old = costs.ratio if found.what == COSTS else leave[found.what]
    assert old is not None
    what = f"{NUMBERS[found.what]} is {found.without:.3g}, not {old.value:.3g}"
    rest = ""
    if found.rest is not None and found.rest.ratio is not None:
        rest = f"; among the others {CASES[found.rest.case]} ({bracketed(found.rest.ratio)} times)"
    yield Diagnostic(
        "few users decide",
        f"{len(names)} of {sample.users:,} users ({', '.join(str(name) for name in names)}) make "
        f"{found.steps:.0%} of the steps, and without them {what}{rest}",
        "see whether they are people (not robots or testers), and leave them out otherwise",
        spoils=CASE if found.rest is None or found.rest.case != costs.case else "",
    )


def _selection(sample: Sample) -> Iterator[Diagnostic]:
    found = selection(sample)
    if found is None:
        return
    weighted = by_propensity(sample)
    instead = "the values of visits by arm hold people equal, compare these"
    if weighted is not None:
        ranked = np.argsort(-np.nan_to_num(weighted, nan=-1.0))[:SHOWN]
        listed = ", ".join(f"{sample.names[i]} {weighted[i]:.3f}" for i in ranked)
        instead = (
            "weighted by the log's propensities, as if everybody had been shown the same, they are "
            f"{listed}{' ...' if sample.arms > SHOWN else ''}"
        )
    less = found.liked.value
    yield Diagnostic(
        "selection",
        f"after a 0 the recommender shows other arms ({sample.names[found.arm]} in "
        f"{found.after_0:.0%} of the steps, after a 1 in {found.after_1:.0%}), and then the same "
        f"arms are liked {'less' if less > 0 else 'more'} often (by {abs(less):.2g})",
        "means of arms are those of different people or moods and cannot be compared as they are; "
        + instead,
    )


def _apart(sample: Sample) -> Iterator[Diagnostic]:
    found = groups(sample)
    if len(found) < 2:
        return
    named = " and ".join(", ".join(sample.names[i] for i in group[:SHOWN]) for group in found[:2])
    yield Diagnostic(
        "arms apart",
        f"arms fall into {len(found)} groups, and hardly a visit is shown more than one of them "
        f"(for instance {named})",
        "what differs between groups may be the people who are shown them, and nothing in the log "
        "says what they would make of the others: decide within a group, or try it on a few visits",
        spoils=ADVICE,
    )

"""Shadow mode: what a policy would have shown where the caller's own recommender decides.

Where both choose the same arm, the result is known; with the recommender's propensities, that
estimates what the policy would earn at its next choice (`stats.matching`). Whether they are right
is checked for each arm that the policy would show, in each state.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from ... import validation
from ...engine.steps import level_of
from ...show.tables import Table
from ...stats.intervals import FIRST, PLANNED, Interval
from ...stats.matching import Matching, Steps, by_cell, calibrated
from ..errors import Conflict
from ..exporting import ExportRow, lines
from ..records import DECIDE, OPEN, late_in
from ..rollout.comparison import brief
from ..stores.base import Store, one_of_its_own, plain_settings
from .drift import state_words

LATEST = 100_000
"""Events that a report uses, some 40,000 steps: a policy that learns changes over time."""

KNOWN = 0.9  # share of steps with propensities from which on their weights are believed
RARE, OFTEN = 0.01, 0.05
"""An arm that the recommender shows this rarely, and the policy would this often."""
MOST_PAIRS = 1_000
WIDEST = 8  # arms in the printed table

READY, NOT_YET, CANNOT_TELL = "ready to ramp", "not yet", "cannot tell"

MEASURES = {
    "reward": "reward of the next item",
    "left": "the next item is the last",
    "gain": "rewards per departure",
}


@dataclass(frozen=True)
class Pair:
    """The steps at which the recommender showed one arm and the policy would have shown another."""

    shown: str
    shadow_arm: str
    steps: int


@dataclass(frozen=True)
class Weighed:
    """One measure: of the logged recommender, of the policy by weights, and the difference."""

    logged: Interval
    shadow: Interval
    difference: Interval


@dataclass(frozen=True)
class Weight:
    """The mean weight of the steps in a state at which the policy would have shown an arm.

    It is 1 if propensities are right. The interval is unbounded until the steps that match are
    worth 50 users; all of them hold together with probability 1 - alpha.
    """

    arm: str
    state: str
    steps: int
    mean: Interval

    def __str__(self) -> str:
        return f"{self.arm}, {self.state}"

    @property
    def checked(self) -> bool:
        return self.mean.high < inf

    @property
    def wrong(self) -> bool:
        return not self.mean.low <= 1.0 <= self.mean.high


@dataclass(frozen=True)
class Shadow:
    """What a policy would have shown, beside what was shown; see `shadow`.

    `match` is the share of steps at which both are the same. `measures` are about the next item, in
    the states that the recommender brings about, by the steps that have propensities (`weighed`):
    its reward, whether the visit ends after it, and the ratio of both. They are empty without
    propensities. `effective` is how many users the weighted steps are worth. The mean `weight` is 1
    if propensities are right and the recommender shows everything that the policy would, and so are
    those of each arm in each state, `weights`. `limits` says what that check cannot see.
    """

    experiment: str
    policy: str
    at: float
    alpha: float
    margin: float
    steps: int
    users: int
    matched: int
    match: Interval
    weighed: int
    effective: float
    weight: Interval
    weights: tuple[Weight, ...]
    """The one furthest off first."""
    measures: dict[str, Weighed]
    pairs: tuple[Pair, ...]
    """The most frequent ones first."""
    tried: tuple[str, ...]
    """Arms that the policy would often show and the recommender hardly ever does."""
    verdict: str
    reason: str
    limits: str

    def __str__(self) -> str:
        if not self.steps:
            return f"{self.verdict.capitalize()}: {self.reason}."
        match = brief(self.match, ".3g")
        parts = [
            f"{self.experiment}: what {self.policy} would have shown at {self.steps:,} steps of "
            f"{self.users:,} users",
            self._matrix().text(),
            f"It agrees with yours at {match} of the steps.",
        ]
        if self.measures:
            parts.append(self._table().text())
            parts.append(
                f"By {self.weighed:,} steps with propensities; those that match are worth "
                f"{self.effective:,.0f} users.\nThese are about the next item, in the "
                "states that your recommender leads to, and not about whole visits."
            )
        parts += [
            f"It would often show {arm}, which yours hardly ever does: perhaps to explore it. "
            "Live, it would soon learn about it; a shadow policy never does."
            for arm in self.tried
        ]
        parts.append(f"{self.verdict.capitalize()}: {self.reason}.")
        parts += [f"{self.limits}."] if self.limits else []
        return "\n\n".join(parts)

    def _table(self) -> Table:
        rows = [
            [
                MEASURES[name],
                *(brief(mean, ".3g") for mean in (one.logged, one.shadow)),
                brief(one.difference, "+.3g"),
            ]
            for name, one in self.measures.items()
        ]
        return Table(["", "yours", "it would", "difference"], rows, left=range(4))

    def _matrix(self) -> Table:
        """Steps by the arm shown and the arm the policy would have shown."""
        often: Counter[str] = Counter()
        for pair in self.pairs:
            often.update({pair.shown: pair.steps, pair.shadow_arm: pair.steps})
        arms = [arm for arm, _ in often.most_common(WIDEST)]
        found = {(pair.shown, pair.shadow_arm): pair.steps for pair in self.pairs}
        rows = [[arm, *(f"{found.get((arm, would), 0):,}" for would in arms)] for arm in arms]
        return Table([r"shown \ would", *arms], rows, left=(0,))


def shadow(
    store: Store,
    experiment: str,
    *,
    alpha: float = 0.05,
    planned: float = PLANNED,
    margin: float = 0.05,
    latest: int = LATEST,
) -> Shadow:
    """What the policy of an external experiment would have shown, and what it would have earned.

    It uses the `latest` events, this many. The policy is ready to ramp if its rewards per departure
    are below those of the recommender by no more than the share `margin`. Each interval holds at
    all times with probability 1 - alpha while all events are among the `latest`. Errors are
    clustered by user; there are no intervals before the weighted steps are worth 50 users.

    >>> from sojourn.policies import FixedArm
    >>> from sojourn.live import Ask, Experiment, Logged
    >>> more = {"external": True, "compiled": False}
    >>> with Experiment("feed", ["a", "b"], FixedArm(0), **more) as feed:
    ...     for n in range(4):
    ...         visit = feed.visit(user=f"u{n}")
    ...         made, ended = visit.decide(Ask(logged=Logged("a", 0.5))), visit.end(1)
    ...     print(shadow(feed.journal.store, "feed").reason)
    too few matched steps: with their weights they are worth 4 users, and 50 are needed
    """
    alpha = validation.number("alpha", alpha, 0, 1, open_ends=True)
    planned = validation.number("planned", planned, 1, inf)
    margin = validation.number("margin", margin, 0, 1)
    latest = validation.whole("latest", latest, 1)
    stored = one_of_its_own(store, experiment)
    settings = plain_settings(stored.settings)  # of which the policy may be one of the caller's own
    if not settings.get("external"):
        raise Conflict(f"experiment {experiment!r} is not external: its own policy decides")
    events = store.events(experiment, last=latest)
    begun = {event.visit for event in events if event.kind == OPEN}
    whole = [event for event in events if event.visit in begun]
    rows = [row for row in lines(whole, stored.arms, late_in(whole)) if row.shadow_arm is not None]
    words = state_words(settings)
    at = {(e.visit, e.step): e.state or 0.0 for e in whole if e.kind == DECIDE}
    bins = [level_of(at[row.visit, row.step], len(words)) for row in rows]
    keys = [(str(row.shadow_arm), words[b]) for row, b in zip(rows, bins, strict=True)]
    most = len(stored.arms) * len(words)
    found, weight, weights = evaluated(_steps(rows), keys, most, alpha, planned)
    pairs = Counter((row.arm, str(row.shadow_arm)) for row in rows)
    measures, match = _measures(found), found.of("match")
    verdict, reason = judged(found, weight, weights, margin)
    return Shadow(
        experiment=experiment,
        policy=settings["policy"]["name"],
        at=store.ping(),
        alpha=alpha,
        margin=margin,
        steps=len(rows),
        users=found.users,
        matched=int(found.total.same),
        match=Interval(match.value, max(match.low, 0.0), min(match.high, 1.0)),
        weighed=int(found.total.weighed),
        effective=found.effective,
        weight=weight,
        weights=weights[:MOST_PAIRS],
        measures=measures,
        pairs=tuple(Pair(*pair, n) for pair, n in pairs.most_common(MOST_PAIRS)),
        tried=tuple(_tried(pairs)),
        verdict=verdict,
        reason=reason,
        limits=_limits(weights) if measures else "",
    )


def _steps(rows: Sequence[ExportRow]) -> Steps:
    users: dict[str, int] = {}
    table = [
        (
            users.setdefault(row.user, len(users)), row.arm == row.shadow_arm,
            nan if row.propensity is None else row.propensity, row.reward,
            nan if row.censored else row.left,
        )
        for row in rows
    ]  # fmt: skip
    return Steps(*np.array(table, dtype=float).reshape(-1, len(Steps._fields)).T)


def evaluated(
    steps: Steps, keys: Sequence[tuple[str, str]], most: int, alpha: float, planned: float = PLANNED
) -> tuple[Matching, Interval, tuple[Weight, ...]]:
    """What the steps tell, the mean weight of all of them, and that of each arm and state.

    These are the `keys` of the steps, of which there are at `most` so many. Their intervals hold
    together with probability 1 - alpha.
    """
    names = sorted(set(keys))
    numbers = {name: number for number, name in enumerate(names)}
    cell = np.array([numbers[key] for key in keys], dtype=np.int64)
    how = alpha / (most + 1), planned
    cells = by_cell(steps, cell, *how)
    weights = [
        Weight(*names[each], int(part.total.weighed), part.of("weight"))
        for each, part in cells.items()
        if part.total.weighed
    ]
    weights.sort(key=lambda one: -one.steps * abs(one.mean.value - 1.0))
    found = Matching(calibrated(steps, cell, cells), alpha, planned)
    return found, Matching(steps, *how).of("weight"), tuple(weights)


def _limits(weights: Sequence[Weight]) -> str:
    """What the check of weights cannot see."""
    said = "Not detected: choices by what is not logged, if weights still average 1 in each state"
    checked = [one for one in weights if one.checked]
    if checked:
        widest = max(checked, key=lambda one: one.mean.high - one.mean.low)
        wide = (widest.mean.high - widest.mean.low) / 2.0
        said += f"; weights that are off by less than {wide:.0%} ({widest})"
    if len(checked) < len(weights):
        share = 1.0 - sum(one.steps for one in checked) / sum(one.steps for one in weights)
        said += f"; any fault in the {share:.0%} of steps whose arm and state have few matches"
    return said


def _measures(found: Matching) -> dict[str, Weighed]:
    """All measures; empty without propensities."""
    if not found.total.weighed:
        return {}
    return {
        name: Weighed(found.of(name), found.of(f"would {name}"), found.of(f"would {name}", name))
        for name in MEASURES
    }


def _tried(pairs: Counter[tuple[str, str]]) -> Iterator[str]:
    shown, would = Counter[str](), Counter[str]()
    for (one, other), n in pairs.items():
        shown[one] += n
        would[other] += n
    steps = pairs.total()
    for arm, n in would.most_common():
        if n >= OFTEN * steps and shown[arm] <= RARE * steps:
            yield arm


def judged(
    found: Matching, weight: Interval, weights: Sequence[Weight], margin: float
) -> tuple[str, str]:
    """Whether to go live with the policy, and why."""
    steps, known = found.total.steps, found.total.weighed
    if not steps:
        return NOT_YET, "no step says what the policy would have shown"
    if known < KNOWN * steps:
        return CANNOT_TELL, (
            f"{known:,.0f} of {steps:,.0f} steps have a propensity; log the probability with "
            "which yours shows its arm (logged.propensity), or ramp 1 % with a guardrail"
        )
    if found.effective < FIRST:
        return NOT_YET, (
            f"too few matched steps: with their weights they are worth {found.effective:,.0f} "
            f"users, and {FIRST:.0f} are needed"
        )
    for one in (*weights, Weight("all steps", f"most of all {weights[0]}", 0, weight)):
        if one.wrong:
            return CANNOT_TELL, (
                f"the weights have a mean of {brief(one.mean, '.3g')} where it should be 1 "
                f"({one}): the propensities are wrong there, or yours never shows that arm; ramp "
                "1 % with a guardrail and compare"
            )
    gain = _measures(found)["gain"]
    difference, least = gain.difference, -margin * gain.logged.value
    earns = (
        f"{gain.shadow.value:.3g} rewards per departure where yours earns {gain.logged.value:.3g}"
    )
    sure = f"{difference.low:+.3g} to {difference.high:+.3g}"
    if difference.low > least:
        return READY, f"by its next items it earns {earns} ({sure}); ramp with a guardrail"
    if difference.high < 0.0:
        return NOT_YET, f"by its next items it earns {earns} ({sure})"
    return NOT_YET, f"it may earn less by more than {margin:.0%}: {earns} ({sure})"

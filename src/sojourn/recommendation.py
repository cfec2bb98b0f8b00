"""Which policy to run on a problem, in words why, and what to expect of it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import theory, validation
from .policies import (
    IMED,
    KLUCB,
    KLULCB,
    ContKLULCB,
    DiscKLULCB,
    EmpiricalIMED,
    GatedIMED,
    LearnedEmpiricalIMED,
    LearnedIMED,
    Policy,
    PricedIndex,
    VisitIMED,
)
from .policy_names import policy_of
from .problem import Problem
from .problem_files import problem_of
from .show.plain import plain
from .show.tables import Part, Shown, Table
from .simulation import PrecisionWarning, Progress, Result, simulate
from .simulation.tables import policy_data
from .stats.intervals import Interval
from .stats.moments import Array
from .theory.gaps import outside

BASELINE, PLAIN = KLUCB().label, IMED().label
"""The policy that gains are measured against, and the one that treats all states alike."""

OUTSIDE: dict[str, list[Callable[[Problem], Policy]]] = {
    "graded": [EmpiricalIMED.for_problem, LearnedEmpiricalIMED.for_problem, VisitIMED.for_problem],
    "by arm": [VisitIMED.for_problem],
    "improper": [partial(VisitIMED.for_problem, follow_improper=True)],
}
"""Others that need no such knowledge, by the case outside the paper that they are for."""

CAVEATS = {
    PricedIndex().label: "That is on average: rare runs lose the best arm for long, and one in a "
    "thousand is up to eight times as bad as with Learned IMED."
}
"""Caveats about a policy beside its mean regret (docs/horizon.md), by the start of its label."""

SURE = "you are certain of the problem"
"""The ground to recommend a policy that has to know the problem or its case."""

IMPROPER = (
    "in some state the best arm is not the one to play, because people stay longer after a failure "
    "there: a policy that looks for the highest mean loses something at every visit; ask whether "
    "the reward measures what people come for"
)


@dataclass(frozen=True)
class Recommendation(Shown):
    """A policy for a problem, with the reason and what it is expected to gain.

    `over_incumbent` is the gain over `incumbent`, the current recommender, if that was given;
    `rewards` is what the latter earns. `policy` is `incumbent` where that is to be kept.

    >>> advice = recommend("B", visits=200, precision="20%")
    >>> advice.name, advice.case, advice.gain.low > 0
    ('Priced index', 'normal', True)
    """

    policy: Policy
    reason: str
    case: str
    visits: int
    gain: Interval  # over KL-UCB, in rewards over all visits
    regrets: Mapping[str, Interval]  # of every candidate, by label, with 95 % intervals
    runs: int
    incumbent: Policy | None = None
    over_incumbent: Interval | None = None
    rewards: float | None = None

    @property
    def keeps(self) -> bool:
        """Whether the current recommender is to be kept."""
        return self.incumbent is not None and self.policy == self.incumbent

    @property
    def name(self) -> str:
        return self.policy.label

    @property
    def gain_share(self) -> float:
        """The gain as a share of KL-UCB's regret."""
        return self.gain.value / self.regrets[BASELINE].value

    def _parts(self) -> Sequence[Part]:
        rows = [
            [f"{'*' if label == self.name else ' '} {label}", str(regret)]
            for label, regret in self.regrets.items()
        ]
        table = Table(["  regret", f"95 % interval, {self.runs:,} runs"], rows, left=(0, 1))
        return [
            f"{'Keep' if self.keeps else 'Run'} {self.name}.",
            *self._over_incumbent(),
            f"Expected gain over {BASELINE} in {self.visits:,} visits: {self.gain} rewards, "
            f"{self.gain_share:.0%} of its regret.",
            f"Why: {self.reason}",
            "",
            table,
            "",
            f"In Python: {self.policy!r}",
        ]

    def _over_incumbent(self) -> Sequence[str]:
        """The headline, if there is something to compare with."""
        if self.incumbent is None or self.keeps:
            return []
        assert self.over_incumbent is not None
        assert self.rewards is not None
        share = self.over_incumbent.value / self.rewards
        return [
            f"Expected gain over the current recommender ({self.incumbent.label}) in "
            f"{self.visits:,} visits: {self.over_incumbent} rewards, "
            f"{self.over_incumbent.value / self.visits:+.3g} per visit ({share:+.1%})."
        ]

    def to_dict(self) -> dict[str, Any]:
        policy = policy_data(self.policy, self.name)
        gain = {**asdict(self.gain), "share": self.gain_share}
        incumbent = self.incumbent and policy_data(self.incumbent, self.incumbent.label)
        return dict(plain({**vars(self), "policy": policy, "gain": gain, "incumbent": incumbent}))


def candidates(problem: Problem) -> dict[str, Policy]:
    """The candidates by label: KL-UCB, those that need no knowledge, the gated ones of the case.

    >>> list(candidates(problem_of("opposite")))
    ['KL-UCB', 'IMED', 'Learned IMED', 'Priced index', 'KL-ULCB, opposite', 'Gated IMED, opposite']
    """
    always = [KLUCB(), *without_knowledge(problem)]
    gates: list[Any] = [KLULCB(), GatedIMED()]
    if problem.user.space.states is None:
        gates = [DiscKLULCB(), ContKLULCB(), *gates]
    by_case = {"normal": gates, "opposite": [gate.opposite() for gate in gates]}
    return {policy.label: policy for policy in always + by_case.get(theory.case(problem), [])}


def without_knowledge(problem: Problem) -> list[Policy]:
    """The candidates that need to know only what a reward is; the usual one comes second."""
    usual = [IMED.for_problem, LearnedIMED.for_problem, PricedIndex.for_problem]
    return [make(problem) for make in (*usual, *OUTSIDE.get(theory.case(problem), []))]


def recommend(
    problem: Problem | str | Path,
    *,
    visits: int = 20_000,
    incumbent: Policy | str | None = None,
    certain: bool = False,
    precision: float | str = "5%",
    max_runs: int = 4_096,
    seed: int = 0,
    workers: int | None = None,
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Recommendation:
    """The policy to run on this problem, found by simulating the candidates on it.

    Each is simulated until the 95 % half-width of its regret is at most `precision`, with at most
    `max_runs` runs. It recommends learned optimism, which needs no knowledge of the problem, or
    another policy that needs none if its mean regret is significantly less here: the priced index
    (the reason then says what its rare runs cost), IMED, or where the paper does not apply Visit
    IMED or one for graded rewards (docs/beyond.md shows where each is good). If you are `certain`
    of the problem, it is any candidate significantly better than these.

    `incumbent` is the current recommender: then the gain over it comes first, and it is to be kept
    unless the policy is significantly better. A recommender that never learns is `Uniform`,
    `FixedArm` or `Rule`. Without it, gains are over KL-UCB, the usual choice.

    >>> advice = recommend("B", visits=200, precision="20%")
    >>> type(advice.policy).__name__, advice.case
    ('PricedIndex', 'normal')
    >>> advice = recommend("B", incumbent="Uniform", visits=200, precision="20%")
    >>> type(advice.policy).__name__, advice.over_incumbent.low > 100
    ('PricedIndex', True)
    """
    problem = problem_of(problem)
    validation.flag("certain", certain)
    if incumbent is not None:
        incumbent = policy_of(incumbent, problem)
    case, tried = theory.case(problem), candidates(problem)
    names = list(tried)
    if incumbent is not None:
        tried.setdefault(incumbent.label, incumbent)
    if case == "improper":
        warnings.warn(IMPROPER, theory.AssumptionWarning, stacklevel=2)
    with warnings.catch_warnings():
        # The case and the intervals say it.
        for category in (theory.AssumptionWarning, PrecisionWarning):
            warnings.simplefilter("ignore", category)
        result = simulate(
            problem, list(tried.values()), visits=visits, precision=precision, max_runs=max_runs,
            seed=seed, workers=workers, store=store, progress=progress, checkpoints=[visits],
        )  # fmt: skip
    plain, usual, *others = (policy.label for policy in without_knowledge(problem))
    labels = list(tried)
    less = {name: _differences(result, labels.index(name)) for name in (usual, plain, *others)}
    chosen, why = choose(names, less, SURE if certain else None)
    regrets = dict(zip(labels, map(_interval, *result.regret), strict=True))
    over_incumbent = rewards = None
    if incumbent is not None:
        now = labels.index(incumbent.label)
        over_incumbent = _positive(_differences(result, now)[labels.index(chosen)])
        rewards = problem.value() * visits - regrets[incumbent.label].value
        if chosen == incumbent.label:
            why = f"{why[:-1]}; it is the current recommender."
        elif over_incumbent.low <= 0.0:
            why = (
                f"{chosen} is not shown to earn more than the current recommender: "
                f"{over_incumbent} rewards over all visits."
            )
            chosen = incumbent.label
    return Recommendation(
        policy=tried[chosen],
        reason=f"{_in_words(problem, case)} {why}",
        case=case,
        visits=visits,
        gain=_positive(_differences(result, labels.index(BASELINE))[labels.index(chosen)]),
        regrets=regrets,
        runs=max(result.runs),
        incumbent=incumbent,
        over_incumbent=over_incumbent,
        rewards=rewards,
    )


def choose(
    names: Sequence[str], less: Mapping[str, Sequence[Interval]], ground: str | None
) -> tuple[str, str]:
    """The policy, and why; `less[x]` is the regret of each less that of x.

    It has those x that need no knowledge of the problem; the first is taken unless another is
    significantly better. With no `ground` to trust the problem, policies that need to know it are
    only mentioned.
    """
    safe = usual = next(iter(less))
    for other in less:
        if less[safe][names.index(other)].high < 0.0:
            safe = other
    best = min(range(len(names)), key=lambda p: less[safe][p].value)
    gain = _positive(less[safe][best])
    because = {
        usual: f"{usual} finds out by itself where mistakes are cheap",
        PLAIN: f"{PLAIN}, which treats all states alike, is better here than {usual}",
    }.get(safe, f"{safe} is the best of those that need no knowledge of the problem")
    caveat = next((f" {text}" for title, text in CAVEATS.items() if safe.startswith(title)), "")
    if gain.low <= 0.0:
        return safe, f"{because}, and no candidate is significantly better.{caveat}"
    if ground is not None:
        return names[best], f"{names[best]} is better than {safe} by {gain} rewards, and {ground}."
    return safe, (
        f"{because}. {names[best]} would be better by {gain} rewards if the problem is just as "
        f"described; {safe} needs no such knowledge.{caveat}"
    )


def _positive(less: Interval) -> Interval:
    return Interval(-less.value, -less.high, -less.low)


def _in_words(problem: Problem, case: str) -> str:
    if case == "improper":
        return f"Beware: {IMPROPER}."
    if case == "neutral":
        return "A mistake costs the same in every state."
    if case == "mixed":
        return "A mistake costs most neither in the best state nor in the worst one."
    if why := outside(problem):
        what = why.capitalize()
        if problem.best_arm_is_optimal:
            return f"{what}, and the arm of highest mean is best in every state all the same."
        return (
            f"{what}, and in some state the arm of highest mean is not the one to play: a policy "
            "that looks for the highest mean loses something at every visit."
        )
    at_0, at_1 = problem.mistake_cost(0), problem.mistake_cost(1)
    ratio, where = (at_0 / at_1, "worst") if case == "normal" else (at_1 / at_0, "best")
    much = f"{ratio:.3g} times as much"
    return f"A mistake costs {much} in the {where} state as in the other extreme."


def _differences(result: Result, base: int) -> list[Interval]:
    """Regret of every policy less that of one, run by run."""
    others = [p for p in range(len(result.policies)) if p != base]
    found = {p: _interval(*result.difference(p, base)) for p in others}
    return [found.get(p, Interval.exact(0.0)) for p in range(len(result.policies))]


def _interval(mean: Array, std_error: Array) -> Interval:
    """At the last checkpoint."""
    return Interval.from_error(float(mean[-1]), float(std_error[-1]))

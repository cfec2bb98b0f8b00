"""Which policy to run on a problem, in words why, and what to expect of it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import theory, validation
from .policies import (
    DEFAULT,
    IMED,
    KLUCB,
    KLULCB,
    ContKLULCB,
    DiscKLULCB,
    EmpiricalIMED,
    GatedIMED,
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
from .simulation.tables import labels, policy_data
from .stats.effects import holm
from .stats.intervals import Z95, Interval
from .stats.moments import Array
from .theory.gaps import outside

BASELINE = KLUCB().label
"""The policy that gains are measured against."""

ALWAYS: Sequence[type[Policy]] = (DEFAULT, KLUCB, IMED, LearnedIMED, PricedIndex)
"""Candidates that need to know only what a reward is; the first is the default."""

OUTSIDE: dict[str, Callable[[Problem], Policy]] = {
    "graded": EmpiricalIMED.for_problem,
    "by arm": VisitIMED.for_problem,
    "improper": partial(DEFAULT.for_problem, follow_improper=True),
}
"""One more, by the case outside the paper that it is for."""

TAIL, BEYOND = 0.999, 4
"""The quantile of regret that is shown, and the runs that have to lie beyond it."""

IMPROPER = (
    "in some state the best arm is not the one to play, because people stay longer after a failure "
    "there: a policy that looks for the highest mean loses something at every visit; ask whether "
    "the reward measures what people come for"
)


@dataclass(frozen=True)
class Recommendation(Shown):
    """A policy for a problem, with the reason and what it is expected to gain.

    `regrets` and `tails` rank all candidates by mean regret: those of `tied` do not differ
    significantly from the policy in the mean. `over_incumbent` is the gain over `incumbent`, the
    current recommender, if that was given; `rewards` is what the latter earns. `policy` is
    `incumbent` where that is to be kept.
    """

    policy: Policy
    name: str
    reason: str
    case: str
    visits: int
    gain: Interval  # over KL-UCB, in rewards over all visits
    regrets: Mapping[str, Interval]  # by label, with 95 % intervals
    tails: Mapping[str, float]  # the regret that a share `tail` of the runs does not exceed
    tail: float
    tied: Sequence[str]
    runs: int  # of every candidate, at least
    incumbent: Policy | None = None
    over_incumbent: Interval | None = None
    rewards: float | None = None

    @property
    def keeps(self) -> bool:
        """Whether the current recommender is to be kept."""
        return self.incumbent is not None and self.policy == self.incumbent

    @property
    def gain_share(self) -> float:
        """The gain as a share of KL-UCB's regret."""
        return self.gain.value / self.regrets[BASELINE].value

    def _parts(self) -> Sequence[Part]:
        rows = [
            [
                f"{'*' if label == self.name else ' '} {label}",
                str(regret),
                f"{self.tails[label]:,.0f}",
                "tied" if label in self.tied else "",
            ]
            for label, regret in self.regrets.items()
        ]
        headings = ["  policy", "mean regret", f"{100 * self.tail:.3g} % quantile", ""]
        return [
            f"{'Keep' if self.keeps else 'Run'} {self.name}.",
            *self._over_incumbent(),
            f"Expected gain over {BASELINE} in {self.visits:,} visits: {self.gain} rewards, "
            f"{self.gain_share:.0%} of its regret.",
            f"Why: {self.reason}",
            "",
            Table(headings, rows, left=(0, 1, 3)),
            "",
            f"{self.runs:,} runs or more of each policy; means with 95 % intervals; tied: no "
            f"significant difference of the means from {self.name} (Holm)",
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


def candidates(problem: Problem) -> tuple[list[Policy], list[Policy]]:
    """Those that need no knowledge of the problem, the default first; gated ones of its case."""
    case = theory.case(problem)
    always = [kind.for_problem(problem) for kind in ALWAYS]
    if case in OUTSIDE:
        always.append(OUTSIDE[case](problem))
    gates: list[Any] = [KLULCB(), GatedIMED()]
    if problem.user.space.states is None:
        gates = [DiscKLULCB(), ContKLULCB(), *gates]
    by_case = {"normal": gates, "opposite": [gate.opposite() for gate in gates]}
    return always, by_case.get(case, [])


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
    `max_runs` runs. It recommends the default policy unless another one that needs no knowledge of
    the problem has significantly less mean regret here, and no greater quantile of rare bad runs.
    If you are `certain` of the problem, that may be any candidate. The quantile is that of 99.9 %
    if there are 4,000 runs, which a `precision` of "1%" takes; else that of as large a share as has
    four runs beyond it.

    `incumbent` is the current recommender: then the gain over it comes first, and it is to be kept
    unless the policy is significantly better. A recommender that never learns is `Uniform`,
    `FixedArm` or `Rule`. Without it, gains are over KL-UCB, the usual choice.

    >>> advice = recommend("B", incumbent="Uniform", visits=200, precision="20%")
    >>> advice.name, advice.case, advice.over_incumbent.low > 100
    ('Engagement index', 'normal', True)
    """
    problem = problem_of(problem)
    validation.flag("certain", certain)
    case, (safe, gates) = theory.case(problem), candidates(problem)
    tried = [*safe, *gates]
    if incumbent is not None:
        incumbent = policy_of(incumbent, problem)
        tried += [incumbent] if incumbent not in tried else []
    if case == "improper":
        warnings.warn(IMPROPER, theory.AssumptionWarning, stacklevel=2)
    with warnings.catch_warnings():
        # The case and the intervals say it.
        for category in (theory.AssumptionWarning, PrecisionWarning):
            warnings.simplefilter("ignore", category)
        result = simulate(
            problem, tried, visits=visits, precision=precision, max_runs=max_runs,
            seed=seed, workers=workers, store=store, progress=progress, checkpoints=[visits],
        )  # fmt: skip
    names, tail = labels(tried, problem), min(TAIL, 1.0 - BEYOND / min(result.runs))
    tails = dict(zip(names, result.quantile(tail).tolist(), strict=True))
    regrets = dict(zip(names, map(_interval, *result.regret), strict=True))
    able = names[: len(safe) + len(gates)]
    less = dict(zip(able, _differences(result, 0), strict=False))
    chosen, why = choose(less, tails, able if certain else able[: len(safe)])
    over_incumbent = rewards = None
    if incumbent is not None:
        now = tried.index(incumbent)
        over_incumbent = _positive(_differences(result, now)[names.index(chosen)])
        rewards = problem.value() * visits - regrets[names[now]].value
        if chosen == names[now]:
            why = f"{why[:-1]}; it is the current recommender."
        elif over_incumbent.low <= 0.0:
            why = (
                f"{chosen} is not shown to earn more than the current recommender: "
                f"{over_incumbent} rewards over all visits."
            )
            chosen = names[now]
    at, ranking = names.index(chosen), sorted(names, key=lambda name: regrets[name].value)
    beyond = dict(zip(names, _differences(result, at), strict=True))
    return Recommendation(
        policy=tried[at],
        name=chosen,
        reason=f"{_in_words(problem, case)} {why}",
        case=case,
        visits=visits,
        gain=_positive(_differences(result, names.index(BASELINE))[at]),
        regrets={name: regrets[name] for name in ranking},
        tails={name: tails[name] for name in ranking},
        tail=tail,
        tied=[name for name in ranking if name != chosen and name not in differing(beyond)],
        runs=min(result.runs),
        incumbent=incumbent,
        over_incumbent=over_incumbent,
        rewards=rewards,
    )


def choose(
    less: Mapping[str, Interval], tails: Mapping[str, float], able: Sequence[str]
) -> tuple[str, str]:
    """The policy, and why; `less` has the regret of each candidate less that of the default.

    The default comes first. Another one of those `able` is taken if its regret is significantly
    less and its tail no worse.
    """
    usual = next(iter(less))
    better = sorted(
        (n for n in differing(less) if less[n].value < 0.0), key=lambda n: less[n].value
    )
    if not better:
        return usual, f"{usual} is the default, and no candidate is significantly better."
    for name in better:
        if name in able and tails[name] <= tails[usual]:
            gain = _positive(less[name])
            more = f"{name} gains {gain} rewards more than {usual}"
            return name, f"{more}, and its rare bad runs are no worse."
    best, gain = better[0], _positive(less[better[0]])
    if best not in able:
        return usual, (
            f"{best} would be better than {usual} by {gain} rewards if the problem is just as "
            f"described; {usual} needs no such knowledge."
        )
    return usual, f"{best} gains {gain} rewards more than {usual}, but its rare bad runs are worse."


def differing(less: Mapping[str, Interval]) -> list[str]:
    """Those whose difference is significant, with all of them tested at once."""
    errors = {n: max((each.high - each.low) / (2.0 * Z95), 1e-300) for n, each in less.items()}
    compared = [name for name in less if less[name].value]
    scores = np.array([less[name].value / errors[name] for name in compared])
    return [name for name, found in zip(compared, holm(scores), strict=True) if found]


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

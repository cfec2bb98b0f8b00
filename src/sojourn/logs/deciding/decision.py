"""What to run after a fit, and what to expect of it, with all that the log leaves open."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import checks, theory
from ...policies import IMED, KLUCB, KLULCB, LearnedIMED, Policy
from ...problem import Problem
from ...recommendation import AGREED, BASELINE, IMPROPER, PLAIN, SAFE, choose, played
from ...stats.intervals import Interval
from ..fitting.model import Fit
from .draws import draw_problems
from .outcomes import BLIND, Outcome, Seen

DRAWS, RUNS = 32, 8
MOST_STEPS = 1_000_000
"""A run is cut to visits of about so many steps: regret grows with their logarithm, so that what
comes later changes little."""

GATES: dict[str, tuple[str, Policy]] = {
    "normal": ("KL-ULCB", KLULCB()),
    "opposite": ("KL-ULCB, opposite", KLULCB().opposite()),
}
"""By case, what has to be told the case."""

MEND = (
    "Run none of these policies before the reward is mended: {improper}. See what counts as a "
    "reward and as leaving, and fit again."
)


@dataclass(frozen=True)
class Decision:
    """The policy to run, why, and what every candidate is expected to do. Made by `decide`.

    `cases` counts the draws by their case. `policy` and `name` are None, and there are no
    outcomes, if nothing should be run. `print` shows a table.
    """

    policy: Policy | None
    name: str | None
    reason: str
    case: str
    cases: Mapping[str, int]
    outcomes: tuple[Outcome, ...]
    visits: int
    asked: int
    arms: int
    draws: int
    runs: int
    seed: int
    model: str

    @property
    def chosen(self) -> Outcome | None:
        """What the recommended policy is expected to do."""
        return next((o for o in self.outcomes if o.name == self.name), None)

    @property
    def verdict(self) -> str:
        """The decision in a sentence or two."""
        if (chosen := self.chosen) is None:
            return self.reason
        base = next(o for o in self.outcomes if o.name == BASELINE)
        share = chosen.gain.value / base.reward.value
        return (
            f"Run {chosen.name}. Expect {_signed(chosen.gain)} rewards a visit over {BASELINE} "
            f"({share:+.2%}) and visits longer by {_signed(chosen.longer)} steps, over "
            f"{self.visits:,} visits. {self.state_pays}"
        )

    @property
    def state_pays(self) -> str:
        """Whether to look at the state pays, by the policies that do."""
        pairs = [(o, o.aware) for o in self.outcomes if o.aware is not None]
        parts = ", ".join(f"{_signed(a)} for {o.name} over {BLIND[o.name]}" for o, a in pairs)
        sure = [a for _, a in pairs if a.low > 0.0]
        lead = "pays" if len(sure) == len(pairs) else "may pay" if sure else "is not shown to pay"
        return f"To look at the state {lead}: {parts} (rewards a visit)."

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        plain: dict[str, Any] = {
            key: getattr(self, key)
            for key in ("name", "reason", "verdict", "case", "visits", "asked", "arms", "draws",
                        "runs", "seed", "model")
        }  # fmt: skip
        plain["cases"] = dict(self.cases)
        plain["outcomes"] = [
            {
                "policy": {
                    "name": o.policy.name,
                    "label": o.name,
                    "parameters": o.policy.parameters,
                },
                **{
                    key: None if value is None else value._asdict()
                    for key, value in o.intervals.items()
                },
            }
            for o in self.outcomes
        ]
        return plain

    def __str__(self) -> str:
        from ..reporting.decision import text

        return text(self)


def decide(
    fit: Fit,
    visits: int | None = None,
    arms: int | None = None,
    *,
    draws: int = DRAWS,
    runs: int = RUNS,
    seed: int = 0,
    model: str = "two-state",
    progress: Callable[[float], None] | None = None,
) -> Decision:
    """What to run on what the log describes, by simulating candidates on draws around the fit.

    `visits` and `arms` are how many there will be, by default those of the log. KL-UCB, IMED,
    learned optimism and KL-ULCB in the fit's case (in those of the draws, if undecided) play `runs`
    runs on each of `draws` problems that the log does not rule out (`draw_problems`). Intervals are
    where 95 % of the draws are, without the chance in the few runs of each; they take the model
    for true. `progress` is called with the share done.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> decision = decide(fit, visits=40, draws=4, runs=4)
    >>> dict(decision.cases), [o.name for o in decision.outcomes]
    ({'opposite': 4}, ['KL-UCB', 'IMED', 'Learned IMED', 'KL-ULCB, opposite'])
    """
    if not isinstance(fit, Fit):
        raise ValueError(f"fit = {fit!r} is not allowed: it must be a Fit")
    if visits is None and fit.visits == 0:
        raise ValueError("visits = None is not allowed: these totals do not say how many visits")
    asked = checks.whole("visits", fit.visits if visits is None else visits, 1)
    draws, runs = checks.whole("draws", draws, 4, 100_000), checks.whole("runs", runs, 2, 1_000_000)
    problems = draw_problems(fit, draws, seed=seed, model=model, arms=arms)
    cases = Counter(theory.case(problem) for problem in problems)
    mend = fit.case == "improper"
    tried = {} if mend else _candidates(fit.case, cases)
    seen = Seen(list(tried), min(asked, _most_visits(problems)), [], [], [], [], [])
    if mend:
        name: str | None = None
        reason = MEND.format(improper=IMPROPER.partition(":")[0])
    else:
        _play(seen, problems, list(tried.values()), runs, seed, progress)
        name, why = choose(seen.names, {n: seen.less(n) for n in (SAFE, PLAIN)}, AGREED)
        reason = f"{_cases_in_words(cases)} {why}"
    return Decision(
        policy=None if name is None else tried[name],
        name=name,
        reason=reason,
        case=fit.case,
        cases=cases,
        outcomes=tuple(seen.outcome(n, policy) for n, policy in tried.items()),
        visits=seen.visits,
        asked=asked,
        arms=problems[0].arms,
        draws=draws,
        runs=runs,
        seed=seed,
        model=model,
    )


def _play(
    seen: Seen,
    problems: Sequence[Problem],
    policies: Sequence[Policy],
    runs: int,
    seed: int,
    progress: Callable[[float], None] | None,
) -> None:
    results = played(problems, policies, visits=seen.visits, runs=runs, seed=seed, stride=runs)
    for done, (problem, result) in enumerate(zip(problems, results, strict=True), 1):
        seen.add(problem, result)
        if progress is not None:
            progress(done / len(problems))


def _most_visits(problems: Sequence[Problem]) -> int:
    length = float(np.mean([problem.length.mean for problem in problems]))
    return max(1, int(MOST_STEPS / length))


def _candidates(case: str, cases: Mapping[str, int]) -> dict[str, Policy]:
    """With the gate of the case; if that is undecided, with those of all draws."""
    tried: dict[str, Policy] = {BASELINE: KLUCB(), PLAIN: IMED(), SAFE: LearnedIMED()}
    likely = {case} if case in GATES else set(cases)
    return tried | dict(gate for name, gate in GATES.items() if name in likely)


def _cases_in_words(cases: Mapping[str, int]) -> str:
    total = sum(cases.values())
    usual = max(cases, key=lambda case: cases[case])
    words = f"The case is {usual} in {cases[usual] / total:.0%} of the draws."
    if (improper := cases.get("improper", 0)) and usual != "improper":
        words += f" In {improper / total:.0%} the best arm is not the one to play in some state."
    return words


def _signed(interval: Interval) -> str:
    return f"{interval.value:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"

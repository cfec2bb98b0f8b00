"""`decide`: candidates simulated on problems that the log does not rule out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ... import checks, theory
from ...policies import IMED, KLUCB, KLULCB, LearnedIMED, Policy
from ...problem import Problem
from ...recommendation import AGREED, IMPROPER, choose, played
from ..fitting.model import Fit
from .advice import Advice
from .draws import draw_problems
from .outcomes import PlayedDraws

DRAWS, RUNS = 32, 8
MOST_STEPS = 1_000_000
"""A run is cut after about this many steps: regret grows with their logarithm, so later visits
change little."""

GATES = {"normal": KLULCB(), "opposite": KLULCB().opposite()}
"""By case, the policy that has to be told the case."""

FIX_FIRST = (
    "Run none of these policies before the reward is fixed: {improper}. Check what counts as a "
    "reward and as leaving, and fit again."
)


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
) -> Advice:
    """What to run on what the log describes, by simulating candidates on draws around the fit.

    `visits` and `arms` are how many there will be, by default those of the log. KL-UCB, IMED,
    learned optimism and KL-ULCB in the fit's case (in those of the draws, if undecided) play `runs`
    runs on each of `draws` problems that the log does not rule out (`draw_problems`). Intervals
    hold the central 95 % of the draws, with the simulation noise taken out; they assume that the
    model is right. `progress` is called with the share done.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> advice = decide(fit, visits=40, draws=4, runs=4)
    >>> dict(advice.cases), [o.name for o in advice.outcomes]
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
    tried = [] if fit.case == "improper" else _candidates(fit.case, cases)
    length = float(np.mean([problem.length.mean for problem in problems]))
    results = PlayedDraws(tried, min(asked, max(1, int(MOST_STEPS / length))))
    policy, reason = None, FIX_FIRST.format(improper=IMPROPER.partition(":")[0])
    if tried:
        _play(results, problems, runs, seed, progress)
        policy, why = _choose(results)
        reason = f"{_cases_in_words(cases)} {why}"
    return Advice(
        policy=policy,
        reason=reason,
        case=fit.case,
        cases=cases,
        outcomes=tuple(results.outcome(candidate) for candidate in tried),
        visits=results.visits,
        asked=asked,
        arms=problems[0].arms,
        draws=draws,
        runs=runs,
        seed=seed,
        model=model,
    )


def _candidates(case: str, cases: Mapping[str, int]) -> list[Policy]:
    """With the gate of the case; if that is undecided, with those of all draws."""
    likely = {case} if case in GATES else set(cases)
    gates = [gate for name, gate in GATES.items() if name in likely]
    return [KLUCB(), IMED(), LearnedIMED(), *gates]


def _play(
    results: PlayedDraws,
    problems: Sequence[Problem],
    runs: int,
    seed: int,
    progress: Callable[[float], None] | None,
) -> None:
    simulated = played(
        problems, results.policies, visits=results.visits, runs=runs, seed=seed, stride=runs
    )
    for done, (problem, result) in enumerate(zip(problems, simulated, strict=True), 1):
        results.add(problem, result)
        if progress is not None:
            progress(done / len(problems))


def _choose(results: PlayedDraws) -> tuple[Policy, str]:
    by_name = {policy.label: policy for policy in results.policies}
    less = {policy.label: results.less(policy) for policy in (LearnedIMED(), IMED())}
    name, why = choose(list(by_name), less, AGREED)
    return by_name[name], why


def _cases_in_words(cases: Mapping[str, int]) -> str:
    total = sum(cases.values())
    usual = max(cases, key=lambda case: cases[case])
    words = f"The case is {usual} in {cases[usual] / total:.0%} of the draws."
    if (improper := cases.get("improper", 0)) and usual != "improper":
        words += f" In {improper / total:.0%} the best arm is not the one to play in some state."
    return words

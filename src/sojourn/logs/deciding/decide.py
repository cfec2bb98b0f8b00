"""`decide`: candidates play in populations that the log allows, against the incumbent."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np

from ... import validation
from ...engine.steps import NEVER_BACK
from ...policies import DEFAULT, IMED, KLUCB, KLULCB, Policy
from ...simulation.backends import processors
from ...stats.moments import Array
from ...validation import InputError
from ..model.fitted import Fit
from .advice import Advice, advise
from .outcomes import Played, baseline
from .playing import Place, cut_off, draw_populations, fitted_population, play
from .worst_cases import KEEPS, worst_cases

DRAWS = 39
"""The least and greatest of this many runs are the ends of a 95 % interval; see `over_draws`."""

RUNS = (4, 16)
"""Runs in each worst case, least and most: together they have the steps of two long runs."""

STEPS = 60_000
"""A run has about this many steps, and fewer if there are more than `MANY` arms, with which the
time of a step grows. By then policies have learned most of what there is to learn."""
MANY, FEWEST = 16, 15_000

GATES = {"normal": KLULCB(), "opposite": KLULCB().opposite()}
"""The policy for each case of a fit."""

OTHER_RUNS = 1_000_000
"""Runs in worst cases are numbered from here on."""


def decide(
    fit: Fit,
    visits: int | None = None,
    *,
    draws: int = DRAWS,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Advice:
    """Recommend a policy for the users of a log, or to keep the current recommender.

    KL-UCB, IMED, the default policy and, if the log shows a case, KL-ULCB in that case play
    `visits` visits (by default as many as the log has), once in each of `draws` populations drawn
    around the fitted one (`draw_populations`), and `runs` times (by default 4 to 16, more if they
    are short) in `worst_cases` of it that the log allows. Gains are over the log's own recommender
    in the same population, in visits cut off as often as in the log. Of the policies that on
    average never lose to it (see `advise`) the default is recommended, or another one that gains
    significantly more; if there is none, the recommender is kept. Intervals are of one run: they
    hold 95 % of what runs gain. The answer does not depend on the number of `workers` (threads).
    `progress` is called with the share done.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> advice = decide(fit, visits=200)
    >>> advice.incumbent.name, [o.name for o in advice.outcomes][:3]
    ('every arm equally often', ['KL-UCB', 'IMED', 'Engagement index'])
    """
    if not isinstance(fit, Fit):
        raise InputError(f"fit = {fit!r} is not allowed: it must be a Fit")
    if visits is None and fit.visits == 0:
        raise InputError("visits = None is not allowed: these totals do not say how many visits")
    asked = validation.whole("visits", fit.visits if visits is None else visits, 1)
    draws = validation.whole("draws", draws, DRAWS, 100_000)
    if runs is not None:
        runs = validation.whole("runs", runs, 2, 1_000)
    workers = processors() if workers is None else validation.whole("workers", workers, 1)
    fitted = fitted_population(fit)
    population = cut_off(fitted, fit.totals)
    now = baseline(fit, population)
    drawn = [cut_off(c, fit.totals) for c in draw_populations(fit, draws, seed=seed)]
    others = {
        name: [cut_off(c, fit.totals) for c in populations]
        for name, populations in worst_cases(fit, fitted, now.rule).items()
    }
    most = int(max(STEPS * min(1.0, MANY / population.arms), FEWEST))
    # Steps of a visit: those of the recommender, or more if the best arm makes visits longer.
    rewards, lengths = population.worth_of_arms()
    length = max(now.model.length, float(lengths[np.argmax(rewards)]))
    simulated = min(asked, max(1, int(most / length)))
    runs = runs or int(np.clip(2.0 * most / (simulated * length), *RUNS))
    policies, people = candidates(fit.case), _people(fit, simulated)
    worlds = [(Place.of([c], now.rule, people), i, 1) for i, c in enumerate(drawn)]
    worlds += [
        (Place.of(populations, now.rule, people), OTHER_RUNS + i * runs, runs)
        for i, populations in enumerate(others.values())
    ]
    found = _play(worlds, policies, seed, simulated, 4 * most, workers, progress)
    worth = np.array([c.worth_under(now.rule) for c in drawn])
    lost = np.zeros(len(others))
    if KEEPS in others:  # there the recommender earns what its rule does not
        earned = others[KEEPS][0].worth_under(now.rule).reward
        lost[list(others).index(KEEPS)] = max(now.model.reward - earned, 0.0)
    played = Played(
        policies=policies,
        arms=[arm.name for arm in fit.arms],
        names=list(others),
        draws=np.concatenate(found[:draws]),
        worst_cases=np.array(found[draws:]),
        reward=worth[:, 0],
        length=worth[:, 1],
        lost=lost,
    )
    return advise(
        fit, now, played, visits=simulated, asked=asked, draws=draws, runs=runs, seed=seed
    )


def candidates(case: str) -> list[Policy]:
    """Policies that need no knowledge of the case, and the one that is made for this case."""
    gates = [GATES[case]] if case in GATES else []
    return [KLUCB(), IMED(), DEFAULT(), *gates]


def _people(fit: Fit, visits: int) -> int:
    """How many users make this many visits, if they come as often as those of the log.

    If some come more often, the effective number (Kish).
    """
    if fit.model is None:
        return NEVER_BACK
    own = fit.model.visits
    return max(1, round(float(visits * own.sum() / (own @ own))))


def _play(
    worlds: Sequence[tuple[Place, int, int]],
    policies: Sequence[Policy],
    seed: int,
    visits: int,
    most: int,
    workers: int,
    progress: Callable[[float], None] | None,
) -> list[Array]:
    """[run, policy, column] in every world, whatever the number of threads."""
    for policy in policies:  # compiled here, and not by several threads at once
        play(worlds[0][0], policy, seed, 0, visits, 0)
    jobs = [
        (place, policy, first + run)
        for place, first, runs in worlds
        for run, policy in product(range(runs), policies)
    ]
    pool, totals = ThreadPoolExecutor(workers, thread_name_prefix="sojourn"), list[Array]()
    try:
        for made in pool.map(lambda job: play(job[0], job[1], seed, job[2], visits, most), jobs):
            totals.append(made)
            if progress is not None:
                progress(len(totals) / len(jobs))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    rows = iter(totals)
    return [np.array([[next(rows) for _ in policies] for _ in range(n)]) for _, _, n in worlds]

"""Problems that studies share, in groups: constants, and priors for those drawn at random."""

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from sojourn.chain import occupancy
from sojourn.paper import SETTINGS
from sojourn.problem import Problem
from sojourn.simulation import Result
from sojourn.users import TwoState

from .crowds import Tastes, kinds, steps
from .worlds import CROSSING, SAME_ORDER, by_state, catalogue

Q = tuple[float, float, float, float]
"""q00, q01, q10, q11."""

PAPER = ("A", "B", "C", "D", "ema-1000", "ema-100", "ema-low")

OPPOSITE: dict[str, tuple[tuple[float, ...], Q]] = {
    "opposite": ((0.6, 0.5), (0.5, 0.4, 0.45, 0.02)),
    "disappointed": ((0.7, 0.6), (0.1, 0.1, 0.9, 0.02)),
    "disappointed, long visits": ((0.9, 0.8), (0.05, 0.05, 0.6, 0.02)),
    "disappointed, three arms": ((0.8, 0.7, 0.6), (0.2, 0.1, 0.9, 0.01)),
    "disappointed, low means": ((0.3, 0.2), (0.1, 0.1, 0.8, 0.05)),
}
"""Means and q. The first is the opposite instance of the settings; in the others people leave
when something good is followed by something bad."""

NEUTRAL: dict[str, tuple[tuple[float, ...], Q]] = {
    "neutral": ((0.6, 0.5, 0.4), (0.2, 0.2, 0.2, 0.2)),
    "nearly neutral, 1.06": ((0.6, 0.5, 0.4), (0.22, 0.2, 0.2, 0.2)),
    "nearly neutral, 0.94": ((0.6, 0.5, 0.4), (0.2, 0.2, 0.22, 0.2)),
    "nearly neutral, 1.14": ((0.6, 0.5, 0.4), (0.25, 0.1, 0.2, 0.1)),
    "nearly neutral, 0.89": ((0.6, 0.5, 0.4), (0.2, 0.1, 0.24, 0.1)),
    "nearly neutral, 1.18": ((0.9, 0.8), (0.3, 0.1, 0.25, 0.1)),
    "nearly neutral, 0.85": ((0.9, 0.8), (0.25, 0.1, 0.3, 0.1)),
}
"""Means and q; the number in a name is D(0) / D(1)."""

LOGS: dict[str, tuple[float, float, Q]] = {
    "OULAD": (0.8567, 0.5287, (0.1211, 0.0608, 0.0836, 0.0329)),
    "EdNet": (0.7867, 0.4421, (0.0936, 0.0725, 0.0780, 0.0707)),
    "MovieLens": (0.6262, 0.3312, (0.0425, 0.0442, 0.0448, 0.0378)),
    "RoboMission": (0.7941, 0.1777, (0.3468, 0.0789, 0.5387, 0.0631)),
    "ASSISTments 2017": (0.7849, 0.2441, (0.0380, 0.0210, 0.0346, 0.0274)),
    "EB-NeRD": (0.5968, 0.1766, (0.2355, 0.2356, 0.2794, 0.2191)),
}
"""Best and worst mean of the arms played often, and q, fitted to logs of real people: leave
frequencies by previous reward and reward from step 2 on, censored steps dropped. Sources:
OULAD (Kuzilek, Hlosta, Zdrahal 2017), EdNet KT1 (Choi et al. 2020), MovieLens latest-small (Harper
and Konstan 2015), RoboMission 2017 (Effenberger and Pelánek), ASSISTments 2017, EB-NeRD demo."""

ASSISTMENTS_2015 = (0.9046, 0.4810, (0.1330, 0.0169, 0.1064, 0.4361))
"""ASSISTments 2015, in the same form: here D(1) < 0."""

LOG_ARMS = 5
"""Arms of a fitted problem, evenly spread from the best mean to the worst."""

DIFFERENT = 6
"""Kinds of people of a crowd here."""


def fitted(best: float, worst: float, q: Q) -> Problem:
    """A problem with the numbers of a log."""
    return Problem(np.linspace(best, worst, LOG_ARMS).round(4).tolist(), TwoState(*q))


def scaled(q: Q, factors: tuple[float, ...]) -> list[Q]:
    """A row for each factor: q times it, at most 1."""
    return [tuple(min(1.0, f * x) for x in q) for f in factors]  # type: ignore[misc]


NORMAL_Q: Q = (0.5, 0.1, 0.1, 0.05)
OPPOSITE_Q: Q = (0.1, 0.1, 0.6, 0.02)
EVEN = (1 / DIFFERENT,) * DIFFERENT
IMPATIENCE = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Leave chances of six kinds of people, as multiples."""

EARLY_LEAVERS = (6.0, 4.0, 3.0, 2.0, 1.5, 1.0)
LATE_LEAVERS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Leave chances at the first six steps, as multiples; the last is for all later steps."""

MEANS = (0.8, 0.7, 0.6)
SHIFTED = tuple(
    tuple(mean + shift for mean in (0.65, 0.55, 0.45))
    for shift in (-0.25, -0.15, -0.05, 0.05, 0.15, 0.25)
)
"""Means of the arms; and of six kinds of people who like everything more or less."""


TASTES: Mapping[str, Tastes] = {
    name: Tastes(kinds(means, [q] * DIFFERENT, EVEN))
    for name, means, q in (
        ("rewards shift with the person", SHIFTED, NORMAL_Q),
        ("rewards shift, opposite case", SHIFTED, OPPOSITE_Q),
        ("tastes differ", ((0.8, 0.6, 0.5),) * 4 + ((0.4, 0.7, 0.5),) * 2, NORMAL_Q),
    )
}
PLAYS: Mapping[str, Callable[..., Result]] = {name: t.play for name, t in TASTES.items()}
"""Problems with personal rewards, and what simulates policies on them."""

VIOLATIONS: dict[str, Callable[[], Problem]] = {
    **{
        name: partial(Problem, MEANS, kinds([MEANS] * DIFFERENT, rows, EVEN))
        for name, rows in (
            ("people differ in q", scaled(NORMAL_Q, IMPATIENCE)),
            ("people differ in case", [NORMAL_Q] * 3 + [OPPOSITE_Q] * 3),
        )
    },
    **{
        name: partial(Problem, MEANS, steps(MEANS, scaled(q, multiples)))
        for name, q, multiples in (
            ("q falls with the step", (0.15, 0.05, 0.05, 0.03), EARLY_LEAVERS),
            ("q rises with the step", NORMAL_Q, LATE_LEAVERS),
        )
    },
    **{name: partial(getattr, tastes, "average") for name, tastes in TASTES.items()},
    "best arm is not optimal (ASSISTments 2015)": partial(fitted, *ASSISTMENTS_2015),
    "best arm is not optimal": partial(Problem, MEANS, TwoState(0.1, 0.05, 0.1, 0.6)),
}
"""What the model excludes: hidden kinds of people, time within the visit, personal rewards, and
D < 0 somewhere (Lemma 1 fails)."""

DRAWS = 200
MOST_ARMS = 50
LONGEST = 60.0
SHORTEST = 1.5
LEAST_Q = 0.01
EDGES = (0.02, 0.98)
LEAST_SPREAD = 0.1


@cache
def random_problems(draws: int = DRAWS, seed: int = 5) -> tuple[Problem, ...]:
    """Problems drawn from the prior that `templates/priors.md` states.

    >>> len(random_problems(3)), random_problems(3) == random_problems(3)
    (3, True)
    """
    rng, found = np.random.default_rng(seed), list[Problem]()
    while len(found) < draws:
        problem = draw_problem(rng, assumption_1=len(found) % 2 == 0)
        if problem.best_arm_is_optimal and SHORTEST <= problem.length.mean <= LONGEST:
            found.append(problem)
    return tuple(found)


def draw_problem(rng: np.random.Generator, assumption_1: bool) -> Problem:
    """One draw from the prior, before the conditions on visits and D."""
    arms = int(np.exp(rng.uniform(np.log(2), np.log(MOST_ARMS + 1))))
    low, high = 0.0, 0.0
    while high - low < LEAST_SPREAD:
        low, high = sorted(rng.uniform(*EDGES, 2))
    means = rng.uniform(low, high, arms)
    q = np.exp(rng.uniform(np.log(LEAST_Q), 0.0, 4))
    if assumption_1:
        q = np.sort(q)[::-1]
        if rng.random() < 0.5:
            q[1], q[2] = q[2], q[1]
    return Problem(means.tolist(), TwoState(*q.tolist()))


def drawn(draw: Callable[[], tuple[Problem, ...]], i: int) -> Problem:
    """One of the problems that this function draws."""
    return draw()[i]


def _two_state(means: tuple[float, ...], q: Q) -> Problem:
    return Problem(means, TwoState(*q))


BY_STATE: Mapping[str, Callable[[], Problem]] = {
    f"{name}, {case} case": partial(by_state, means, q)
    for name, means in (("same order", SAME_ORDER), ("another arm is best", CROSSING))
    for case, q in (("normal", NORMAL_Q), ("opposite", OPPOSITE_Q))
}
"""Rewards depend on the state, and the arms have the same order in both, or not."""

CATALOGUES: Mapping[str, Callable[[], Problem]] = {
    f"{arms} arms, Beta({one}, {other})": partial(catalogue, arms, one, other, 0)
    for arms in (50, 500)
    for one, other in ((2, 5), (1, 20), (8, 2))
}


PROBLEMS: dict[str, Mapping[str, Callable[[], Problem]]] = {
    "paper": {name: partial(SETTINGS.__getitem__, name) for name in PAPER},
    "opposite": {name: partial(_two_state, *row) for name, row in OPPOSITE.items()},
    "near-neutral": {name: partial(_two_state, *row) for name, row in NEUTRAL.items()},
    "logs": {name: partial(fitted, *row) for name, row in LOGS.items()},
    "violations": VIOLATIONS,
    "by state": BY_STATE,
    "catalogues": CATALOGUES,
    "random": {f"random {i}": partial(drawn, random_problems, i) for i in range(DRAWS)},
}
"""Groups, and in each the problems by name, made when asked for."""


def cost_ratio(problem: Problem) -> float:
    """D(0) / D(1): above 1 mistakes cost more after something bad.

    With hidden layers, D is its average over the steps spent with that experience when the best
    arm is played.

    >>> round(cost_ratio(SETTINGS["A"]), 6)
    10.0
    >>> round(cost_ratio(VIOLATIONS["people differ in case"]()), 2)
    1.35
    """
    if problem.user.space.states in (None, 2):
        return problem.mistake_cost(0) / problem.mistake_cost(1)
    onward = problem.transition_matrix(problem.best_arm)[:-1, :-1]
    start = np.zeros(len(onward))
    start[np.array(problem.user.start.states, int)] = problem.user.start.chances
    stays = occupancy(onward, start)
    costs = stays * [problem.mistake_cost(s) for s in range(len(onward))]
    at_0, at_1 = (costs[s::2].sum() / stays[s::2].sum() for s in (0, 1))
    return float(at_0 / at_1)

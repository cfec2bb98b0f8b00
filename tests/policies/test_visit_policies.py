"""Whole-visit policies: what they estimate, against plain computations, and what they find."""

from itertools import product
from math import inf, log
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.divergence import bernoulli_kl
from sojourn.engine.streams import policy_stream
from sojourn.policies.accounts import (
    ALIKE,
    DIFFERENT,
    LEADS,
    SLOPE,
    START,
    STRENGTH,
    VARIANCE,
    against,
    departures_against,
    think as think_of,
)
from sojourn.policies.departures import pooled
from sojourn.simulation.chunks import chunk
from sojourn.stats.departures import (
    INTERACTION,
    Estimates,
    chance,
    effect_variance,
    evidence,
    fit_effects,
    log_odds,
    tune,
    tune_base,
)

USER = sj.TwoState(0.15, 0.08, 0.12, 0.06)
CLICKBAIT = sj.Problem([0.8, 0.6, 0.4], sj.ByArm.odds(USER, [2, 0, 0]))
PLAIN = sj.Problem([0.8, 0.6, 0.4], USER)


def shown(problem: sj.Problem, steps: float, bins: int = 2, policy: Any = None) -> Any:
    """What users would have shown on average in so many steps of each arm from each state."""
    memory = (policy or sj.policies.VisitIMED(bins=bins)).memory(problem.arms)
    for arm, state, level in product(range(problem.arms), (0, 1), (0, 1)):
        mean = problem.means[arm]
        b, after, n = state * (bins - 1), level * (bins - 1), steps * (mean if level else 1 - mean)
        memory.seen[arm, b, level] += n
        memory.left[arm, b, level] += n * problem.user.leave_probability(
            float(state), float(level), arm
        )
        memory.moves[b, level, after] += n
        memory.pulls[arm] += n
        memory.successes[arm] += n * level
    memory.clock[0] = memory.pulls.sum()
    return memory


def think(memory: Any, confidence: float, faith: float, signs: bool) -> None:
    think_of(sj.policies.VisitIMED(), memory, confidence, faith, signs, True)


def drawn(seed: int, arms: int = 3, bins: int = 2) -> Any:
    """A memory of random counts."""
    rng = np.random.default_rng(seed)
    memory = sj.policies.VisitIMED(bins=bins).memory(arms)
    memory.seen[:arms] = rng.integers(0, 40, (arms, bins, 2))
    memory.left[:arms] = rng.binomial(memory.seen[:arms].astype(int), rng.uniform(0.05, 0.4))
    memory.pulls[:] = memory.seen[:arms].sum(axis=(1, 2))
    memory.successes[:] = memory.seen[:arms, :, 1].sum(axis=1)
    memory.clock[0] = memory.pulls.sum()
    total = memory.seen.sum(axis=0)
    for b, r in product(range(bins), (0, 1)):
        memory.moves[b, r, r * (bins - 1)] = total[b, r]
    return memory


# --- effects -----------------------------------------------------------------------------------


def log_posterior(
    memory: Any, share: Any, base: Any, effect: Any, interaction: Any, s: float
) -> float:
    """The literal one, up to constants."""
    rows = effect.size
    x = base + effect[:, None, None] + interaction
    p, p0 = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-base))
    seen, left = memory.seen[:rows], memory.left[:rows]
    fit = (left * np.log(p) + (seen - left) * np.log1p(-p)).sum()
    typical = (share * np.log(p0) + (1 - share) * np.log1p(-p0)).sum()
    prior = (effect**2).sum() / s**2 + (interaction**2).sum() / (INTERACTION * s) ** 2
    return float(fit + typical - 0.5 * prior)


def settled(memory: Any, strength: float) -> tuple[Any, Any, Any]:
    known = pooled(memory)
    base = np.log(known.leave / (1 - known.leave))
    effect, interaction = np.zeros(memory.effect.size), np.zeros(memory.interaction.shape)
    found = Estimates(base, effect, interaction)
    for _ in range(60):
        for row in range(memory.pulls.size):
            tune(memory.seen, memory.left, row, found, strength)
        tune_base(memory.seen, memory.left, known.share, found)
    return found


@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_newton_steps_end_at_the_mode(strength: float) -> None:
    """There the derivatives of the literal posterior vanish, but for the step that `base` is given.

    Effects are made zero on average, which that step does not know of.
    """
    memory, small = drawn(1), 1e-4
    share, found = pooled(memory).share, settled(memory, strength)
    for array in found:
        for at in np.ndindex(array.shape):
            values = []
            for change in (small, -2 * small):
                array[at] += change
                values.append(log_posterior(memory, share, *found, strength))
            array[at] += small
            assert abs(values[0] - values[1]) / (2 * small) < 0.03


@pytest.mark.parametrize("strength", [0.25, 0.5, 2.0])
def test_evidence_is_laplaces(strength: float) -> None:
    """Determinants of the whole matrix of second derivatives, with and without effects."""
    memory = drawn(3)
    arms, bins, cells = 3, 2, 4
    known = pooled(memory)
    base, effect, interaction = settled(memory, strength)
    rows, narrow = range(arms), (INTERACTION * strength) ** 2
    size = cells + arms + arms * cells
    hessian, alike = np.zeros((size, size)), np.zeros(cells)
    for c in range(cells):
        b, r = divmod(c, 2)
        p = 1 / (1 + np.exp(-base[b, r]))
        hessian[c, c] += p * (1 - p)
        alike[c] = known.leave[b, r] * (1 - known.leave[b, r]) * (1 + memory.seen[:, b, r].sum())
        for a in rows:
            p = 1 / (1 + np.exp(-(base[b, r] + effect[a] + interaction[a, b, r])))
            part = np.zeros(size)
            part[[c, cells + a, cells + arms + a * cells + c]] = 1
            hessian += memory.seen[a, b, r] * p * (1 - p) * np.outer(part, part)
    for a in rows:
        hessian[cells + a, cells + a] += 1 / strength**2
        for c in range(cells):
            i = cells + arms + a * cells + c
            hessian[i, i] += 1 / narrow
    zero = np.log(known.leave / (1 - known.leave)), np.zeros(arms), np.zeros((arms, bins, 2))
    better = log_posterior(memory, known.share, base, effect[:arms], interaction[:arms], strength)
    better -= log_posterior(memory, known.share, *zero, strength)
    priors = -0.5 * (arms * log(strength**2) + arms * cells * log(narrow))
    expected = better + priors - 0.5 * np.linalg.slogdet(hessian)[1] + 0.5 * np.log(alike).sum()
    ours = evidence(memory.seen, memory.left, known, Estimates(base, effect, interaction), strength)
    assert ours == pytest.approx(expected, abs=1e-9)


def test_arms_that_do_not_differ_are_rarely_taken_to_differ() -> None:
    """The expected ratio of likelihoods is 1, and a ratio of e^4.5 has a chance of e^-4.5."""
    rng, found = np.random.default_rng(5), []
    for _ in range(150):
        memory = shown(PLAIN, 40.0)
        steps = memory.seen.round()
        memory.seen[:] = steps
        memory.left[:] = rng.binomial(steps.astype(int), 0.08)
        memory.moves[:, 0, 0], memory.moves[:, 1, 1] = steps.sum(axis=0).T
        found.append(fit_effects(memory, pooled(memory))[1])
    ratios = np.exp(found)
    assert ratios.mean() == pytest.approx(0.9, abs=0.45)
    assert (ratios > np.exp(4.5)).mean() < 0.05


def test_effects_are_found_with_their_spread() -> None:
    memory = shown(CLICKBAIT, 1e5)
    strength, likelier = fit_effects(memory, pooled(memory))
    assert strength in (1.0, 2.0) and likelier > 1000
    for arm, added in enumerate([2, 0, 0]):
        for b, r in product((0, 1), (0, 1)):
            odds = memory.base[b, r] + memory.effect[arm] + memory.interaction[arm, b, r]
            exact = log_odds(USER.leave_probability(float(b), float(r), 0)) + added
            assert odds == pytest.approx(exact, abs=0.02)
    few = shown(CLICKBAIT, 10)
    fit_effects(few, pooled(few))
    assert effect_variance(few, 0, 1.0) > 5 * effect_variance(memory, 0, 1.0)


def test_chances_at_the_edges() -> None:
    assert chance(-1e9) == pytest.approx(9.36e-14, rel=1e-2) and chance(1e9) < 1.0
    assert chance(log_odds(0.3)) == pytest.approx(0.3)


# --- accounts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("signs", [False, True])
def test_with_much_data_the_best_rule_and_its_value_are_the_exact_ones(signs: bool) -> None:
    memory = shown(CLICKBAIT, 1e5)
    think(memory, 1.5, 4.5, signs)
    assert memory.strength[DIFFERENT] < 1e-9 and memory.strength[ALIKE] > 1000
    assert memory.terms[:3, :, LEADS].argmax(axis=0).tolist() == [1, 1]
    for b in (0, 1):
        assert memory.worth[b] == pytest.approx(CLICKBAIT.value(float(b)), rel=1e-3)
        for arm, mean in enumerate(CLICKBAIT.means):
            worth = memory.terms[arm, b, START] + mean * memory.terms[arm, b, SLOPE]
            assert worth == pytest.approx(
                CLICKBAIT.value(float(b)) - CLICKBAIT.gap(float(b), arm), rel=1e-3
            )


def test_without_effects_it_is_imed_in_the_cheap_state_and_greedy_in_the_dear_one() -> None:
    policy, learned = sj.policies.VisitIMED(bins=2, faith=100), sj.policies.LearnedIMED(bins=2)
    problem, coins = sj.paper.SETTINGS["B"], policy_stream(1, 0)
    for steps, more in product((20.0, 100.0, 1000.0), (0.0, 3.0, 30.0)):
        memory, other = (shown(problem, steps, policy=p) for p in (policy, learned))
        for m in (memory, other):
            m.pulls[0] += 1000
            m.successes[0] += 900
            m.pulls[1], m.successes[1] = m.pulls[1] / 20 + more, m.successes[1] / 20 + more * 0.8
        policy.tell(memory, 0, 0, 0.0)
        learned.tell(other, 0, 0, 0.0)
        assert (memory.optimism == other.optimism).all()
        for state in (0.0, 1.0):
            assert policy.choose(memory, state, coins) == learned.choose(other, state, coins)


def test_evidence_against_an_arm_is_the_least_over_means_and_departures() -> None:
    """A search over both: the closed form is at most a tenth above it."""
    memory = shown(sj.Problem([0.6, 0.55], sj.ByArm.odds(USER, [0, 0.7])), 150.0)
    memory.optimism[:] = 1.0
    think(memory, 1e9, 0.0, False)
    row, b = memory.terms[1, 1], 1
    mean, pulls = memory.successes[1] / memory.pulls[1], memory.pulls[1]
    gap = memory.worth[b] - row[START] - row[SLOPE] * mean
    assert gap > 0.0 and memory.terms[1, b, LEADS] == 0.0
    margin = row[3]
    least = inf
    for part in np.linspace(0.0, min(gap, 0.999 * margin), 20_001):
        way = margin * log(1.0 - part / margin)
        nats = pulls * bernoulli_kl(mean, mean + (gap - part) / row[SLOPE])
        least = min(least, nats + 0.5 * way**2 / row[VARIANCE])
    found = departures_against(memory, 1, b, pulls, memory.successes[1], memory.worth[b])
    assert least <= found <= 1.1 * least
    assert against(memory, 1, b) <= memory.strength[DIFFERENT] + 1.1 * least + log(pulls)


IMPROPER = sj.Problem([0.8, 0.7, 0.6], sj.TwoState(0.1, 0.05, 0.1, 0.6))


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("faith", [4.5, -1e6])  # -1e6: the second account alone
def test_the_arm_of_least_mean_is_best_where_good_items_drive_people_away(
    signs: bool, faith: float
) -> None:
    """... if signs are followed; else an arm is not played for being liked less, in any account."""
    memory = shown(IMPROPER, 1000.0)
    think(memory, 1.5, faith, signs)
    assert memory.side.tolist() == [1.0, -1.0 if signs else 1.0]
    assert memory.terms[:3, :, LEADS].argmax(axis=0).tolist() == [0, 2 if signs else 0]
    if faith < 0.0:  # a success in state 1 is worth less than nothing, or its reward alone
        assert (memory.terms[:3, 1, SLOPE] < 0.0).all() == signs
        assert signs or memory.terms[:3, 1, SLOPE] == pytest.approx(1.0)


def test_items_that_drive_away_are_still_avoided_where_no_sign_is_followed() -> None:
    """The best arm of both accounts differs from the most liked one for its departures alone."""
    memory = shown(sj.Problem([0.8, 0.7, 0.6], sj.ByArm.odds(IMPROPER.user, [3, 0, 0])), 1e5)
    think(memory, 1.5, 4.5, False)
    assert memory.terms[:3, :, LEADS].argmax(axis=0).tolist() == [1, 1]


def test_people_are_shown_what_they_like_least_only_if_that_is_asked_for() -> None:
    options = [sj.policies.VisitIMED(), sj.policies.VisitIMED(follow_improper=True)]
    with pytest.warns(sj.theory.AssumptionWarning):
        result = sj.simulate(IMPROPER, options, visits=500, runs=8, seed=1)
    pulls = result.pulls.mean[:, -1, 1]  # by policy and arm, in state 1
    share = pulls / pulls.sum(axis=1, keepdims=True)
    assert share[0, 0] > 0.8 and share[1, 2] > 0.8


def test_retired_arms_are_a_row_of_their_own() -> None:
    policy, memory = sj.policies.VisitIMED(bins=2), shown(PLAIN, 50.0)
    memory.seen[3], memory.left[3] = memory.seen[0], memory.left[0]
    memory.moves[:, 0, 0] += memory.seen[3, :, 0]
    memory.moves[:, 1, 1] += memory.seen[3, :, 1]
    policy.tell(memory, 0, 0, 0.0)
    assert memory.effect[3] == pytest.approx(memory.effect[0]) and memory.strength[STRENGTH] > 0
    assert policy.choose(memory, 1.0, policy_stream(0, 0)) in (0, 1, 2)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("faith", -1, "a number from 0 to 100"),
        ("faith", 101, "a number from 0 to 100"),
        ("bins", 101, "a whole number from 2 to 100"),
        ("growth", -0.1, "a number from 0 to 1e"),
        ("threshold", 0, "greater than 0"),
    ],
)
def test_bad_parameters_of_visit_policies(name: str, value: float, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = {value} is not allowed.*{allowed}"):
        sj.policies.VisitThompson(**{name: value})


# --- runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_leases_change_nothing(seed: int) -> None:
    problem = sj.paper.SETTINGS["B" if seed else "opposite"]
    grid = np.array([50, 400])
    rows = [
        chunk(problem, sj.policies.VisitIMED(), seed, 0, 3, grid, leases=on) for on in (True, False)
    ]
    np.testing.assert_array_equal(*rows)

"""Why an arm was chosen: every policy has words, and their numbers are its own."""

import random
import re
from collections import Counter
from math import log, sqrt
from typing import Any

import naive
import pytest

import sojourn as sj
from sojourn.live import Ask, Choice, Experiment, operations
from sojourn.live.records import DECIDE, RESOLVE, Event
from sojourn.policies import (
    ALL,
    IMED,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContULCB,
    DiscKLULCB,
    EngagementIndex,
    EpsilonMixture,
    FixedArm,
    Greedy,
    KLUCBSwitch,
    LearnedIMED,
    LearnedKLUCB,
    Policy,
    PricedIndex,
    QLearning,
    Thompson,
    Uniform,
)
from sojourn.policies.empirical import Empirical
from sojourn.policies.gated import Gated
from sojourn.policies.index import Hoeffding, Index
from sojourn.policies.reasons import explain, two_digits
from sojourn.policies.wrapper import Wrapper, base_policy

PROBLEM = sj.paper.SETTINGS["B"]
MEANS = {"dance": 0.9, "cooking": 0.7, "news": 0.4}


def played(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Choice], list[Event]]:
    """Decisions for users of setting B, oldest first, and the log."""
    monkeypatch.setattr(operations, "PAUSE", -1.0)
    rng, q = random.Random(3), PROBLEM.user.leave_probability
    with Experiment("news", list(MEANS), policy, compiled=False, seed=1) as experiment:
        for _ in range(15):
            visit, state, reward = experiment.visit(), 1.0, None
            while True:
                arm = visit.decide(Ask(reward=reward)).arm
                reward = float(rng.random() < MEANS[arm])
                left, state = rng.random() < q(state, reward, 0), reward
                if left:
                    visit.end(reward)
                    break
        return experiment.branch.recent()[::-1], experiment.journal.store.events("news")


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_every_policy_has_words_for_what_it_does(
    cls: type[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = cls.for_problem(PROBLEM)
    choices, events = played(policy, monkeypatch)
    counted = list(known(events))[-len(choices) :]
    assert len(choices) > 20
    figures = 0
    for choice, (event, pulls, successes, t) in zip(choices, counted, strict=True):
        assert (choice.visit, choice.step) == (event.visit, event.step)
        why = explain(policy, choice)
        assert f"*{choice.arm}*" in str(why)
        assert "  " not in str(why)
        figure = re.search(r"bound (-?\d?\.\d\d)", why.rest)
        if figure is not None:
            figures += 1
            arm = event.arm
            value = twin(base_policy(policy), pulls[arm], successes[arm], t, choice.optimism)
            assert figure[1] == two_digits(value)
    inner = policy.policy if isinstance(policy, Wrapper) else policy
    by_bounds = isinstance(inner, Index) and not isinstance(
        inner, Gated | Empirical | Greedy | KLUCBSwitch
    )
    assert figures > 10 or not by_bounds


def known(events: list[Event]) -> Any:
    """Every decision with pulls and successes of the arms then, and t, counted from the log."""
    pulls: Counter[Any] = Counter()
    successes: Counter[Any] = Counter()
    for event in events:
        if event.kind == DECIDE:
            yield event, dict(pulls), dict(successes), 1 + sum(pulls.values())
        elif event.kind == RESOLVE:
            pulls[event.arm] += 1
            successes[event.arm] += event.reward


def twin(policy: Any, n: int, s: float, t: int, x: Any) -> float:
    """The index as the paper writes it, c = 0."""
    mean, budget = s / n, abs(x) * log(t)
    if isinstance(policy, Hoeffding):
        return mean + x * sqrt(log(t) / (2 * n))
    return naive.max_p(mean, n, budget) if x > 0 else naive.min_p(mean, n, budget)


def choice_of(**changes: Any) -> Choice:
    base = Choice(0.0, "v1", 3, "cooking", 1.0, 1.0, 100.0, 80.0, 1000.0, False, "dance")
    return base._replace(**changes)


NOT = {"state": 0.0, "optimism": -1.0}


@pytest.mark.parametrize(
    ("policy", "changes", "words"),
    [
        (KLULCB(), {}, "user is engaged: trying *cooking*, upper bound 0.92"),
        (KLULCB(), NOT, "user is not engaged: playing safe with *cooking*, lower bound 0.63"),
        (ULCB(), {"best": "cooking"},
         "user is engaged: staying with *cooking*, upper bound 0.99"),
        (KLULCB(), {"new": True}, "user is engaged: first time *cooking* is shown"),
        (UCB(), {"state": 0.0}, "trying *cooking*, upper bound 0.99"),
        (
            ContULCB(),
            {"state": 0.75, "optimism": 0.5},
            "user is engaged: trying *cooking*, upper bound 0.89 at optimism 0.50",
        ),
        (
            DiscKLULCB(n=4),
            {"state": 0.7, "optimism": -1.0},
            "user is not engaged: playing safe with *cooking*, lower bound 0.63",
        ),
        (Greedy(), {"optimism": 0.0}, "playing safe with *cooking*, mean 0.80"),
        (IMED(), {}, "trying *cooking*, little evidence against it, mean 0.80 of 100 pulls"),
        (Thompson(), {"pulls": 1.0, "successes": 1.0},
         "trying *cooking*, greatest draw, mean 1.00 of 1 pull"),
        (
            LearnedIMED(),
            {"state": 0.0, "optimism": 0.0},
            "user is not engaged, mistakes are costly: playing safe with *cooking*, mean 0.80",
        ),
        (
            LearnedKLUCB(),
            {"state": 0.0},
            "user is not engaged: trying *cooking*, upper bound 0.92",
        ),
        (
            PricedIndex(),
            {"state": 0.0, "optimism": 0.2},
            "user is not engaged, mistakes are costlier: trying *cooking*, "
            "it may pay in the steps ahead, mean 0.80 of 100 pulls",
        ),
        (
            EngagementIndex(departures=False),
            {"state": 0.0, "optimism": 0.0},
            "user is not engaged, mistakes are costly: trying *cooking*, "
            "mean 0.80 of 100 pulls: it may be better",
        ),
        (
            EngagementIndex(),
            {"best": "cooking"},
            "user is engaged: staying with *cooking*, mean 0.80 of 100 pulls",
        ),
        (Uniform(), {"optimism": None}, "any arm: *cooking*, by chance"),
        (FixedArm(), {"optimism": None}, "always *cooking*"),
        (
            QLearning(),
            {"optimism": None},
            "user is engaged: playing *cooking*, greatest value learned, "
            "or by chance 10% of the time",
        ),
        (
            EpsilonMixture(KLUCB(), epsilon=0.2),
            {},
            "trying *cooking*, upper bound 0.92; or by chance, 20% of the time",
        ),
        (KLUCB(), {"pulls": 0.0, "successes": 0.0},
         "trying *cooking*, its first result is awaited"),
    ],
)  # fmt: skip
def test_words(policy: Policy, changes: dict[str, Any], words: str) -> None:
    """Bounds of (80, 100, 1000) are in FACTS."""
    assert str(explain(policy, choice_of(**changes))) == words

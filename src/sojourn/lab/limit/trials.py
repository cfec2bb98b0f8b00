"""A dozen users and horizons, and every policy on means drawn from a prior."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ... import theory
from ...engine.fingerprint import fingerprint
from ...policies import POLICIES, TOLD, Policy
from ...problem import Problem
from ...simulation import Progress, over_prior
from ...users import Chain, TwoState, User
from ...values.prior import Prior, priors_of
from ...version import __version__
from ..trials import Environment, Roster, Trial

KEPT = "trials"
"""The folder of finished trials, beside what other studies keep."""

QUICK_RUNS, FULL_RUNS = 250, 4_000
SECONDS = 1e-3
"""Of a run of one policy, approximately."""

OPTIMUM = 0.1
"""The share of the work that the optimum is, approximately."""

FLAT = (1.0, 1.0)


@dataclass(frozen=True)
class Case:
    """A user, a prior and a horizon; `pulls` is where the induction ends."""

    name: str
    make: Callable[[], User]
    visits: float
    pulls: int
    fixed: bool = False
    arms: int = 2
    prior: Prior = FLAT

    @property
    def user(self) -> User:
        return _made(self.make)

    @property
    def means(self) -> list[float]:
        return [a / (a + b) for a, b in priors_of(self.prior, self.arms)]


@cache
def _made(make: Callable[[], User]) -> User:
    return make()


def _two(*q: float) -> Callable[[], User]:
    return partial(TwoState, *q)


_B = _two(0.8, 0.2, 0.2, 0.1)
_THREE = partial(Chain, next=[[0, 1], [0, 2], [1, 2]], leave=[[0.6, 0.1], [0.3, 0.05], [0.1, 0.04]])

CASES: tuple[Case, ...] = (
    Case("B, 3 visits", _B, 3, 60),
    Case("B, 10 visits", _B, 10, 160),
    Case("B, 30 visits", _B, 30, 240),
    Case("B, exactly 10 visits", _B, 10, 100, fixed=True),
    Case("B, three arms, 5 visits", _B, 5, 50, arms=3),
    Case("A, prior Beta(2, 6), 20 visits", _two(1, 0, 0, 0), 20, 200, prior=(2.0, 6.0)),
    Case("opposite, 10 visits", _two(0.5, 0.4, 0.45, 0.02), 10, 160),
    Case("fitted to OULAD, 3 visits", _two(0.121, 0.061, 0.084, 0.033), 3, 160),
    Case("fitted to RoboMission, 10 visits", _two(0.347, 0.079, 0.539, 0.063), 10, 160),
    Case("leaving by chance alone, 10 visits", _two(0.2, 0.2, 0.2, 0.2), 10, 160),
    Case("exactly 60 pulls", _two(1, 1, 1, 1), 60, 60, fixed=True),
    Case("three states, 5 visits", _THREE, 5, 120),
)
"""With q of the paper's settings A and B, of the opposite case, and of two logs."""


def title_of(cls: type[Policy]) -> str:
    """What a policy is called here, whatever its parameters are for a problem."""
    return cls.title or cls.__name__


def roster(case: Case) -> Roster:
    """Every policy that is installed, as it is made for a problem of which the user is known.

    Policies that have to be told the number of visits say so by a parameter `visits`; those that
    have to know the user are told the prior, too.
    """
    told: dict[str, Any] = {"visits": case.visits, "prior": case.prior}
    return {
        **{title_of(cls): partial(_policy, cls) for cls in POLICIES.values()},
        **{title_of(cls): partial(cls.for_problem, **told) for cls in TOLD.values()},
    }


def _policy(cls: type[Policy], problem: Problem) -> Policy:
    return cls.for_problem(problem)


@dataclass(frozen=True)
class LimitTrial(Trial):
    """The policies of a roster over the prior of a case, beside its optimum."""

    case: Case = CASES[0]

    @classmethod
    def of(cls, case: Case) -> "LimitTrial":
        return cls(
            case.name, case.name, partial(_environment, case), roster(case), QUICK_RUNS, FULL_RUNS,
            visits=round(case.visits), case=case,
        )  # fmt: skip

    def effort(self, quick: bool) -> float:
        runs = self.quick if quick else self.runs
        return SECONDS * runs * len(self.policies)

    def players(self) -> dict[str, Policy]:
        """The policies that fit: can be made for this user, and play so many arms."""
        problem, found = Problem(self.case.means, self.case.user), {}
        for label, maker in self.policies.items():
            try:
                policy = maker if isinstance(maker, Policy) else maker(problem)
                policy.check_arms(self.case.arms)
            except ValueError:
                continue
            if getattr(policy, "visits", self.case.visits) != self.case.visits:
                policy = type(policy)(**{**policy.parameters, "visits": self.case.visits})
            found[label] = policy
        return found

    def run(self, *, quick: bool, **how: Any) -> Any:
        """What was found, in plain types; a finished trial is taken from the folder."""
        players, runs, seed = self.players(), self.quick if quick else self.runs, how["seed"]
        key = {"version": __version__, "runs": runs, "seed": seed, **self._told_apart_by(players)}
        kept = Path(how["store"]).parent / KEPT / f"{self.name}.json"
        if kept.exists():
            known = json.loads(kept.read_text(encoding="utf-8"))
            if known["key"] == key:
                return known["found"]
        show = how.get("progress") or (lambda now: None)

        def step(begin: float, part: float, share: float) -> None:
            show(Progress(begin + part * share, 1.0, (runs,)))

        case = self.case
        best = theory.bayes_optimum(
            case.user, arms=case.arms, prior=case.prior, visits=case.visits, fixed=case.fixed,
            pulls=case.pulls, plan=True, progress=partial(step, 0.0, OPTIMUM),
        )  # fmt: skip
        found = over_prior(
            best, list(players.values()), runs=runs, seed=seed,
            progress=partial(step, OPTIMUM, 1.0 - OPTIMUM),
        )  # fmt: skip
        data = {
            "low": best.low,
            "high": best.high,
            "told": best.told,
            "runs": runs,
            "regrets": {x: found.regret(p)._asdict() for p, x in enumerate(players)},
        }
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps({"key": key, "found": data}) + "\n", encoding="utf-8")
        return data

    def _told_apart_by(self, players: dict[str, Policy]) -> dict[str, Any]:
        """What else the numbers depend on: the case, and the policies with their code."""
        case = self.case
        how = [case.visits, case.pulls, case.fixed, case.arms, list(case.prior)]
        who = {x: f"{p!r} {fingerprint(type(p))}" for x, p in players.items()}  # type: ignore[arg-type]
        return {"case": [repr(case.user), *how], "policies": who}


def _environment(case: Case) -> Environment:
    return Environment.of(Problem(case.means, case.user))


TRIALS: tuple[LimitTrial, ...] = tuple(LimitTrial.of(case) for case in CASES)

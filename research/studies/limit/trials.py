"""A dozen users and horizons, every policy on means drawn from a prior, and what is kept of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from math import exp, log
from pathlib import Path
from typing import Any

from sojourn import theory
from sojourn.engine.fingerprint import fingerprint
from sojourn.paper.trials import Roster, Trial
from sojourn.policies import ORACLES, POLICIES, Discounted, Policy, Restarting, Windowed
from sojourn.problem import Problem
from sojourn.simulation import Progress, over_prior
from sojourn.stats.intervals import Interval
from sojourn.users import Chain, TwoState, User
from sojourn.validation import InputError
from sojourn.values.prior import Prior, priors_of
from sojourn.version import __version__

KEPT = "trials"
"""The folder of finished trials, beside what other studies keep."""

FOR_CHANGES = (Discounted, Windowed, Restarting)
"""Left out: they wrap others, for arms that change, and these do not."""

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


def informed_title(cls: type[Policy]) -> str:
    """The same of a policy that is told the number of visits, and could do without."""
    return f"{title_of(cls)}, told the visits"


def roster(case: Case) -> Roster:
    """Every policy that is installed, as it is made for a problem of which the user is known.

    Those `FOR_CHANGES` are left out. Those that may be told the number of visits, by a parameter
    `visits`, play twice, with it and without. Those that have to know the user are told the visits
    and the prior, too.
    """
    visits: dict[str, Any] = {"visits": round(case.visits)}
    informed: dict[str, Any] = {"visits": case.visits, "prior": case.prior}
    every = [cls for cls in POLICIES.values() if cls not in FOR_CHANGES]
    may_know = [cls for cls in every if any(field.name == "visits" for field in fields(cls))]
    return {
        **{title_of(cls): partial(_policy, cls) for cls in every},
        **{informed_title(cls): partial(_policy, cls, **visits) for cls in may_know},
        **{title_of(cls): partial(_policy, cls, **informed) for cls in ORACLES.values()},
    }


def _policy(cls: type[Policy], problem: Problem, **parameters: Any) -> Policy:
    return cls.for_problem(problem, **parameters)


@dataclass(frozen=True)
class LimitTrial(Trial):
    """The policies of a roster over the prior of a case, beside its optimum."""

    case: Case = CASES[0]

    @classmethod
    def of(cls, case: Case) -> "LimitTrial":
        return cls(
            case.name, case.name, partial(_problem, case), roster(case), QUICK_RUNS, FULL_RUNS,
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
            except InputError:
                continue
            found[label] = policy
        return found

    def run(self, *, quick: bool, **how: Any) -> Any:
        """What was found, in plain types.

        What is finished is taken from the folder, policy by policy: they met the same users, so
        that it does not matter who played together.
        """
        players, runs, seed = self.players(), self.quick if quick else self.runs, how["seed"]
        kept = Path(how["store"]).parent / KEPT / f"{self.name}.json"
        known = self._known(kept, {"version": __version__, "runs": runs, "seed": seed})
        code = {x: f"{p!r} {fingerprint(type(p))}" for x, p in players.items()}  # type: ignore[arg-type]
        missing = {x: p for x, p in players.items() if known["code"].get(x) != code[x]}
        if missing:
            show = how.get("progress") or (lambda now: None)
            known |= self._play(missing, known["regrets"], runs, seed, show)
            known["code"] = {**known["code"], **code}
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(json.dumps(known) + "\n", encoding="utf-8")
        return {**known, "runs": runs, "regrets": {x: known["regrets"][x] for x in players}}

    def _known(self, kept: Path, how: dict[str, Any]) -> dict[str, Any]:
        """What the file has of this case, with the code that it was made by."""
        case = self.case
        many = [case.visits, case.pulls, case.fixed, case.arms, list(case.prior)]
        fresh = {"key": {**how, "case": [repr(case.user), *many]}, "code": {}, "regrets": {}}
        if kept.exists():
            known: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
            if known["key"] == fresh["key"]:
                return known
        return fresh

    def _play(
        self, players: dict[str, Policy], others: dict[str, Any], runs: int, seed: int, show: Any
    ) -> dict[str, Any]:
        """The limit, and regrets: those of the players beside the others."""

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
        own = {x: asdict(found.regret(p)) for p, x in enumerate(players)}
        return {
            "low": best.low, "high": best.high, "told": best.told, "regrets": {**others, **own},
        }  # fmt: skip


def _problem(case: Case) -> Problem:
    return Problem(case.means, case.user)


TRIALS: tuple[LimitTrial, ...] = tuple(LimitTrial.of(case) for case in CASES)


@dataclass(frozen=True, eq=False)
class LimitOutcome:
    """Bayes regrets in one case, and what the least there can be is between."""

    case: str
    low: float
    high: float
    told: float
    runs: int
    regrets: Mapping[str, Interval]

    @classmethod
    def from_dict(cls, case: str, data: Mapping[str, Any]) -> "LimitOutcome":
        regrets = {label: Interval(**interval) for label, interval in data["regrets"].items()}
        return cls(case, data["low"], data["high"], data["told"], int(data["runs"]), regrets)

    def to_dict(self) -> dict[str, Any]:
        regrets = {label: asdict(interval) for label, interval in self.regrets.items()}
        return {
            "case": self.case, "low": self.low, "high": self.high, "told": self.told,
            "runs": self.runs, "regrets": regrets,
        }  # fmt: skip

    def multiple(self, label: str) -> Interval:
        """A regret over the least that is attained."""
        value, low, high = self.regrets[label]
        return Interval(value / self.high, low / self.high, high / self.high)


@dataclass(frozen=True, eq=False)
class Limits:
    """The outcomes of all trials."""

    every: Sequence[LimitOutcome]

    @property
    def labels(self) -> list[str]:
        """Policies by their geometric mean, best first; those that fit everywhere come first."""
        found = list(dict.fromkeys(label for o in self.every for label in o.regrets))
        return sorted(
            found, key=lambda label: (not self.everywhere(label), self.typical(label).value)
        )

    def of(self, label: str) -> list[LimitOutcome]:
        return [o for o in self.every if label in o.regrets]

    def everywhere(self, label: str) -> bool:
        return len(self.of(label)) == len(self.every)

    def typical(self, label: str) -> Interval:
        """The geometric mean of its multiples over these cases.

        The cases share their draws, so that errors may go together: they are added up.
        """
        multiples = [o.multiple(label) for o in self.of(label)]
        logs = [log(max(m.value, 1e-9)) for m in multiples]
        widths = [(m.high - m.low) / 2 / m.value for m in multiples]
        mean = exp(sum(logs) / len(logs))
        return Interval.around(mean, mean * sum(widths) / len(widths))

    def worst(self, label: str) -> float:
        return max(o.multiple(label).value for o in self.of(label))

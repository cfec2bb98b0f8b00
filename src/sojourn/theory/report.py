"""What the theory says about one problem, as text for people and a dictionary for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import validation
from ..problem import Problem, shown_states
from ..problem_files import problem_of
from ..show.plain import plain
from ..show.tables import Part, Shown, Table
from ..values import MeanVariance
from .gaps import Condition, case, first_step_costs, gap_condition, outside
from .premises import Check, assumptions, sufficient_condition
from .regret import Bound, bounds

VALUES = "V*: the reward that the rest of a visit is expected to bring if every choice is right"
COSTS = "D: what a mistake costs; an arm of mean d below the best one's loses d x D of that reward"


@dataclass(frozen=True)
class Summary(Shown):
    """The theory of a problem; print it, or take `to_dict()` for JSON.

    >>> known = summary("B")
    >>> known.case, round(known.values[1.0], 2), round(known.mistake_costs[0.0], 2)
    ('normal', 7.42, 5.66)
    """

    problem: Problem
    case: str
    values: dict[float, float]  # V* by state; at five points of [0, 1] if there are infinitely many
    mistake_costs: dict[float, float]  # empty if leaving depends on the arm or rewards are graded
    best_arms: dict[float, int]
    first_step_costs: tuple[tuple[float, float], ...]
    """(experience, D) at a first step that nobody leaves."""
    reward: MeanVariance
    length: MeanVariance
    assumptions: tuple[Check, ...]
    conditions: tuple[Condition, ...]
    bounds: tuple[Bound, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types; None where a number is missing or infinite."""
        problem, start = self.problem, self.problem.user.start
        named = {
            "means": problem.means,
            "user": repr(problem.user),
            "start": dict(zip(start.states, start.chances, strict=True)),
            "best_arm": problem.best_arm,
        }
        if problem.graded:
            named["rewards"] = [repr(arm) for arm in problem.rewards]
        known = {name: value for name, value in vars(self).items() if name != "problem"}
        for name in ("reward", "length"):
            known[name] = {"mean": known[name].mean, "std": known[name].std}
        return dict(plain(named | known))

    def _parts(self) -> Sequence[Part]:
        problem, costs = self.problem, self.mistake_costs
        arms = f"means {', '.join(f'{m:g}' for m in problem.means)}"
        if problem.graded:
            arms = f"rewards {', '.join(map(validation.shown, problem.rewards))}"
        states = [
            [f"{s:g}", _number(v), _number(costs[s]) if costs else f"{self.best_arms[s]}"]
            for s, v in self.values.items()
        ]
        states += [[f"first, {s:g}", "", _number(d)] for s, d in self.first_step_costs]
        both = (("reward", self.reward), ("length", self.length))
        visit = [[name, _number(each.mean), _number(each.std)] for name, each in both]
        failing = [f"  {c.name}: {c.detail}" for c in self.assumptions if not c.holds]
        slopes = [[b.name, b.theorem, _number(b.slope)] for b in self.bounds if b.slope is not None]
        without: dict[str, list[str]] = {}
        for bound in self.bounds:
            if bound.reason is not None:
                without.setdefault(bound.reason, []).append(f"{bound.name} ({bound.theorem})")
        regret: list[Part] = [
            Table(["regret / log K", "", "slope"], slopes),
            *(f"{'; '.join(names)}: {reason}" for reason, names in without.items()),
        ]
        if why := outside(self.problem):
            regret = [f"no bound of the paper on the regret applies, because {why}"]
        return [
            f"{arms}; {problem.user!r}",
            f"case: {self.case}",
            "",
            Table(["state", "V*", "D" if costs else "best arm"], states),
            VALUES,
            *([COSTS] if costs else []),
            "",
            Table(["best visit", "mean", "sd"], visit),
            "",
            *(["assumptions that fail", *failing] if failing else ["all assumptions hold"]),
            "",
            *regret,
        ]


def summary(problem: Problem | str | Path, n: int = 4) -> Summary:
    """Case, values, assumptions and every slope of one problem; `n` bins for the DISC policies.

    >>> known = summary("C")
    >>> known.case, [bound.name for bound in known.bounds if bound.slope is not None]
    ('normal', ['ULCB', 'KL-ULCB', 'lower bound', 'UCB', 'KL-UCB'])
    """
    problem = problem_of(problem)
    states = shown_states(problem.user)
    without = outside(problem) is not None
    return Summary(
        problem=problem,
        case=case(problem),
        values={s: problem.value(s) for s in states},
        mistake_costs={} if without else {s: problem.mistake_cost(s) for s in states},
        best_arms={s: problem.rule(s) for s in states},
        first_step_costs=() if without else tuple(first_step_costs(problem)),
        reward=problem.reward,
        length=problem.length,
        assumptions=assumptions(problem, n),
        conditions=(gap_condition(problem), sufficient_condition(problem)),
        bounds=bounds(problem, n),
    )


def _number(x: float | None) -> str:
    return "-" if x is None else f"{x:.6g}"

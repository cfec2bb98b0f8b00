"""A result as text for people, plain data for programs, and one long table for data frames."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import theory
from ..engine.kernel import BY_LEVEL, REGRET, REWARD, STEPS
from ..policies import Policy
from ..policies.base import label_of
from ..policies.index import Index
from ..problem import Problem
from ..registry import described
from ..show.plain import plain
from ..show.tables import Part, Table
from ..theory import Bound
from ..validation import InputError

if TYPE_CHECKING:
    from .result import Result

MEASURED: Sequence[tuple[str, Callable[["Result", int], str]]] = (
    ("runs", lambda result, p: f"{result.runs[p]:,}"),
    ("regret", lambda result, p: f"{result.regret.mean[p, -1]:,.1f}"),
    ("±", lambda result, p: f"{result.regret.half_width[p, -1]:,.1f}"),
    ("from rewards", lambda result, p: f"{result.raw_regret.mean[p, -1]:,.0f}"),
    ("±", lambda result, p: f"{result.raw_regret.half_width[p, -1]:,.0f}"),
    ("steps per visit", lambda result, p: f"{result.visit_length.mean[p, -1]:,.2f}"),
)
BOUNDED: Sequence[tuple[str, Callable[[Bound, int], str]]] = (
    ("slope", lambda bound, visits: f"{bound.slope:,.2f}"),
    ("x log K", lambda bound, visits: f"{(bound.slope or 0.0) * math.log(visits):,.1f}"),
    ("source", lambda bound, visits: bound.theorem),
)
"""The columns after the label: heading and cell, of a policy in a result and of a bound."""

LONG = (
    "policy", "versus", "visits", "quantity", "level", "arm",
    "runs", "mean", "squares", "std_error",
)  # fmt: skip
"""Columns of the long table: `versus` in differences, `level` and `arm` in what they split."""


def labels(policies: Sequence[Policy], problem: Problem) -> list[str]:
    """The policies' labels, numbered where two are the same.

    A policy that is set for a problem, such as UCB Q-learning, differs from what is usual there.
    """
    found: list[str] = []
    for policy in policies:
        # A file of results begins with a comment, so that "#" has a meaning there.
        label = label_of(policy, _usual(policy, problem)).replace("#", "_")
        number, name = 1, label
        while name in found:
            number += 1
            name = f"{label} ({number})"
        found.append(name)
    return found


def _usual(policy: Policy, problem: Problem) -> Policy | None:
    try:
        return type(policy).for_problem(problem.at(1))
    except (TypeError, InputError):  # a policy of somebody's own, with parameters to be given
        return None


def table(result: "Result", *, bounds: bool = False) -> Table:
    """A row for each policy; with `bounds` the paper's beside them, and rows for lower bounds."""
    headings = ["policy", *(heading for heading, _ in MEASURED)]
    rows = [
        [label, *(cell(result, p) for _, cell in MEASURED)] for p, label in enumerate(result.labels)
    ]
    if not bounds:
        return Table(headings, rows)
    visits = int(result.checkpoints[-1])
    for row, policy in zip(rows, result.policies, strict=True):
        row += _bound_cells(bound_for(policy, result.problem), visits)
    rows += [
        [bound.name, *("" for _ in MEASURED), *_bound_cells(bound, visits)]
        for bound in lower_bounds(result.problem)
    ]
    return Table([*headings, *(heading for heading, _ in BOUNDED)], rows)


def _bound_cells(bound: Bound | None, visits: int) -> list[str]:
    if bound is None or bound.slope is None:
        return []
    return [cell(bound, visits) for _, cell in BOUNDED]


def seeds(result: "Result") -> str:
    """The seeds that were used, in words."""
    known = dict.fromkeys(s.seed for streams in result.streams for s in streams)
    return f"seed{'s' if len(known) > 1 else ''} {', '.join(map(str, known))}"


def parts(result: "Result") -> list[Part]:
    """The text and tables that `print` and notebooks show."""
    visits, names = int(result.checkpoints[-1]), result.labels
    found: list[Part] = [
        f"{visits:,} visits, {seeds(result)}; regret with 95 % intervals",
        table(result),
    ]
    if len(names) > 1:
        found += ["", differences(result)]
    if not all(result.reached):
        short = [name for name, reached in zip(names, result.reached, strict=True) if not reached]
        found += ["", f"precision {result.precision} not reached by {', '.join(short)}"]
    return found


def differences(result: "Result", baseline: int | None = None) -> Table:
    """The regret of every policy less that of one, with paired and unpaired half-widths.

    By default it is the policy of least regret.
    """
    if baseline is None:
        baseline = int(np.argmin(result.regret.mean[:, -1]))
    # Of one run: with n runs the half-widths of both policies are smaller by the square root of n.
    widths = result.regret.half_width[:, -1] * np.sqrt(result.runs)
    rows = []
    for p, name in enumerate(result.labels):
        if p == baseline:
            continue
        gain, runs = result.difference(p, baseline), result.pair(p, baseline).runs
        unpaired = np.hypot(widths[p], widths[baseline]) / np.sqrt(max(runs, 1))
        numbers = (gain.mean[-1], gain.half_width[-1], unpaired)
        rows.append([name, f"{runs:,}", *(f"{number:,.1f}" for number in numbers)])
    return Table([f"less {result.labels[baseline]}", "runs", "regret", "±", "± if unpaired"], rows)


def policy_data(policy: Policy, label: str) -> dict[str, Any]:
    """Name, label and parameters; a parameter that is a policy goes by its label."""
    parameters = {
        name: value.label if isinstance(value, Policy) else value
        for name, value in described(policy)[1].items()
    }
    return {"name": type(policy).__name__, "label": label, "parameters": parameters}


def result_data(result: "Result") -> dict[str, Any]:
    """The result in plain types, for JSON."""
    names = result.labels
    found = {
        "version": result.version,
        "problem": repr(result.problem),
        "seed": result.seed,
        "precision": None if result.precision is None else str(result.precision),
        "policies": [_policy_results(result, p, name) for p, name in enumerate(names)],
        "differences": [
            {"policy": names[p], "versus": names[q], **_difference(result, p, q)}
            for p, q in combinations(range(len(names)), 2)
        ],
    }
    return plain(found)  # type: ignore[no-any-return]


def _policy_results(result: "Result", p: int, label: str) -> Mapping[str, Any]:
    regret, raw, steps = result.regret, result.raw_regret, result.steps
    return {
        **policy_data(result.policies[p], label),
        "runs": result.runs[p],
        "reached": result.reached[p],
        "streams": result.streams[p],
        "checkpoints": [
            {
                "visits": visits,
                "regret": regret.mean[p, c],
                "regret_std_error": regret.std_error[p, c],
                "regret_half_width": regret.half_width[p, c],
                "raw_regret": raw.mean[p, c],
                "raw_regret_std_error": raw.std_error[p, c],
                "steps": steps.mean[p, c],
            }
            for c, visits in enumerate(result.checkpoints)
        ],
    }


def _difference(result: "Result", p: int, q: int) -> Mapping[str, Any]:
    estimate = result.difference(p, q)
    return {
        "runs": result.pair(p, q).runs,
        "regret": estimate.mean[-1],
        "regret_std_error": estimate.std_error[-1],
        "regret_half_width": estimate.half_width[-1],
    }


def columns(result: "Result") -> dict[str, list[Any]]:
    """The long table: for each policy and checkpoint all quantities, then the differences."""
    rows = list(_rows(result))
    return {name: [row[i] for row in rows] for i, name in enumerate(LONG)}


def quantities(levels: int, arms: int) -> list[tuple[str, int | None, int | None]]:
    """The columns of the moments: quantity, level, arm."""
    totals = {REGRET: "regret", REWARD: "reward", STEPS: "steps"}
    assert len(totals) == BY_LEVEL
    return [
        *((totals[column], None, None) for column in range(BY_LEVEL)),
        *(("regret_by_level", level, None) for level in range(levels)),
        *(("pulls", level, arm) for level in range(levels) for arm in range(arms)),
    ]


def _rows(result: "Result") -> Iterator[tuple[Any, ...]]:
    own = quantities(result.problem.user.space.bins, result.problem.arms)
    names: list[tuple[str, str | None]] = [(label, None) for label in result.labels]
    names += combinations(result.labels, 2)
    for (name, versus), moments in zip(names, result.moments + result.pairs, strict=True):
        what = own if versus is None else [("difference", None, None)]
        arrays = (moments.mean, moments.squares, moments.estimate.std_error)
        for c, visits in enumerate(result.checkpoints.tolist()):
            numbers = (np.atleast_1d(array[c]).tolist() for array in arrays)
            for (quantity, level, arm), *three in zip(what, *numbers, strict=True):
                yield (name, versus, visits, quantity, level, arm, moments.runs, *three)


def bound_for(policy: Policy, problem: Problem) -> theory.Bound | None:
    """The paper's bound on the regret of this policy, if it has one for these coefficients."""
    name, bounds = bound_name(policy), theory.bounds(problem, n=int(getattr(policy, "n", 4)))
    return next((b for b in bounds if b.name == name and b.slope is not None), None)


def bound_name(policy: Any) -> str | None:
    """The name in `theory.bounds` of the bound on the regret of a policy, if there is one."""
    if not isinstance(policy, Index) or policy._case is None:
        return None
    return f"{policy.title or type(policy).__name__}{policy._case}"


def lower_bounds(problem: Problem) -> list[theory.Bound]:
    """The bounds that no policy can beat, those that apply."""
    applying = (b for b in theory.bounds(problem) if b.slope is not None)
    return [bound for bound in applying if bound.name.startswith("lower bound")]

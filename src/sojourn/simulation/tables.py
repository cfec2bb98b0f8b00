"""A result as text for people, plain data for programs, and one long table for data frames."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.kernel import BY_LEVEL, REGRET, REWARD, STEPS
from ..policies import Policy
from ..problem import Problem

if TYPE_CHECKING:
    from .result import Result

COLUMNS = (
    "policy", "versus", "visits", "quantity", "level", "arm",
    "runs", "mean", "squares", "std_error",
)  # fmt: skip
"""Of the long table; `versus` is for differences, `level` and `arm` for what is split by them."""


def labels(policies: Sequence[Policy], problem: Problem) -> list[str]:
    """Names unlike each other: with the parameters that are not as usual, numbered if need be.

    >>> import sojourn as sj
    >>> labels([sj.UCB(), sj.ULCB(c0=-0.5), sj.UCB()], sj.paper.SETTINGS["A"])
    ['UCB', 'ULCB:c0=-0.5', 'UCB (2)']
    """
    found: list[str] = []
    for policy in policies:
        usual = _usual(policy, problem)
        changed = [f"{k}={_short(v)}" for k, v in policy.parameters.items() if v != usual.get(k)]
        name = f"{policy.name}:{','.join(changed)}" if changed else policy.name
        name, number = name.replace("#", "_"), 1
        while (name if number == 1 else f"{name} ({number})") in found:
            number += 1
        found.append(name if number == 1 else f"{name} ({number})")
    return found


def _usual(policy: Policy, problem: Problem) -> dict[str, Any]:
    try:
        return type(policy).for_problem(problem).parameters
    except (TypeError, ValueError):  # a policy of somebody's own, with parameters to be given
        return {}


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def seeds(result: "Result") -> str:
    """The seeds that were used, in words."""
    known = dict.fromkeys(s.seed for streams in result.streams for s in streams)
    return f"seed{'s' if len(known) > 1 else ''} {', '.join(map(str, known))}"


def text(result: "Result") -> str:
    """The table that `print` shows."""
    visits, names = int(result.checkpoints[-1]), result.labels
    wide = max(16, *(len(name) + 2 for name in names))
    lines = [
        f"{visits:,} visits, {seeds(result)}; regret with 95 % intervals",
        f"{'policy':<{wide}}{'runs':>9}{'regret':>12}{'±':>9}{'from rewards':>15}{'±':>11}"
        f"{'steps a visit':>16}",
    ]
    regret, raw, steps = result.regret, result.raw_regret, result.visit_length
    for p, name in enumerate(names):
        lines.append(
            f"{name:<{wide}}{result.runs[p]:>9,}{regret.mean[p, -1]:>12,.1f}"
            f"{regret.half_width[p, -1]:>9,.1f}{raw.mean[p, -1]:>15,.1f}"
            f"{raw.half_width[p, -1]:>11,.1f}{steps.mean[p, -1]:>16,.2f}"
        )
    if len(names) > 1:
        lines += ["", result.compare()]
    if not all(result.reached):
        short = [name for name, reached in zip(names, result.reached, strict=True) if not reached]
        lines += ["", f"precision {result.precision} not reached by {', '.join(short)}"]
    return "\n".join(lines)


def differences(result: "Result", baseline: int) -> str:
    """The table that `Result.compare` gives."""
    names = result.labels
    wide = max(16, *(len(name) + 2 for name in names))
    lines = [
        f"{f'less {names[baseline]}':<{wide}}{'runs':>9}{'regret':>12}{'±':>9}{'± if unpaired':>15}"
    ]
    # At one run, as if the runs of the two policies had nothing in common.
    widths = result.regret.half_width[:, -1] * np.sqrt(result.runs)
    for p, name in enumerate(names):
        if p == baseline:
            continue
        gain, runs = result.difference(p, baseline), result.pair(p, baseline).runs
        unpaired = np.hypot(widths[p], widths[baseline]) / np.sqrt(max(runs, 1))
        lines.append(
            f"{name:<{wide}}{runs:>9,}{gain.mean[-1]:>12,.1f}"
            f"{gain.half_width[-1]:>9,.1f}{unpaired:>15,.1f}"
        )
    return "\n".join(lines)


def plain(result: "Result") -> dict[str, Any]:
    """The result in plain types, for JSON."""
    regret, raw, steps = result.regret, result.raw_regret, result.steps
    names = result.labels
    return {
        "version": result.version,
        "problem": repr(result.problem),
        "seed": result.seed,
        "precision": None if result.precision is None else str(result.precision),
        "policies": [
            {
                "name": policy.name,
                "label": names[p],
                "parameters": policy.parameters,
                "runs": result.runs[p],
                "reached": result.reached[p],
                "streams": [stream._asdict() for stream in result.streams[p]],
                "checkpoints": [
                    {
                        "visits": int(visits),
                        "regret": float(regret.mean[p, c]),
                        "regret_std_error": float(regret.std_error[p, c]),
                        "regret_half_width": float(regret.half_width[p, c]),
                        "raw_regret": float(raw.mean[p, c]),
                        "raw_regret_std_error": float(raw.std_error[p, c]),
                        "steps": float(steps.mean[p, c]),
                    }
                    for c, visits in enumerate(result.checkpoints)
                ],
            }
            for p, policy in enumerate(result.policies)
        ],
        "differences": [
            {
                "policy": names[p],
                "versus": names[q],
                "runs": result.pair(p, q).runs,
                "regret": float(result.difference(p, q).mean[-1]),
                "regret_std_error": float(result.difference(p, q).std_error[-1]),
                "regret_half_width": float(result.difference(p, q).half_width[-1]),
            }
            for p, q in combinations(range(len(names)), 2)
        ],
    }


def columns(result: "Result") -> dict[str, list[Any]]:
    """The long table: for each policy and checkpoint all quantities, then the differences."""
    rows = list(_rows(result))
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def quantities(levels: int, arms: int) -> list[tuple[str, int | None, int | None]]:
    """What the columns of the moments are: quantity, level, arm."""
    plain = {REGRET: "regret", REWARD: "reward", STEPS: "steps"}
    assert len(plain) == BY_LEVEL
    return [
        *((plain[column], None, None) for column in range(BY_LEVEL)),
        *(("regret_by_level", level, None) for level in range(levels)),
        *(("pulls", level, arm) for level in range(levels) for arm in range(arms)),
    ]


def _rows(result: "Result") -> Iterator[tuple[Any, ...]]:
    names, visits = result.labels, result.checkpoints.tolist()
    what = quantities(result.problem.user.levels, result.problem.arms)
    for name, moments in zip(names, result.moments, strict=True):
        error = moments.estimate.std_error
        table = (moments.mean.tolist(), moments.squares.tolist(), error.tolist())
        for point, *numbers in zip(visits, *table, strict=True):
            for (quantity, level, arm), *three in zip(what, *numbers, strict=True):
                yield (name, None, point, quantity, level, arm, moments.runs, *three)
    for (one, other), moments in zip(combinations(names, 2), result.pairs, strict=True):
        error = moments.estimate.std_error
        table = (moments.mean.tolist(), moments.squares.tolist(), error.tolist())
        for point, *three in zip(visits, *table, strict=True):
            yield (one, other, point, "difference", None, None, moments.runs, *three)

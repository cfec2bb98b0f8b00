"""The bits of simulations, recorded: every policy on five problems, two seeds.

    python tests/simulation/same_bits.py record FILE     write them down
    python tests/simulation/same_bits.py add FILE        only of policies that have none yet
    python tests/simulation/same_bits.py compare FILE    exit code 1 if any has changed

Regret is kept to the last bit. Solvers of linear equations differ in theirs between processors, so
the test in `test_same_bits.py` allows regret that much and nothing else: what was pulled when, and
with which rewards, is to be the same everywhere.
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import sojourn as sj

PROBLEMS = ("A", "B", "C", "ema-1000", "opposite")
SEEDS = (0, 1)
CHECKPOINTS = [10, 100, 300]
RUNS = 8


def policies(problem: sj.Problem) -> list[Any]:
    """Every policy, those of the opposite case, and a mixture over one that learns departures."""
    made = [cls.for_problem(problem) for cls in sj.policies.ALL]
    flipped = [policy.opposite() for policy in made if hasattr(policy, "opposite")]
    return [*made, *flipped, sj.policies.EpsilonMixture(sj.policies.LearnedIMED())]


def records(
    problems: Iterable[str] = PROBLEMS, only: Container[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A key and what was measured, one after the other; only policies of these names, if given."""
    for name in problems:
        problem = sj.paper.SETTINGS[name]
        chosen = [p for p in policies(problem) if only is None or type(p).__name__ in only]
        for seed in SEEDS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = sj.simulate(
                    problem, chosen, visits=CHECKPOINTS[-1], runs=RUNS, seed=seed,
                    checkpoints=CHECKPOINTS,
                )  # fmt: skip
            for p, policy in enumerate(result.policies):
                counts = hashlib.sha256()
                for estimate in (result.pulls, result.reward, result.steps):
                    counts.update(estimate.mean[p].tobytes())
                regret = [float(x).hex() for x in result.regret.mean[p]]
                yield f"{name} {seed} {policy!r}", {"regret": regret, "counts": counts.hexdigest()}


def recorded(keys: Iterable[str]) -> set[str]:
    """The names of the policies that these keys are of."""
    return {key.split()[2].partition("(")[0] for key in keys}


def main(command: str, file: str) -> int:
    """Record, add or compare; the exit code."""
    known = {} if command == "record" else json.loads(Path(file).read_text())
    every = {cls.__name__ for cls in sj.policies.ALL}
    found = dict(records(only=every - recorded(known) if command == "add" else None))
    if command != "compare":
        Path(file).write_text(json.dumps(known | found, indent=0) + "\n")
        print(f"{len(found)} records written to {file}")
        return 0
    changed = [key for key in known if found.get(key) != known[key]]
    print(f"{len(known) - len(changed)} of {len(known)} records have the same bits")
    print("\n".join([*changed, *(f"no record: {key}" for key in found.keys() - known.keys())]))
    return 1 if changed or set(found) != set(known) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

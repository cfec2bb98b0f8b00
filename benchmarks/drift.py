"""Arms that change: SMPyBandits' policies at the job of `python -m research drift`.

    python -m benchmarks.drift --runs 6 --page docs/drift-peers.md

Ours play beside them, on the same problems for as many visits. Theirs do not look at departures, as
no policy of that package does; they are told how many steps there are, about, and how many changes.
"""

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from research.studies.drift import DETECTOR, EXPLORING, FADING, PLAIN, PROBLEMS, VISITS, WINDOW
from sojourn.policies import Restarting
from sojourn.problem import Problem
from sojourn.show.tables import Table
from sojourn.stats.intervals import Interval
from sojourn.stats.moments import Moments
from sojourn.theory import AssumptionWarning

from .peers import Peer, Unavailable, _call, interpreter

PEER = Peer("SMPyBandits", "drift_smpybandits.py", ("SMPyBandits==0.9.7", "scipy<1.13", "numpy<2"))
CHANGES = {"one change": 1, "four changes": 4, "gradual": 1}
"""What the peers are told; of a gradual change there is no number."""

Row = dict[str, Interval]

PATIENCE = 3_600.0  # seconds for a problem

PAGE = """# Arms that change: other packages

Regret after {visits:,} visits of the three problems of [arms that change](drift.md), against the
best rule of each moment, with 95 % intervals: SMPyBandits {version} ({runs} runs), and some of
ours ({our_runs} runs).

{table}

- **SW-UCB** (`SWUCBPlus`) has a window of 4 sqrt(T log T) steps, **D-UCB** (`DiscountedUCBPlus`) a
  discount of 1 - sqrt(changes / T) / 4, **GLR-klUCB** (`BernoulliGLR_IndexPolicy` with
  `klUCB_forGLR`, global restarts) a level and a share of exploration set from both; it tests every
  20 steps, at every 20th split, for else a run takes half a minute. They are told T, the expected
  number of steps, and the number of changes (1 for the gradual problem). Ours are told neither.
- D-UCB is played with a correction: as installed, it keeps its discounted pulls as whole numbers,
  which stay at 1, and it never leaves the first arm that it likes. Here they are fractions.
- Read it with its intervals: D-UCB is as good as the best of ours on one change, and SW-UCB and
  GLR-klUCB are on four changes, two of which do not show in the arm that is played. On each
  problem some policy of ours is among the best, not always the same one.
- None of theirs looks at the state of the user.
- Each run of theirs has draws of its own, so that nothing is paired. Intervals are normal ones;
  with few runs Student's would be wider, by a third for six.

Made by `{command}`; the problems are those of `python -m research drift`.
"""


def task_of(problem: Problem, changes: int, visits: int, runs: int) -> dict[str, Any]:
    """What the script of the peers is given."""
    user = problem.user
    return {
        "phases": [
            {"after": after, "means": own.means, "gaps": own.gaps().tolist()}
            for after, own in problem.phases
        ],
        "leave": [[user.leave_probability(s, r, 0) for r in (0.0, 1.0)] for s in (0.0, 1.0)],
        "visits": visits,
        "runs": runs,
        "steps": int(problem.expected_steps(visits)),
        "changes": changes,
    }


def interval(regrets: Sequence[float]) -> Interval:
    """The mean over runs."""
    found = Moments.of(np.array(regrets)[:, None]).estimate
    return Interval.around(float(found.mean[0]), float(found.half_width[0]))


def ours(problem: Problem, visits: int, runs: int) -> Row:
    """As they are, restarting, discounted and windowed."""
    policies = [PLAIN, DETECTOR, EXPLORING, Restarting(), FADING, WINDOW]
    found = sj.simulate(problem, policies, visits=visits, runs=runs, checkpoints=[visits]).regret
    return {
        policy.label: Interval.around(found.mean[p, -1], found.half_width[p, -1])
        for p, policy in enumerate(policies)
    }


def table(columns: Mapping[str, Row]) -> Table:
    """A row for each policy, a column for each problem."""
    labels = next(iter(columns.values()))
    rows = [[label, *(str(of[label]) for of in columns.values())] for label in labels]
    return Table(["policy", *columns], rows)


def theirs(problem: Problem, changes: int, visits: int, runs: int) -> tuple[str, Row]:
    """The version of the package, and what its policies lost."""
    task = json.dumps(task_of(problem, changes, visits, runs))
    script = str(Path(__file__).parent / "peers" / PEER.script)
    said = _call([interpreter(PEER), script, task], PATIENCE)
    answer = json.loads(said.splitlines()[-1])
    regrets = answer["regrets"].items()
    return answer["version"], {label: interval(of_runs) for label, of_runs in regrets}


def main() -> None:
    """Play all of them, print the table, and write the page if there is to be one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=6, help="of each policy of SMPyBandits")
    parser.add_argument("--our-runs", type=int, default=400)
    parser.add_argument("--visits", type=int, default=VISITS)
    parser.add_argument("--page", type=Path, help="write the page for the documentation here")
    given = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)  # arms that are equal for a while
    columns, version = {}, ""
    for name, problem in PROBLEMS.items():
        try:
            version, lost = theirs(problem, CHANGES[name], given.visits, given.runs)
        except Unavailable as reason:
            raise SystemExit(f"{PEER.name} cannot be run here: {reason}") from None
        columns[name] = {**lost, **ours(problem, given.visits, given.our_runs)}
    print(table(columns).text())
    if given.page is not None:
        page = PAGE.format(
            visits=given.visits, version=version, runs=given.runs, our_runs=given.our_runs,
            table=table(columns).markdown(),
            command=f"python -m benchmarks.drift --runs {given.runs}",
        )  # fmt: skip
        given.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

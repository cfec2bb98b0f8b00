"""Run trials, keep what is finished, and write down what was found."""

import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from ...simulation import Progress, Result, StoreWarning, simulate
from ...theory import AssumptionWarning
from ..progress import Meter, Overall
from .outcomes import Findings, Outcome, from_dict, outcome_of
from .tastes import Tastes, simulate_tastes
from .trials import Trial

STORE, OUTCOMES = "chunks.db", "outcomes.json"


def run_trial(
    trial: Trial,
    runs: int,
    *,
    seed: int = 0,
    store: str | Path,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Simulate one trial."""
    problem, policies = trial.make(), list(trial.policies.values())
    with warnings.catch_warnings():
        # Half of the study is outside the paper's assumptions; and old chunks are simply not used.
        for category in (AssumptionWarning, StoreWarning):
            warnings.simplefilter("ignore", category)
        if isinstance(problem, Tastes):
            return simulate_tastes(
                problem, policies, visits=trial.visits, runs=runs, seed=seed,
                store=store, workers=workers, progress=progress,
            )  # fmt: skip
        return simulate(
            problem, policies, visits=trial.visits, runs=runs, seed=seed,
            checkpoints=[trial.visits], store=store, workers=workers, progress=progress,
        )  # fmt: skip


def run_all(
    trials: Iterable[Trial],
    *,
    quick: bool,
    seed: int,
    folder: Path,
    workers: int | None = None,
    progress: Callable[[Overall], None] | None = None,
) -> Findings:
    """Simulate all trials that have runs, and save what they found."""
    chosen = [trial for trial in trials if trial.runs(quick) > 0]
    meter = Meter({trial.name: effort(trial, quick) for trial in chosen}, progress)
    outcomes = []
    for trial in chosen:
        result = run_trial(
            trial,
            trial.runs(quick),
            seed=seed,
            store=folder / STORE,
            workers=workers,
            progress=meter.within(trial.name),
        )
        outcomes.append(outcome_of(trial, result))
    findings = Findings(outcomes)
    save(findings, folder, seed=seed, quick=quick)
    return findings


NANOSECONDS = {"sampling": 300.0}
"""A step of a roster's policies, if not the 15 of index policies."""


def effort(trial: Trial, quick: bool) -> float:
    """Seconds of one processor, about."""
    problem = trial.make()
    length = (problem.average if isinstance(problem, Tastes) else problem).length.mean
    steps = trial.visits * length * trial.runs(quick) * len(trial.policies)
    slow = 200.0 if isinstance(problem, Tastes) else NANOSECONDS.get(trial.roster, 15.0)
    return 1e-9 * slow * steps


def save(findings: Findings, folder: Path, *, seed: int, quick: bool) -> None:
    """Write all outcomes to one file."""
    data = {
        "seed": seed,
        "quick": quick,
        "outcomes": [outcome.to_dict() for outcome in findings.outcomes],
    }
    (folder / OUTCOMES).write_text(json.dumps(data) + "\n", encoding="utf-8")


def load(folder: Path, trials: Iterable[Trial]) -> tuple[Findings, int, bool]:
    """What `save` wrote, its seed, and whether it was quick."""
    path = folder / OUTCOMES
    if not path.exists():
        raise ValueError(f"{path} does not exist: run without redrawing first")
    data = json.loads(path.read_text(encoding="utf-8"))
    by_name = {trial.name: trial for trial in trials}
    found: list[Outcome] = [
        from_dict(by_name[row["trial"]], row) for row in data["outcomes"] if row["trial"] in by_name
    ]
    return Findings(found), int(data["seed"]), bool(data["quick"])

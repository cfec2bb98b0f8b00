"""The study of how far policies are from the least Bayes regret there can be."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.paper.trials import Trial

from ...study import Store, study
from .claims import CLAIMS
from .page import draw_headline, draw_limit, tables
from .trials import TRIALS, LimitOutcome, Limits


def _row(trial: Trial, data: Mapping[str, Any]) -> dict[str, Any]:
    return LimitOutcome.from_dict(trial.name, data).to_dict()


def _found(trials: Sequence[Trial], rows: Sequence[Mapping[str, Any]], path: Path) -> Limits:
    return Limits([LimitOutcome.from_dict(row["case"], row) for row in rows])


STUDY = study(
    "limit", TRIALS, CLAIMS, tables,
    {"limit-story": draw_headline, "limit": draw_limit}, Store(_row, _found, "case"),
)  # fmt: skip

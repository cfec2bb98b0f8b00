"""The file that a study keeps, from made-up outcomes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from research.study import OUTCOMES


def save(outcomes: Iterable[Any], folder: Path, *, seed: int = 0, quick: bool = True) -> None:
    """Write it as a study does."""
    data = {"seed": seed, "quick": quick, "outcomes": [found.to_dict() for found in outcomes]}
    (folder / OUTCOMES).write_text(json.dumps(data))

"""A few interleavings of the attack on erasure, by seed; `make attack` plays more of them."""

from collections.abc import Iterator
from pathlib import Path

import erasing
import postgres
import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'live.db'}"
    else:
        with postgres.server() as url:
            yield url


def test_no_erased_id_is_anywhere_and_no_step_is_lost(place: str, tmp_path: Path) -> None:
    report = erasing.run(place, tmp_path, "a test", 2)
    assert report.found == []
    assert report.rounds == 2 and report.erased > 0 and report.steps > 100


def test_a_broken_mechanism_is_found(tmp_path: Path) -> None:
    """SQLite leaves the id where it was, unless it is told to overwrite what it deletes."""
    place = f"sqlite:///{tmp_path / 'live.db'}"
    report = erasing.run(place, tmp_path, "a test", 1, broken="secure_delete")
    assert any("erased ids in the bytes of live.db" in sentence for sentence in report.found)

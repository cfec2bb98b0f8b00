"""The same numbers from PostgreSQL as from DuckDB, without moving the events."""

import json
from collections.abc import Iterator
from typing import Any

import ibis
import numpy as np
import pandas as pd
import postgres
import pytest
from engine_logs import WAYS, events, load

import sojourn as sj
from sojourn.cli.main import main


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres.server() as found:
        yield found


@pytest.fixture(scope="module")
def loaded(address: str) -> pd.DataFrame:
    frame = events()
    load(frame, address)
    return frame


def plain(fit: sj.Fit) -> dict[str, Any]:
    found = fit.to_dict()
    found["log"].pop("name")
    return found


def approximately(one: Any, other: Any) -> None:
    """Equal, numbers up to rounding: sums of fractions depend on the order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            approximately(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            approximately(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    else:
        assert one == other


@pytest.mark.parametrize("way", WAYS)
def test_the_same_from_postgres(way: str, address: str, loaded: pd.DataFrame) -> None:
    here = sj.fit(loaded, guess=False, **WAYS[way])
    there = sj.fit(address, table="events", guess=False, **WAYS[way])
    assert here.totals is not None
    assert there.totals is not None
    np.testing.assert_array_equal(here.totals.steps, there.totals.steps)
    np.testing.assert_array_equal(here.totals.arms.squares, there.totals.arms.squares)
    found = plain(there)
    assert found["log"]["spec"].pop("table") == "events"  # where it was read, and nothing else
    approximately(plain(here), found)


def test_nothing_is_left_behind_and_an_open_table_will_do(
    address: str, loaded: pd.DataFrame
) -> None:
    engine = ibis.connect(address)
    try:
        there = sj.fit(engine.table("events"), guess=False, **WAYS["visit"])
        assert engine.list_tables() == ["events"]
    finally:
        engine.disconnect()
    approximately(plain(there), plain(sj.fit(loaded, guess=False, **WAYS["visit"])))


def test_a_query_from_the_command_line(
    address: str, loaded: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT session, place AS step, topic AS arm, stars AS reward FROM events"
    arguments = ["fit", address, "--sql", query, "--threshold", "3", "--no-ema", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log"]["rows"] == len(loaded)


def test_an_engine_that_cannot_be_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "postgres://nobody@127.0.0.1:1/none", "--table", "events"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: events cannot be read: ")
    assert error.count("\n") == 1

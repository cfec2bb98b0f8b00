"""The same numbers from Spark and PostgreSQL as from DuckDB; one Spark for all tests here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import postgres
import pytest
import spark
from engine_logs import WAYS, events, load

import sojourn as sj
from sojourn.logs.model.totals import Totals

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    with spark.session() as session:
        yield ibis.pyspark.connect(session)


def totals(source: Any, **options: Any) -> Totals:
    found = sj.fit(source, guess=False, ema=False, **options).totals
    assert found is not None
    return found


def same(one: Totals, other: Totals) -> None:
    """To the last digit; sums of fractions over users up to their order."""
    np.testing.assert_array_equal(one.steps, other.steps)
    assert one.users == other.users
    assert one.arms.names == other.arms.names
    for name in ("pulls", "successes", "squares", "pairs"):
        np.testing.assert_array_equal(getattr(one.arms, name), getattr(other.arms, name))
    np.testing.assert_allclose(one.products, other.products, rtol=1e-12)


def test_the_same_totals_from_duckdb_postgres_and_spark(engine: Any, tmp_path: Path) -> None:
    frame = events()
    path = tmp_path / "events.parquet"
    frame.astype({"at": "datetime64[us]"}).to_parquet(path)
    table = engine.read_parquet(path)
    way = WAYS["screens"]
    here = totals(path, **way)
    same(here, totals(table, **way))
    with postgres.server() as address:
        load(frame, address)
        same(here, totals(address, table="events", **way))


def test_spark_reads_texts_and_keeps_nothing(engine: Any) -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(300)
    minutes = rows // 10 + rows % 10 * 25 + rng.integers(0, 20, 300)
    times = [pd.Timestamp("2024-01-01", tz="UTC") + pd.Timedelta(minutes=int(m)) for m in minutes]
    log = pd.DataFrame(
        {
            "user": [f"u{r // 10}" for r in rows],
            "arm": rng.choice(["x", "y"], 300),
            "reward": rng.choice(["yes", "no"], 300),
            "time": [t.tz_convert(f"+0{r % 3}:00").isoformat() for r, t in enumerate(times)],
        }
    )
    engine._session.createDataFrame(log).createOrReplaceTempView("texts")
    way = {"user": "user", "arm": "arm", "reward": "reward", "time": "time", "gap": "30min"}
    same(totals(log, **way), totals(engine.table("texts"), **way))
    left = [t for t in engine.list_tables() if t.startswith(("sojourn", "ibis_cache"))]
    assert left == []
    with pytest.raises(ValueError, match="the table has rows in no order: give step or time"):
        sj.fit(engine.table("texts"), visit="user", guess=False, arm="arm", reward="reward")

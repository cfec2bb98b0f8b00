"""Which columns are personal: a new one has to be classified here, or the first test fails."""

from pathlib import Path

import sojourn as sj
from sojourn.live import Experiment, SqliteStore, archiving, export
from sojourn.live.archiving import archive, erase
from sojourn.live.exporting import ExportRow
from sojourn.live.records import PERSONAL, Event

CHOSEN = {
    "actor", "arm", "detail", "experiment", "name", "request", "settings", "shadow_arm", "variant",
    "visit",
}  # fmt: skip
"""Names and ids that the caller chooses. They must not say who somebody is."""

OWN = {
    "after", "at", "bad", "bad_left", "base", "before", "candidates", "cause", "censored", "day",
    "deadline", "difference", "digest", "epoch", "events", "file", "gained", "good", "good_left",
    "group", "high", "i", "id", "j", "k", "kind", "left", "low", "metric", "n", "number", "opened",
    "pending", "position", "propensity", "pulls", "rank", "retired", "reward", "reward2", "seq",
    "start", "state", "status", "step", "steps", "steps2", "successes", "t", "threshold", "token",
    "touched", "until", "version", "visits", "what", "writer",
}  # fmt: skip
"""Numbers, times and words of this package. `group` is one of a thousand, by a hash of the user;
`id` is that of a visit, which the caller may choose, or of the store."""


def tables(store: SqliteStore) -> dict[str, set[str]]:
    """The columns of every table."""
    with store._reading() as run:
        names = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: {row[1] for row in run(f"PRAGMA table_info({table})")} for table in names}


def test_every_column_is_classified() -> None:
    """Those of all tables, of the files of the archive, and of exports."""
    pa, _ = archiving.pyarrow()
    written = {*archiving.schema_of(pa, Event).names, *ExportRow._fields}
    found = written.union(*tables(SqliteStore.in_memory()).values())
    assert found == {*CHOSEN, *OWN, *PERSONAL}
    assert len(found) == len(CHOSEN) + len(OWN) + len(PERSONAL)


def test_personal_columns_are_empty_after_an_erasure(tmp_path: Path) -> None:
    """In every table that has one, in the files, and in what is exported then."""
    with Experiment("news", ["a"], sj.policies.UCB(), compiled=False) as news:
        store = news.journal.store
        assert isinstance(store, SqliteStore)
        for visit in ("v", "w"):
            news.visit("anna", visit).choose()
            news.get(visit).end(1)
            if visit == "v":
                archive(store, "news", news.now() + 1.0, tmp_path)
        assert erase(store, "anna", tmp_path).archived == 1
        for table, held in tables(store).items():
            with store._reading() as run:
                for column in held.intersection(PERSONAL):
                    query = f'SELECT "{column}" FROM {table} WHERE "{column}" IS NOT NULL'
                    assert run(query) == []
                assert "anna" not in repr(run(f"SELECT * FROM {table}"))
        assert export(store, "news", tmp_path / "steps.csv", tmp_path) == 2
    assert "anna" not in (tmp_path / "steps.csv").read_text()

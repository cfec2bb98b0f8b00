"""What PostgreSQL may do to a running service: its clock jumps, its disk is full, it is away.

Killed processes, a killed database and a full disk under SQLite are in test_live_crash.py, the
wall clock under SQLite in test_live_stores.py.
"""

from collections.abc import Iterator

import postgres
import psycopg
import pytest
from rows import row_of

import sojourn as sj
from sojourn.live import Ask, Experiment, Journal, Unavailable, verify

FAKE_CLOCK = """
CREATE SCHEMA fake;
CREATE TABLE fake.jump (seconds DOUBLE PRECISION);
INSERT INTO fake.jump VALUES (0);
CREATE FUNCTION fake.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE SQL VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + seconds * INTERVAL ''1 second'' FROM fake.jump';
"""
"""A clock that a test can set: found before PostgreSQL's own by the search path below."""

SEARCH_PATH = "?options=-csearch_path%3Dfake,pg_catalog,public"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def test_the_clock_of_the_database_jumps(server: str) -> None:
    """Back: nothing ends early. Ahead: what looks idle has ended, as after a pause."""
    url = postgres.database(server, "clock")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(FAKE_CLOCK)

        def jump(seconds: float) -> None:
            db.execute("UPDATE fake.jump SET seconds = %s", (seconds,))

        with Journal(url + SEARCH_PATH, upkeep=False) as journal:
            experiment = Experiment(
                "news", ["a", "b"], sj.policies.UCB(), store=journal, reward_wait=60, compiled=False
            )
            visits = [experiment.visit(id=f"v{n}") for n in range(3)]
            for visit in visits:
                visit.choose()
            began = experiment.now()
            jump(-86_400.0)
            assert experiment.now() < began - 86_000
            assert experiment.sweep() == 0
            visits[0].choose(1)
            assert row_of(visits[0]).deadline < began - 86_000
            jump(0.0)
            assert experiment.sweep() == 1  # its last sign of life was on the day before
            assert [row_of(v).status for v in visits] == ["timed out", "open", "open"]
            jump(100.0)
            assert experiment.sweep() == 2  # the wait for rewards is over
            assert [row_of(v).pending for v in visits[1:]] == [0, 0]
            assert visits[1].reward(1) == "late"
            assert visits[1].choose() in experiment.arms
            jump(86_400.0)
            assert experiment.sweep() == 2
            assert {row_of(v).status for v in visits} == {"timed out"}
            jump(0.0)
            again = experiment.visit(id="after")
            again.choose()
            assert again.end(1)
            assert verify(journal.store, "news") == {}


def test_a_full_disk_of_the_database(server: str) -> None:
    """As PostgreSQL reports it. Calls fail with its words, and go on when there is room."""
    url = postgres.database(server, "disk")
    with Journal(url, upkeep=False) as journal, psycopg.connect(url, autocommit=True) as db:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False
        )
        visit = experiment.visit(id="v")
        visit.decide(Ask(request="r1"))
        db.execute(postgres.FULL_DISK)
        for _ in range(3):
            with pytest.raises(Unavailable, match=r"cannot be used .*could not extend file"):
                visit.decide(Ask(reward=1, request="r2"))
        assert row_of(visit).step == 1
        db.execute("DROP TRIGGER full_disk ON sojourn_event")
        assert visit.decide(Ask(reward=1, request="r2")).step == 2
        assert experiment.memory.clock[0] == 1
        assert verify(journal.store, "news") == {}


def test_the_database_is_away_and_back(server: str) -> None:
    """Connections are cut and new ones refused; then they are allowed again."""
    url = postgres.database(server, "away")
    with Journal(url, upkeep=False) as journal, psycopg.connect(server, autocommit=True) as db:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False
        )
        visit = experiment.visit(id="v")
        visit.decide(Ask(request="r1"))
        db.execute("ALTER DATABASE away ALLOW_CONNECTIONS false")
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'away'")
        for _ in range(2):
            with pytest.raises(Unavailable, match="the database cannot be used"):
                visit.decide(Ask(reward=1, request="r2"))
        with pytest.raises(Unavailable, match="the database cannot be used"):
            journal.check()
        db.execute("ALTER DATABASE away ALLOW_CONNECTIONS true")
        assert visit.decide(Ask(reward=1, request="r2")).step == 2
        journal.check()
        assert journal.store.writer == "writer 0"
        assert experiment.memory.clock[0] == 1
        assert verify(journal.store, "news") == {}

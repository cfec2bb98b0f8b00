"""Reading logs: what people have, visits, outcomes, bad rows; and the totals against a twin."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from logs_twin import NOT_KNOWN, sample_twin, twin

import sojourn as sj
from sojourn.logs import Fit, columns, sensitivity
from sojourn.logs.model import count
from sojourn.logs.model.sample import take
from sojourn.logs.model.totals import UNKNOWN, Totals
from sojourn.logs.reading import events, steps
from sojourn.logs.reading.source import ROW, kept, opened
from sojourn.logs.reading.spec import LogSpec, resolve, seconds
from sojourn.logs.synthetic import synthetic_log

PROBLEM = sj.Problem([0.7, 0.5, 0.4], sj.TwoState(q00=0.3, q01=0.15, q10=0.2, q11=0.1))


def a_log(visits: int = 300, seed: int = 0) -> dict[str, Any]:
    log = synthetic_log(
        PROBLEM, sj.policies.Uniform(), visits=visits, users=60, seed=seed, max_steps=20
    )
    kept = ("user", "visit", "step", "arm", "reward", "left", "censored")
    return {c: log[c] for c in kept}


def shuffled(log: dict[str, Any]) -> dict[str, Any]:
    order = np.random.default_rng(1).permutation(log["visit"].size)
    return {c: v[order] for c, v in log.items()}


def same_totals(one: Totals, other: Totals) -> None:
    np.testing.assert_array_equal(one.steps, other.steps)
    assert one.users == other.users
    assert one.arms.names == other.arms.names
    for name in ("pulls", "successes", "squares", "pairs"):
        np.testing.assert_array_equal(getattr(one.arms, name), getattr(other.arms, name))
    rare = ("others", "other_pulls", "other_successes", "min_pulls")
    assert [getattr(one.arms, r) for r in rare] == [getattr(other.arms, r) for r in rare]
    np.testing.assert_allclose(one.products, other.products, rtol=1e-12)


@contextmanager
def steps_of(source: Any, options: LogSpec) -> Iterator[Any]:
    with opened(source) as found:
        reading = resolve(options, [c for c in found.table.columns if c != ROW])
        with kept(*steps.steps(events.clean(found, reading), reading)) as table:
            yield table


def totals_of(source: Any, **options: Any) -> Totals:
    with steps_of(source, LogSpec(**options)) as table:
        return count.count(table, LogSpec(**options), "log")


def test_totals_are_those_of_the_twin() -> None:
    log = shuffled(a_log())
    rng = np.random.default_rng(2)
    unknown = rng.random(log["visit"].size) < 0.05
    with_gaps = {**log, "reward": np.where(unknown, NOT_KNOWN, log["reward"])}
    read = {**log, "reward": np.where(unknown, np.nan, log["reward"].astype(float))}
    same_totals(totals_of(read, bad="skip"), twin(with_gaps))

    with steps_of(read, LogSpec(bad="skip")) as table:
        found = take(table, twin(with_gaps))
    expected = sample_twin(with_gaps)
    assert found.names == expected.names
    for name in ("user", "visit", "step", "arm", "reward", "value", "end"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    known = expected.previous != UNKNOWN
    np.testing.assert_array_equal(found.previous[known], expected.previous[known])
    np.testing.assert_array_equal(found.held, expected.held)


def test_large_logs_are_sorted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    log = shuffled(a_log())
    log["time"] = log["visit"] * 5000 + log["step"] * 60
    whole = [sj.fit(log), sj.fit(log, gap="20min")]
    monkeypatch.setattr("sojourn.logs.reading.steps.AT_ONCE", log["visit"].size // 5)
    for one, other in zip(whole, [sj.fit(log), sj.fit(log, gap="20min")], strict=True):
        assert one.totals is not None
        assert other.totals is not None
        same_totals(one.totals, other.totals)


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    log = a_log(120)
    expected = twin(log)
    frame = pd.DataFrame(log)
    csv, packed, parquet = (tmp_path / f"log.{s}" for s in ("csv", "csv.gz", "parquet"))
    frame.to_csv(csv, index=False)
    frame.to_csv(packed, index=False)
    pl.DataFrame(log).write_parquet(parquet)
    engine = duckdb.connect()
    engine.register("frame", pa.table(log))
    sources = [
        frame,
        pl.DataFrame(log),
        pl.DataFrame(log).lazy(),
        pa.table(log),
        engine.sql("select * from frame"),
        ibis.memtable(pa.table(log)),
        ibis.polars.connect({"log": pl.DataFrame(log)}).table("log"),
        csv,
        str(packed),
        parquet,
    ]
    for source in sources:
        same_totals(totals_of(source), expected)
    assert sj.fit(str(parquet), ema=False).reading.name == "log.parquet"


def test_files_of_every_format_and_many_of_them(tmp_path: Path) -> None:
    log = a_log(120)
    expected = twin(log)
    kept = {c: v for c, v in log.items() if c != "step"}  # in the order of rows, over files
    table = pa.table(kept)
    writer = duckdb.connect()
    writer.register("log", table)
    cut = table.num_rows // 2
    for name in ("a.jsonl", "a.ndjson.gz", "a.jsonl.zst", "a.csv.zst", "a.tsv", "a.pq"):
        kind = "json" if "json" in name else "csv" if "sv" in name else "parquet"
        packed = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
        how = f"FORMAT {kind}" + (f", COMPRESSION {packed}" if packed else "")
        writer.execute(f"COPY log TO '{tmp_path / name}' ({how})")
        same_totals(totals_of(tmp_path / name), expected)
    for i, part in enumerate((table.slice(0, cut), table.slice(cut))):
        for kind in ("parquet", "csv"):
            folder = tmp_path / f"all-{kind}" / f"part-{i}"
            folder.mkdir(parents=True)
            write = pl.from_arrow(part)
            assert isinstance(write, pl.DataFrame)
            getattr(write, f"write_{kind}")(folder / f"x.{kind}")
    for kind in ("parquet", "csv"):
        every = tmp_path / f"all-{kind}"
        files = [every / "part-0" / f"x.{kind}", str(every / "part-1" / f"x.{kind}")]
        for source in (every, f"{every}/*/x.{kind}", f"{every}/**/x.{kind}", files):
            same_totals(totals_of(source), expected)
        assert sj.fit(files, ema=False).reading.name == "2 files"
    (tmp_path / "empty").mkdir()
    for source, message in [
        ([], r"source = \[\] is not allowed: a list must be one of files"),
        ([3], r"source = \[3\] is not allowed: a list must be one of files"),
        (tmp_path / "empty", "empty is not allowed: no file in it ends in .csv"),
        (f"{tmp_path}/*/none.csv", "none.csv cannot be read: there is no such file"),
        ([tmp_path / "a.pq", tmp_path / "a.tsv"], r"of different formats \(csv, parquet\)"),
        ([tmp_path / "a.pq", "log.txt"], "log.txt is not allowed: a log must end in"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            sj.fit(source)
        assert "\n" not in str(caught.value)


def test_a_query_of_a_duckdb_file(tmp_path: Path) -> None:
    log = a_log(120)
    path = tmp_path / "log.duckdb"
    with duckdb.connect(path) as engine:
        engine.register("frame", pa.table(log))
        engine.execute("CREATE TABLE events AS SELECT * FROM frame")
    for how in ({"sql": "SELECT * FROM events;"}, {"table": "events"}):
        found = sj.fit(f"duckdb://{path}", ema=False, **how).totals
        assert found is not None
        same_totals(found, twin(log))
    with pytest.raises(ValueError, match="the query cannot be read"):
        sj.fit(f"duckdb://{path}", sql="SELECT * FROM nothing")


def test_columns_as_arrays() -> None:
    log = a_log(20)
    np.testing.assert_array_equal(columns(pd.DataFrame(log), ["arm"])["arm"], log["arm"])
    with pytest.raises(ValueError, match="has no column 'propensity'"):
        columns(log, ["propensity"])


def counts(source: Any, **options: Any) -> dict[str, tuple[int, int]]:
    """Departures and steps of each cell, also where no fit can come of them."""
    found = totals_of(source, min_pulls=1, **options)
    rows = zip(("f0", "f1", "00", "01", "10", "11"), found.k, found.n, strict=True)
    return {c: (int(k), int(n)) for c, k, n in rows if n}


TIMES = {
    "user": list("aaaabb"),
    "arm": list("xyxyxy"),
    "reward": [1, 0, 1, 1, 0, 0],
    "time": [0, 60, 4000, 4060, 10, 5000],
}
CUT = {"f1": (0, 2), "10": (1, 1), "11": (1, 1), "f0": (2, 2)}


@pytest.mark.parametrize(
    "time",
    [
        TIMES["time"],
        [t + 1_700_000_000 for t in TIMES["time"]],
        [(t + 1_700_000_000) * 1000 for t in TIMES["time"]],
        [(t + 1_700_000_000) * 1_000_000 for t in TIMES["time"]],
        [(t + 1_700_000_000) * 1_000_000_000 for t in TIMES["time"]],
        [
            f"2024-01-0{1 + t // 86400}T0{t // 3600}:{t // 60 % 60:02}:{t % 60:02}"
            for t in TIMES["time"]
        ],
        pd.to_datetime(TIMES["time"], unit="s"),
        pd.to_datetime(TIMES["time"], unit="s", utc=True).tz_convert("Asia/Tokyo"),
    ],
    ids=[
        "seconds",
        "epoch",
        "milliseconds",
        "microseconds",
        "nanoseconds",
        "iso",
        "timestamps",
        "zoned",
    ],
)
def test_visits_by_gap(time: Any) -> None:
    frame = pd.DataFrame({**TIMES, "time": time})
    for rows in (frame, frame.iloc[::-1]):
        assert counts(rows, gap="30min", log_end="never") == CUT


ZONED = [
    f"2024-01-01T{2 + zone + t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}{text}"
    for t, (zone, text) in zip(
        TIMES["time"],
        [(2, "+02:00"), (-1, "-01:00"), (0, "Z"), (5, "+05"), (0, ""), (3, "+0300")],
        strict=True,
    )
]


@pytest.mark.parametrize("kind", ["csv", "pandas", "polars", "arrow", "parquet", "objects"])
def test_offsets_from_utc_count_everywhere(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({**TIMES, "time": ZONED})
    path = tmp_path / f"log.{kind}"
    made: dict[str, Callable[[], Any]] = {
        "csv": lambda: frame.to_csv(path, index=False) or path,
        "parquet": lambda: frame.to_parquet(path) or path,
        "pandas": lambda: frame,
        "objects": lambda: frame.astype({"time": object}),
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: pa.Table.from_pandas(frame),
    }
    assert counts(made[kind](), gap="30min", log_end="never") == CUT


def test_times_in_two_units_are_refused() -> None:
    log = {**TIMES, "time": [1.7e9, 1.7e9 + 60, 1.7e12, 1.7e12, 1.7e9, 1.7e9]}
    with pytest.raises(ValueError, match=r"time has times from 1.7e.09 to 1.7e.12, as if in"):
        sj.fit(log, gap="30min")
    assert counts(log, gap="30min", log_end="never", time_unit="s")


def test_times_that_are_no_numbers_are_bad_rows() -> None:
    log = {**TIMES, "time": [0.0, np.nan, np.inf, -np.inf, 10.0, 5000.0]}
    with pytest.raises(ValueError, match="3 with no user, visit or time"):
        sj.fit(log, gap="30min")


def test_a_guessed_position_does_not_override_the_time() -> None:
    log = {
        "visit": [1, 1, 1, 2, 2],
        "time": [10, 20, 30, 40, 40],
        "position": [3, 1, 2, 2, 1],
        "arm": list("xyxyx"),
        "reward": [1, 0, 0, 1, 0],
    }
    by_time = {"f1": (0, 1), "10": (0, 1), "00": (1, 1), "f0": (0, 1), "01": (1, 1)}
    by_position = {"f0": (0, 2), "00": (0, 1), "01": (2, 2)}
    assert counts(log) == counts(log, time="time") == by_time
    assert counts(log, step="position") == by_position
    assert counts({"Step" if c == "position" else c: v for c, v in log.items()}) == by_position
    assert counts({c: v for c, v in log.items() if c != "time"}) == by_position
    larger = {**a_log(), "time": a_log()["step"]}
    found = sj.fit({"position" if c == "step" else c: v for c, v in larger.items()}, ema=False)
    assert "steps are in the order of time, then of position" in found.reading.notes


def test_rows_without_step_or_time_are_steps_in_their_order() -> None:
    log = {c: v for c, v in a_log().items() if c != "step"}
    (note,) = sj.fit(log, ema=False).reading.notes
    assert note == "no step or time column: steps are in the order of the rows"
    note = sj.fit(shuffled(log), ema=False).reading.notes[0]
    assert "of 300 visits have rows of others between their own: if rows were shuffled" in note
    with pytest.raises(ValueError, match="the table has rows in no order: give step or time"):
        sj.fit(ibis.memtable(pa.table(log)))


def test_what_is_not_finite_is_no_success() -> None:
    log = {"visit": [1, 1, 2, 2, 3], "step": [1, 2, 1, 2, 1], "arm": list("xyxyy")}
    for kind in (float, str):
        rewards = [kind(r) for r in ("5", "inf", "-inf", "nan", "1")]
        with pytest.raises(ValueError, match="3 bad rows of 5"):
            sj.fit({**log, "reward": rewards}, threshold=3)
        found = counts({**log, "reward": rewards}, threshold=3, bad="skip")
        assert found == {"f1": (0, 1), "f0": (1, 1)}


def test_a_log_written_twice() -> None:
    log = shuffled(a_log())
    twice = {c: np.concatenate([v, v]) for c, v in log.items()}
    rows = log["visit"].size
    message = (
        f"the frame looks like a log written twice: {rows:,} of {2 * rows:,} rows are copies of "
        r"another \(same user, visit, step, arm and reward\): remove them, or give bad='skip'"
    )
    with pytest.raises(ValueError, match=message):
        sj.fit(twice)
    found = sj.fit(twice, bad="skip", ema=False)
    assert found.totals is not None
    same_totals(found.totals, twin(log))
    assert found.reading.bad == {"copies": rows}
    in_engine = sj.fit(ibis.memtable(pa.table(twice)), bad="skip", ema=False)
    assert in_engine.totals is not None
    same_totals(in_engine.totals, twin(log))


def test_copies_of_one_moment_may_be_items_of_one_screen() -> None:
    log = {
        "visit": np.repeat(np.arange(40), 4),
        "time": np.tile([0, 0, 7, 9], 40),
        "arm": np.tile(list("xxyx"), 40),
        "reward": np.concatenate([np.tile([1, 1, 0, 1], 20), np.tile([0, 0, 0, 0], 20)]),
    }
    found = sj.fit(log, ema=False)
    assert found.totals is not None
    assert found.totals.steps.sum() == 160
    assert any(n.startswith("40 of 160 rows are copies of another") for n in found.reading.notes)
    twice = {c: np.concatenate([v, v]) for c, v in log.items()}
    with pytest.raises(ValueError, match="written twice: 200 of 320 rows are copies"):
        sj.fit(twice)


def test_the_end_of_the_log_censors_visits_cut_by_a_gap() -> None:
    by_default = counts(TIMES, gap="30min")  # the log ends at 5000: 4060 + 1800 is beyond
    assert by_default == {"f1": (0, 2), "10": (1, 1), "f0": (1, 1)}
    assert counts(TIMES, gap="30min", log_end=1e6) == CUT


def test_idle_time_counts_from_the_end_of_an_event() -> None:
    lasting = {**TIMES, "took": [0, 3000, 0, 0, 0, 0]}
    one_visit = {"f1": (0, 1), "10": (0, 1), "01": (0, 1), "11": (1, 1), "f0": (2, 2)}
    assert counts(lasting, gap="30min", duration="took", log_end="never") == one_visit
    until = {**TIMES, "until": [0, 3060, 4000, 4060, 10, 5000]}
    assert counts(until, gap="30min", end="until", log_end="never") == one_visit


def test_visits_by_order_and_marked_ends() -> None:
    log = {"arm": list("xyxyx"), "reward": [1, 0, 1, 1, 0], "left": [0, 1, 0, 0, 1]}
    assert counts(log) == {"f1": (0, 2), "10": (2, 2), "11": (0, 1)}
    assert counts({**log, "left": [0, 1, 0, 0, 0], "censored": [0, 0, 0, 1, 0]}) == {
        "f1": (0, 2),
        "10": (1, 1),
    }


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("any", {"f1": (0, 2), "11": (2, 2)}),
        ("all", {"f0": (0, 2), "00": (2, 2)}),
        ("half", {"f1": (0, 2), "10": (2, 2)}),
    ],
)
def test_items_of_one_screen_become_one_step(ties: str, expected: dict[str, Any]) -> None:
    log = {
        "visit": [1] * 5 + [2] * 5,
        "time": [0, 0, 9, 9, 9] * 2,
        "arm": list("xyyxx") * 2,
        "reward": [1, 0, 0, 1, 0] * 2,
    }
    assert counts(log, ties=ties) == expected


def test_outcomes_are_read_from_words_grades_and_flags() -> None:
    log = {"visit": [1, 1, 2, 2], "step": [1, 2, 1, 2], "arm": list("xyxy")}
    expected = {"f1": (0, 1), "10": (1, 1), "f0": (0, 1), "01": (1, 1)}
    words = ["yes", "No", "false", "1.0"]
    for reward in ([1, 0, 0, 1], [True, False, False, True], [1.0, 0.0, 0.0, 1.0], words):
        assert counts({**log, "reward": reward}) == expected
    assert counts({**log, "reward": [5, 1, 2, 4]}, threshold=3.5) == expected
    assert counts({**log, "reward": ["5", "1", "2", "4"]}, threshold=3.5) == expected
    assert counts({**log, "reward": [True, False, False, True]}, threshold=0.5) == expected
    missing = counts({**log, "reward": [5, -1, 2, 4]}, threshold=3.5, unknown=[-1], bad="skip")
    assert missing == {"f1": (0, 1), "f0": (0, 1), "01": (1, 1)}


def test_a_bad_row_keeps_its_place() -> None:
    """Dropped, it would make the step before it a departure."""
    log = {"visit": [1, 1, 1, 2, 2], "arm": list("xyxyx"), "reward": [1.0, 0.0, None, None, 1.0]}
    frame = pd.DataFrame(log)
    assert counts(frame, bad="skip") == {"f1": (0, 1), "10": (0, 1)}


def test_propensities_are_carried_along() -> None:
    log = {**LOG, "time": [0, 0, 5, 9], "propensity": [0.5, 0.25, 1.0, 0.125]}
    for ties, expected in (("keep", [0.5, 0.25, 1.0, 0.125]), ("any", [0.5, 1.0, 0.125])):
        with steps_of(log, LogSpec(ties=ties)) as table:
            found = table.order_by(["visit", "step"]).to_pyarrow()["propensity"].to_pylist()
        assert found == expected
    named = {**LOG, "chance": ["0.5", "0.25", "1", "often"]}
    with steps_of(named, LogSpec(propensity="chance")) as table:
        found = table.order_by(["visit", "step"]).to_pyarrow()["propensity"].to_pylist()
    assert found == [0.5, 0.25, 1.0, None]


def test_items_are_mapped_to_arms_and_rare_ones_counted_together() -> None:
    log = a_log()
    items = {**log, "arm": np.char.add("item", (log["arm"] * 10 + log["step"] % 10).astype(str))}
    arms = {item: item[4:-1] or "0" for item in set(items["arm"].tolist())}
    same_totals(totals_of(items, arms=arms), twin(log))
    rare = totals_of(items, min_pulls=80)
    same_totals(rare, twin(items, min_pulls=80))
    assert rare.arms.others > 0
    some = {k: v for k, v in arms.items() if v != "2"}
    found = sj.fit(items, arms=some, bad="skip", ema=False)
    assert found.reading.bad == {"no arm": int((log["arm"] == 2).sum())}


def test_guesses_are_told() -> None:
    found = sj.fit(a_log(), ema=False)
    assert found.reading.guessed["reward"] == "reward"
    assert "columns guessed: visit = visit" in str(found)
    with pytest.raises(ValueError, match="say which column is the arm"):
        sj.fit(a_log(), guess=False, visit="visit", reward="reward")


def test_sensitivity_is_the_fit_under_other_definitions() -> None:
    log = a_log()
    rng = np.random.default_rng(3)
    log["grade"] = log["reward"] + rng.random(log["reward"].size)
    log["time"] = log["visit"] * 5000 + log["step"] * 60
    first, second = sensitivity(
        log, thresholds=[1.0], gaps=["20min"], reward="grade", threshold=0.5
    )
    assert first.counts == sj.fit(log, ema=False).counts
    assert first.name == "threshold 1"
    assert second.name == "gap 20min"
    log["grade"] = log["reward"]
    (again,) = sensitivity(log, gaps=["20min"], reward="grade", log_end="never")
    assert again.visits == sj.fit(log, ema=False).visits


LOG = {"visit": [1, 1, 2, 2], "arm": list("xyxy"), "reward": [1, 0, 0, 1]}
ALL_NULL = pd.DataFrame({**LOG, "reward": [1.0, 0.0, None, None]})

MISTAKES = [
    ("nowhere.csv", {}, "nowhere.csv cannot be read: there is no such file"),
    ("log.txt", {}, "log.txt is not allowed: a log must end in"),
    (3, {}, "source = int is not allowed: it must be a file"),
    ({"visit": [], "arm": [], "reward": []}, {}, "the frame has no rows"),
    (LOG, {"arm": "genre"}, "arm = 'genre' is not a column: there are visit, arm, reward"),
    ({"visit": [1], "arm": [1]}, {}, "say which column is the reward: there are visit, arm"),
    ({"arm": [1], "reward": [1]}, {}, "say what a visit is: give visit"),
    (LOG, {"gap": "30min"}, "gap needs a user and a time column"),
    (LOG, {"gap": "soon"}, "gap = 'soon' is not allowed: it must be a number of seconds"),
    (LOG, {"ties": "any"}, "ties needs a time column"),
    (LOG, {"ties": "some"}, "ties = 'some' is not allowed: it must be one of keep, any, all"),
    (LOG, {"bad": "drop"}, "bad = 'drop' is not allowed: it must be one of refuse, skip"),
    (LOG, {"visit": "visit", "gap": 5}, "give either visit or gap, not both"),
    (LOG, {"end": "a", "duration": "b"}, "give either end or duration, not both"),
    (LOG, {"min_pulls": 0}, "min_pulls = 0 is not allowed"),
    (LOG, {"threshold": "x"}, "threshold = 'x' is not allowed"),
    (LOG, {"visit": 3}, "visit = 3 is not allowed: it must be a column's name"),
    (
        ALL_NULL,
        {},
        r"the frame has 2 bad rows of 4 \(2 with no reward\), and 1 visit has no known reward at "
        "all: fix them, or give bad='skip'",
    ),
    (ALL_NULL.assign(reward=None), {}, "no known reward: all 4 rows of 'reward' are empty"),
    ({**LOG, "reward": [3, 4, 5, 2]}, {}, "no row of 'reward' is 0 or 1; if it is graded, give"),
    ({**LOG, "reward": [1, 0, 0, 7]}, {}, "1 with an outcome that is neither 0 nor 1"),
    ({**LOG, "time": [-1, 2, 3, 4]}, {}, "1 with a negative time"),
    ({**LOG, "arm": list("xxxx")}, {}, r"one arm only \(x\): a fit needs at least two"),
    ({**LOG, "censored": [0, 1, 0, 1]}, {}, "no departure: none of its 2 visits is seen to end"),
    ({**LOG, "arm": list("abcd")}, {"rare": "refuse", "min_pulls": 2}, "4 arms of 4 with fewer"),
    ({**LOG, "arm": list("abcd")}, {"min_pulls": 2}, "only 0 with at least 2 pulls"),
    ("duckdb://", {}, "give either table"),
    ("duckdb://", {"table": "nothing"}, "nothing cannot be read"),
    ({**LOG, "user": [7, 7, 7, 7]}, {}, "one user only: intervals are over users"),
    ({**LOG, "time": ["1", "2", "3", "soon"]}, {}, "4 with no user, visit or time"),
    (LOG, {"log_end": "soon"}, "log_end = 'soon' is not allowed"),
]


@pytest.mark.parametrize(("source", "options", "message"), MISTAKES)
def test_mistakes_get_one_sentence(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        sj.fit(source, **options)
    assert "\n" not in str(caught.value)


def test_what_an_engine_cannot_do_gets_one_sentence() -> None:
    log = {**LOG, "user": list("aabb"), "time": [1, 2, 3, 4], "spent": ["long", "1", "2", "3"]}
    with pytest.raises(ValueError, match="the frame cannot be read: ") as caught:
        sj.fit(log, gap="30min", duration="spent")
    assert "\n" not in str(caught.value)


def test_broken_files_get_one_sentence(tmp_path: Path) -> None:
    for name in ("broken.parquet", "broken.csv.gz"):
        broken = tmp_path / name
        broken.write_bytes(b"this is no such file")
        with pytest.raises(ValueError, match=f"{name} cannot be read") as caught:
            sj.fit(broken)
        assert "\n" not in str(caught.value)


def test_seconds() -> None:
    assert [seconds("gap", g) for g in ("30min", "1h", "1.5 hours", 90, "2days")] == [
        1800.0,
        3600.0,
        5400.0,
        90.0,
        172800.0,
    ]


def test_a_mark_before_the_last_step_is_told() -> None:
    log = a_log()
    log["left"] = log["left"].copy()
    log["left"][0] = 1
    if log["visit"][1] == log["visit"][0]:
        assert any("marked as the last" in note for note in sj.fit(log, ema=False).reading.notes)


def test_no_user_column_is_told() -> None:
    log = {c: v for c, v in a_log().items() if c != "user"}
    found = sj.fit(log, ema=False)
    assert isinstance(found, Fit)
    assert found.users == found.visits
    assert found.reading.notes == ("no user column: every visit counts as a user of its own",)


def test_a_spec_goes_to_json_and_back() -> None:
    spec = LogSpec(gap="30min", unknown=[-1], arms={7: "news", 8: "dance"}, guess=False)
    assert LogSpec(**json.loads(json.dumps(spec.given()))) == spec
    assert LogSpec().given() == {}


def test_a_fit_takes_a_spec_or_its_fields_or_both(tmp_path: Path) -> None:
    log = {"visit": [1, 1, 1, 2, 2, 3, 3, 3, 3], "arm": list("abaabbabb"),
           "stars": [4, 5, 2, 2, 1, 1, 4, 5, 2]}  # fmt: skip
    spec = LogSpec(reward="stars", threshold=5, arms={"a": "x", "b": "y"}, unknown=[-1])
    found = sj.fit(log, spec, ema=False, threshold=4)
    assert found == sj.fit(log, LogSpec(**{**spec.given(), "threshold": 4}), ema=False)
    assert found.reading.spec == replace(spec, visit="visit", arm="arm", threshold=4)
    found.save(tmp_path / "fit.npz")
    assert sj.Fit.load(tmp_path / "fit.npz") == found


@pytest.mark.parametrize("reads", [sj.fit, sj.logs.sensitivity, sj.logs.trajectories])
def test_a_field_that_a_spec_does_not_have_is_refused(reads: Any) -> None:
    with pytest.raises(sj.InputError) as refusal:
        reads(LOG, horizon=3)
    assert str(refusal.value).startswith("horizon is not allowed: it must be one of visit, user, ")
    with pytest.raises(sj.InputError, match="spec = 3 is not allowed: it must be a LogSpec"):
        reads(LOG, 3)

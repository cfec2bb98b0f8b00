"""Whatever holds the events becomes one Ibis table, in the engine where the data is."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROW = "sojourn_row"
"""The place of a row in its file or frame, for sources that have an order."""

MEMORY = "500MB"
"""What the embedded engine keeps in memory before it turns to the disk."""

READERS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


ENGINES = ("duckdb", "_duckdb", "ibis", "psycopg", "pyarrow")
"""Packages whose errors are about the log, not about this program."""


class Opened(NamedTuple):
    """A table of events, what to call it, and whether it is in an engine of our own.

    There its rows have an order, that of the file or frame: the column `ROW`.
    """

    table: Any
    name: str
    embedded: bool


@contextmanager
def opened(source: Any, table: str | None = None, sql: str | None = None) -> Iterator[Opened]:
    """The events as an Ibis table, for as long as the engine is needed.

    `source` is a path, a data frame, anything that speaks Arrow (a DuckDB relation does), a
    mapping of arrays, an Ibis table, or an address such as ``postgres://...`` with the name of a
    `table` or an `sql` query.

    >>> with opened({"a": [1, 2]}) as found:
    ...     found.table.columns, found.embedded
    (('sojourn_row', 'a'), True)
    """
    ibis = _ibis()
    if isinstance(source, ibis.Table):
        with _one_sentence("the table"):
            yield Opened(source, "the table", embedded=False)
    elif isinstance(source, str) and "://" in source:
        engine = _connected(ibis, source, table, sql)
        try:
            with _one_sentence(table or "the query"):
                yield _named(engine, table, sql)
        finally:
            engine.disconnect()
    else:
        with tempfile.TemporaryDirectory(prefix="sojourn") as spill:
            engine = ibis.duckdb.connect(memory_limit=MEMORY, temp_directory=spill)
            try:
                with _one_sentence(str(source) if isinstance(source, str | Path) else "the frame"):
                    yield _embedded(engine, source)
            finally:
                engine.disconnect()


def columns(source: Any, names: list[str]) -> dict[str, NDArray[Any]]:
    """These columns of a log as NumPy arrays, in the order of its rows.

    >>> columns({"arm": ["a", "b"], "reward": [0, 1]}, ["reward"])
    {'reward': array([0, 1])}
    """
    with opened(source) as found:
        missing = [n for n in names if n not in found.table.columns]
        if missing:
            has = ", ".join(n for n in found.table.columns if n != ROW)
            raise ValueError(f"{found.name} has no column {missing[0]!r}: there are {has}")
        table = found.table.order_by(ROW) if found.embedded else found.table
        read = table.select(*names).to_pyarrow()
        return {n: read[n].to_numpy(zero_copy_only=False) for n in names}


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    """What an engine complains of, long after the log was opened, as bad input."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ENGINES:
            raise
        raise ValueError(f"{name} cannot be read: {_first_line(error)}") from error


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        raise ValueError("logs need Ibis and DuckDB: pip install 'sojourn[logs]'") from None
    return ibis


def _connected(ibis: Any, address: str, table: str | None, sql: str | None) -> Any:
    if (table is None) == (sql is None):
        raise ValueError("with an address give either table (its name) or sql (a query)")
    try:
        return ibis.connect(address)
    except Exception as error:
        raise ValueError(f"{table or 'the query'} cannot be read: {_first_line(error)}") from None


def _named(engine: Any, table: str | None, sql: str | None) -> Opened:
    try:
        found = engine.table(table) if table is not None else engine.sql(sql)
    except Exception as error:
        raise ValueError(f"{table or 'the query'} cannot be read: {_first_line(error)}") from None
    return Opened(found, table or "the query", embedded=False)


def _embedded(engine: Any, source: Any) -> Opened:
    if isinstance(source, str | Path):
        return _from_file(engine, Path(source))
    return _from_frame(engine, source)


def _from_file(engine: Any, path: Path) -> Opened:
    suffix = next((s for s in sorted(READERS, key=len)[::-1] if path.name.endswith(s)), None)
    if suffix is None:
        raise ValueError(f"{path} is not allowed: a log must end in {', '.join(READERS)}")
    if "*" not in path.name and not path.exists():
        raise ValueError(f"{path} cannot be read: there is no such file")
    try:
        if READERS[suffix] == "parquet":
            found = engine.read_parquet(path, file_row_number=True)
            return Opened(found.rename({ROW: "file_row_number"}), path.name, embedded=True)
        found = engine.read_csv(path, sample_size=-1)
        return Opened(_numbered(found), path.name, embedded=True)
    except Exception as error:
        raise ValueError(f"{path} cannot be read: {_first_line(error)}") from None


def _numbered(table: Any) -> Any:
    import ibis

    return table.mutate(**{ROW: ibis.row_number()})


def _from_frame(engine: Any, source: Any) -> Opened:
    import pyarrow as pa

    if isinstance(source, Mapping):
        source = pa.table({k: np.asarray(v) for k, v in source.items()})
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()  # a lazy frame of polars
    if not hasattr(source, "__arrow_c_stream__"):
        raise ValueError(
            f"source = {type(source).__name__} is not allowed: it must be a file, a data frame, "
            "a DuckDB relation, an Ibis table, or an address with a table"
        )
    reader = pa.RecordBatchReader.from_stream(source)
    engine.con.register("sojourn_frame", reader)
    engine.con.execute(
        f"CREATE TABLE sojourn_events AS SELECT row_number() OVER () AS {ROW}, * FROM sojourn_frame"
    )
    return Opened(engine.table("sojourn_events"), "the frame", embedded=True)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__

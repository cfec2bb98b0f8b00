"""Sources of events become one Ibis table, in the engine where the data is."""

import glob
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ...extras import require
from ...validation import InputError

ROW = "sojourn_row"
"""The place of a row in its file or frame, for sources that have an order."""

MEMORY = "500MB"
"""Memory that the embedded engine uses before it turns to the disk."""

FEW_TEXTS = 1_000
"""A column of no more different texts is kept as numbers in the embedded engine."""

ENGINES = (
    "_duckdb", "datafusion", "duckdb", "ibis", "polars", "psycopg", "py4j", "pyarrow", "pyspark"
)  # fmt: skip
"""Packages whose errors are about the log, not about Sojourn."""

FORMATS = {
    "csv": (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"),
    "json": (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".ndjson.gz", ".ndjson.zst"),
    "parquet": (".parquet", ".pq"),
}
"""Suffixes of files, by their format."""

SUFFIXES, WILD = sum(FORMATS.values(), ()), "*?["


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

    `source` is a path, a pattern of paths, a folder, a list of these, a data frame, anything that
    speaks Arrow (a DuckDB relation does), a mapping of arrays, an Ibis table, or an address such as
    ``postgres://...`` with the name of a `table` or an `sql` query.
    """
    ibis = _ibis()
    if isinstance(source, ibis.Table):
        engine = source._find_backend(use_default=True).name
        if engine == "datafusion":
            raise InputError("the table is in DataFusion, which is not supported: give its files")
        if engine == "polars":  # which does less, and has its rows in this process already
            source = source.to_pyarrow()
    with ExitStack() as stack:
        if isinstance(source, ibis.Table):
            found = Opened(source, "the table", embedded=False)
        elif isinstance(source, str) and "://" in source:
            if (table is None) == (sql is None):
                raise InputError("with an address give either table (its name) or sql (a query)")
            name = table or "the query"
            with _readable(name, opening=True):
                engine = ibis.connect(source)
                stack.callback(engine.disconnect)
                rows = engine.table(table) if table is not None else _query(engine, str(sql))
            found = Opened(rows, name, embedded=False)
        else:
            spill = stack.enter_context(tempfile.TemporaryDirectory(prefix="sojourn"))
            engine = ibis.duckdb.connect(memory_limit=MEMORY, temp_directory=spill)
            stack.callback(engine.disconnect)
            if isinstance(source, str | Path | list | tuple):
                paths, name = find(source)
                with _readable(name, opening=True):
                    found = Opened(_read(engine, paths), name, embedded=True)
            else:
                with _readable("the frame"):
                    found = _from_frame(engine, source)
        with _readable(found.name):
            yield found


def columns(source: Any, names: list[str]) -> dict[str, NDArray[Any]]:
    """These columns of a log as NumPy arrays, in the order of its rows.

    >>> columns({"arm": ["a", "b"], "reward": [0, 1]}, ["reward"])
    {'reward': array([0, 1])}
    """
    with opened(source) as found:
        missing = [n for n in names if n not in found.table.columns]
        if missing:
            has = ", ".join(n for n in found.table.columns if n != ROW)
            raise InputError(f"{found.name} has no column {missing[0]!r}: there are {has}")
        table = found.table.order_by(ROW) if found.embedded else found.table
        return fetched(table.select(*names))


@contextmanager
def kept(first: Any, *more: Any) -> Iterator[Any]:
    """The rows of some queries together, as a temporary table of their engine."""
    engine, name = first._find_backend(use_default=True), f"sojourn_{uuid4().hex}"
    if engine.name == "pyspark":  # which has no temporary tables, but remembers answers
        with first.cache() as table:
            yield table
        return
    if engine.name == "duckdb":  # where Ibis would turn coded columns back into texts
        engine.raw_sql(f"CREATE TEMP TABLE {name} AS {_ibis().to_sql(first)}")
        table = engine.table(name)
    else:
        table = engine.create_table(name, first, temp=True)
    try:
        for query in more:
            engine.raw_sql(f"INSERT INTO {name} {_ibis().to_sql(query)}")
        yield table
    finally:
        engine.drop_table(name)


def fetched(query: Any) -> dict[str, NDArray[Any]]:
    """The columns of a query's answer."""
    read = query.to_pyarrow()
    return {c: _array(read[c]) for c in read.column_names}


def _array(column: Any) -> NDArray[Any]:
    """Equal texts are one object, which is what takes time and memory in large answers."""
    import pyarrow.types as kinds

    if not kinds.is_string(column.type) and not kinds.is_large_string(column.type):
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return found
    texts = column.combine_chunks().dictionary_encode()
    values = np.append(texts.dictionary.to_numpy(zero_copy_only=False), [None]).astype(object)
    where: NDArray[Any] = values[texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return where


def coded(table: Any, column: str) -> Any:
    """The same table, in which the embedded engine keeps a column of few texts as numbers."""
    engine, name = table._find_backend(), f"sojourn_{uuid4().hex}"
    texts = table.select(column).distinct().limit(FEW_TEXTS + 1).to_pyarrow().drop_null()
    if len(texts) > FEW_TEXTS:
        return table
    engine.con.register(f"{name}_texts", texts)
    engine.raw_sql(f"CREATE TYPE {name} AS ENUM (SELECT {column} FROM {name}_texts ORDER BY 1)")
    engine.raw_sql(
        f"CREATE TEMP VIEW {name}_view AS SELECT * REPLACE ({column}::{name} AS {column}) "
        f"FROM ({_ibis().to_sql(table)})"
    )
    return engine.table(f"{name}_view")


def scalar(expression: Any) -> Any:
    """The one value that an expression stands for."""
    return expression.to_pyarrow().as_py()


def try_cast(column: Any, kind: str) -> Any:
    """The column as another type, null where its text does not fit, if the engine can do that."""
    import ibis.expr.operations as ops

    able = column._find_backend(use_default=True).has_operation(ops.TryCast)
    return column.try_cast(kind) if column.type().is_string() and able else column.cast(kind)


@contextmanager
def _readable(name: str, opening: bool = False) -> Iterator[None]:
    """Errors of an engine as bad input, in one sentence; while opening, those of any package."""
    try:
        yield
    except Exception as error:
        if not opening and type(error).__module__.partition(".")[0] not in ENGINES:
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{name} cannot be read: {lines[0]}") from error


def _ibis() -> Any:
    require("a log", "logs", "ibis", "duckdb")
    import ibis

    return ibis


def _query(engine: Any, sql: str) -> Any:
    if engine.name != "duckdb":
        return engine.sql(sql)
    name = f"sojourn_{uuid4().hex}"  # Ibis 12 asks DuckDB 2 for what it no longer has
    engine.raw_sql(f"CREATE TEMP VIEW {name} AS {sql.strip().rstrip(';')}")
    return engine.table(name)


def _from_frame(engine: Any, source: Any) -> Opened:
    import pyarrow as pa

    if isinstance(source, Mapping):
        source = pa.table({k: np.asarray(v) for k, v in source.items()})
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()  # a lazy frame of polars
    if not hasattr(source, "__arrow_c_stream__"):
        raise InputError(
            f"source = {type(source).__name__} is not allowed: it must be a file, a data frame, "
            "a DuckDB relation, an Ibis table, or an address with a table"
        )
    reader = pa.RecordBatchReader.from_stream(source)
    engine.con.register("sojourn_frame", reader)
    engine.con.execute(
        f"CREATE TABLE sojourn_events AS SELECT row_number() OVER () AS {ROW}, * FROM sojourn_frame"
    )
    return Opened(engine.table("sojourn_events"), "the frame", embedded=True)


def find(source: str | Path | Sequence[str | Path]) -> tuple[list[str], str]:
    """The files of a path, a pattern such as ``logs/*/part.parquet``, a folder, or a list of these.

    All of one format and in their order, and what to call them.
    """
    given = [source] if isinstance(source, str | Path) else list(source)
    if not given or not all(isinstance(one, str | Path) for one in given):
        raise InputError(f"source = {source!r} is not allowed: a list must be one of files")
    paths = [path for one in given for path in _paths(Path(one))]
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"{given[0] if len(given) == 1 else 'the list of files'} is not allowed: it has files "
            f"of different formats ({', '.join(sorted(formats))})"
        )
    return paths, Path(given[0]).name if len(given) == 1 else f"{len(paths):,} files"


def _paths(path: Path) -> list[str]:
    if path.is_dir():
        inside = [p for p in path.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file()]
        if not inside:
            raise InputError(f"{path} is not allowed: no file in it ends in {', '.join(SUFFIXES)}")
        return [str(p) for p in sorted(inside)]
    if not path.name.endswith(SUFFIXES):
        raise InputError(f"{path} is not allowed: a log must end in {', '.join(SUFFIXES)}")
    # Path.glob takes no pattern that begins with a slash.
    wild = not path.exists() and any(sign in str(path) for sign in WILD)
    found = sorted(glob.glob(str(path), recursive=True)) if wild else [str(path)]  # noqa: PTH207
    if not found or not Path(found[0]).exists():
        raise InputError(f"{path} cannot be read: there is no such file")
    return found


def _format(path: str) -> str:
    return next(format_ for format_, suffixes in FORMATS.items() if path.endswith(suffixes))


def _read(engine: Any, paths: list[str]) -> Any:
    """The rows of files in DuckDB, with their place in the column `ROW`."""
    if _format(paths[0]) == "parquet" and len(paths) == 1:
        found = engine.read_parquet(paths[0], file_row_number=True)
        return found.rename({ROW: "file_row_number"})
    if _format(paths[0]) == "parquet":
        found = engine.read_parquet(paths)
    elif _format(paths[0]) == "csv":
        found = engine.read_csv(paths, sample_size=-1)
    else:
        found = engine.read_json(paths, format="newline_delimited", sample_size=-1)
    return found.mutate(**{ROW: _ibis().row_number()})

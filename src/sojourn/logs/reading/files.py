"""Files of a log: which they are, and a table of their rows."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...validation import InputError

PACKED = ("", ".gz", ".zst")

FORMATS = {
    "csv": tuple(f".{kind}{packed}" for kind in ("csv", "tsv") for packed in PACKED),
    "json": tuple(f".{kind}{packed}" for kind in ("jsonl", "ndjson") for packed in PACKED),
    "parquet": (".parquet", ".pq"),
}
"""How files end, by their format."""

SUFFIXES = tuple(suffix for suffixes in FORMATS.values() for suffix in suffixes)

WILD = ("*", "?", "[")


class Files(NamedTuple):
    """Files of one format, in their order, and what to call them."""

    paths: list[str]
    format: str
    name: str


def find(source: str | Path | Sequence[str | Path]) -> Files:
    """The files of a path, a pattern such as ``logs/*/part.parquet``, a folder, or a list of these.

    >>> find("nowhere/*.csv")
    Traceback (most recent call last):
    sojourn.InputError: nowhere/*.csv cannot be read: there is no such file
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
    name = Path(given[0]).name if len(given) == 1 else f"{len(paths):,} files"
    return Files([str(path) for path in paths], formats.pop(), name)


def _paths(path: Path) -> list[Path]:
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file())
        if not inside:
            raise InputError(f"{path} is not allowed: no file in it ends in {', '.join(SUFFIXES)}")
        return inside
    if not path.name.endswith(SUFFIXES):
        raise InputError(f"{path} is not allowed: a log must end in {', '.join(SUFFIXES)}")
    if path.exists():
        return [path]
    wild = any(sign in str(path) for sign in WILD)
    # Path.glob takes no pattern that begins with a slash.
    found = sorted(glob.glob(str(path), recursive=True)) if wild else []  # noqa: PTH207
    if not found:
        raise InputError(f"{path} cannot be read: there is no such file")
    return [Path(one) for one in found]


def _format(path: Path) -> str:
    return next(f for f, suffixes in FORMATS.items() if path.name.endswith(suffixes))


def read(engine: Any, files: Files, row: str) -> Any:
    """The rows of files in DuckDB, with their place in a column `row`."""
    import ibis

    if files.format == "parquet" and len(files.paths) == 1:
        found = engine.read_parquet(files.paths[0], file_row_number=True)
        return found.rename({row: "file_row_number"})
    if files.format == "parquet":
        found = engine.read_parquet(files.paths)
    elif files.format == "csv":
        found = engine.read_csv(files.paths, sample_size=-1)
    else:
        found = engine.read_json(files.paths, format="newline_delimited", sample_size=-1)
    return found.mutate(**{row: ibis.row_number()})

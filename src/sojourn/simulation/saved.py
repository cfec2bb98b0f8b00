"""Results in files: a long CSV table after one line of comment that says what was simulated.

    # sojourn-result 1 {"problem": ..., "policies": ..., "sha256": ...}
    policy,versus,visits,quantity,level,arm,runs,mean,squares,std_error

`pandas.read_csv(path, comment="#")` and `polars.read_csv(path, comment_prefix="#")` read the
table. Numbers are written so that they are read as the same bits; the digest is of all that
follows the first line.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from .. import problem_files as files
from ..engine.kernel import columns
from ..policies import POLICIES, Policy
from ..problem import Problem
from ..registry import described
from ..stats.moments import Moments
from ..validation import InputError
from .precision import Precision

if TYPE_CHECKING:
    from .result import Result

MARK = b"# sojourn-result 1 "  # and its format
SUFFIXES = (".csv", ".csv.gz")


def check_path(path: str | Path) -> Path:
    """The path, if a result can be saved there."""
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise InputError(f"{path}: a file of results must end in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    return path


def save(result: "Result", path: str | Path) -> None:
    """Write the file; see `Result.save`."""
    path = check_path(path)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    data = result.to_columns()
    writer.writerow(data)
    writer.writerows(zip(*data.values(), strict=True))
    body = table.getvalue().encode()
    problem = None
    with suppress(InputError):  # of a user model of one's own
        problem = files.to_dict(result.problem)
    head = {
        "version": result.version,
        "problem": problem,
        "problem_text": repr(result.problem),
        "policies": [_policy_data(policy) for policy in result.policies],
        "checkpoints": result.checkpoints.tolist(),
        "streams": [[list(stream) for stream in streams] for streams in result.streams],
        "pairs": [moments.runs for moments in result.pairs],
        "precision": None if result.precision is None else asdict(result.precision),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    written = MARK + json.dumps(head).encode() + b"\n" + body
    _replace(path, gzip.compress(written, mtime=0) if path.suffix == ".gz" else written)


def load(
    path: str | Path, problem: Problem | None = None, policies: Sequence[Policy] | None = None
) -> "Result":
    """Read the file; see `Result.load`."""
    path = Path(path)
    try:
        head, body = _read(path)
        return _result(head, body, problem, policies)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        written = path.read_bytes()
        if path.suffix == ".gz":
            written = gzip.decompress(written)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError("the file is damaged: it cannot be unpacked") from None
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or str(error)).lower()})") from None
    first, _, body = written.partition(b"\n")
    if not first.startswith(MARK):
        raise InputError(
            "not a result that this version of sojourn reads: its first line must begin with "
            f"{MARK.decode()!r}"
        )
    try:
        head: dict[str, Any] = json.loads(first.removeprefix(MARK))
        intact = head["sha256"] == hashlib.sha256(body).hexdigest()
    except (ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise InputError("the file is damaged, or it was changed after it was saved")
    return head, body


def _result(
    head: dict[str, Any], body: bytes, problem: Problem | None, policies: Sequence[Policy] | None
) -> "Result":
    from .result import Result, Stream

    problem = _problem(head, problem)
    found = _policies(head, policies)
    grid = np.array(head["checkpoints"], np.int64)
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    mean, squares = (np.array([float(row[name]) for row in rows]) for name in ("mean", "squares"))
    shape = (len(found), grid.size, columns(problem.user.space.bins, problem.arms))
    own = int(np.prod(shape))
    streams = tuple(tuple(Stream(*stream) for stream in row) for row in head["streams"])

    def moments(part: slice, shape: tuple[int, ...], runs: list[int]) -> tuple[Moments, ...]:
        tables = (mean[part].reshape(shape), squares[part].reshape(shape))
        return tuple(Moments(*one) for one in zip(runs, *tables, strict=True))

    return Result(
        problem=problem,
        policies=found,
        checkpoints=grid,
        moments=moments(slice(own), shape, [sum(s.runs for s in row) for row in streams]),
        pairs=moments(slice(own, None), (-1, grid.size), head["pairs"]),
        streams=streams,
        precision=None if head["precision"] is None else Precision(**head["precision"]),
        version=head["version"],
    )


def _problem(head: dict[str, Any], given: Problem | None) -> Problem:
    text = head["problem_text"]
    if given is not None and repr(given) != text:
        raise InputError(f"the result is of {text}, not of the problem given")
    if given is None and head["problem"] is None:
        raise InputError(f"its user model is not of this package: load it with problem={text}")
    return files.from_dict(head["problem"]) if given is None else given


def _policy_data(policy: Policy) -> dict[str, Any]:
    name, parameters = described(policy)
    plain = all(isinstance(v, bool | int | float | str) for v in parameters.values())
    known = plain and POLICIES.get(name) is type(policy)
    return {"name": name, "parameters": parameters if known else None, "text": repr(policy)}


def _policies(head: dict[str, Any], given: Sequence[Policy] | None) -> tuple[Policy, ...]:
    texts = [data["text"] for data in head["policies"]]
    if given is not None:
        if [repr(policy) for policy in given] != texts:
            raise InputError(f"the result is of {', '.join(texts)}, not of the policies given")
        return tuple(given)
    found = []
    for data in head["policies"]:
        if data["parameters"] is None or data["name"] not in POLICIES:
            raise InputError(
                f"{data['text']} is not a policy of this package: "
                f"load it with policies=[{', '.join(texts)}]"
            )
        found.append(POLICIES[data["name"]](**data["parameters"]))
    return tuple(found)


def _replace(path: Path, content: bytes) -> None:
    """Put a file in place as a whole: a reader finds the old one or the new one."""
    new = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with new.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            new.chmod(path.stat().st_mode)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)

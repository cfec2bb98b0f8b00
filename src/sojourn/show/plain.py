"""Values as plain data, what JSON can say and nothing else; and data that packages ship."""

import json
import tomllib
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.resources import files
from math import isfinite
from pathlib import PurePath
from typing import Any


def plain(value: Any) -> Any:
    """The same value in dicts, lists, strings, numbers, booleans and None.

    Dataclasses and named tuples become dicts, NumPy arrays lists and enums their values. Numbers
    that JSON does not have (infinity, NaN) become None.

    >>> from sojourn.stats.intervals import Interval
    >>> plain({"gain": Interval(1.0, 0.5, float("inf")), "shares": {0.5: (1, 2)}})
    {'gain': {'value': 1.0, 'low': 0.5, 'high': None}, 'shares': {'0.5': [1, 2]}}
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in value.items()}
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if hasattr(value, "tolist"):  # a NumPy array or scalar
        return plain(value.tolist())
    if isinstance(value, Sequence | Set):
        return [plain(v) for v in value]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{value!r} has no plain form")


def to_json(value: Any) -> str:
    """The value as JSON for people and programs: indented, not escaped, always valid."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def from_toml(package: str, name: str) -> dict[str, Any]:
    """The data in a TOML file of a package."""
    return tomllib.loads((files(package) / name).read_text(encoding="utf-8"))


def _key(key: Any) -> str:
    if isinstance(key, float):
        return f"{key:g}"
    return key if type(key) is str else str(plain(key))

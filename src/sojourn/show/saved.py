"""Results in a file: arrays as npz, and how they make up the value as JSON beside them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..validation import InputError

Arrays = dict[str, NDArray[Any]]
OUTLINE = "outline"
"""The array of characters that holds the JSON."""


def save(value: Any, path: str | Path) -> None:
    """Write a value of dataclasses, named tuples, containers, arrays and numbers."""
    outline, arrays = taken_apart(value)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **{OUTLINE: np.array(json.dumps(outline))}, **arrays)  # type: ignore[arg-type]


def load(path: str | Path, kinds: Iterable[type]) -> Any:
    """The value that was saved; `kinds` are the classes it may be made of."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        outline = json.loads(str(arrays.pop(OUTLINE)))
        return _together(outline, arrays, {kind.__name__: kind for kind in kinds})
    except (OSError, BadZipFile, ValueError, KeyError, TypeError):
        raise InputError(
            f"path = {str(path)!r} is not allowed: it must be a file that was saved"
        ) from None


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in every part, arrays to the last bit (NaN equals NaN)."""
    (outline, arrays), (outline_2, arrays_2) = taken_apart(one), taken_apart(other)
    # Texts, since NaN is not equal to itself as a number.
    return json.dumps(outline) == json.dumps(outline_2) and all(
        np.array_equal(array, arrays_2[name], equal_nan=array.dtype.kind == "f")
        for name, array in arrays.items()
    )


def taken_apart(value: Any) -> tuple[Any, Arrays]:
    """A value as JSON, with a number in place of each array, and the arrays."""
    arrays: Arrays = {}
    return _outline(value, arrays), arrays


def _outline(value: Any, arrays: Arrays) -> Any:
    """Scalars as they are; anything else is a list or a dict that `_together` understands."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return {"objects": _outline(tuple(value.tolist()), arrays)}
        name = str(len(arrays))
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Mapping):
        return [{}, [[_outline(k, arrays), _outline(v, arrays)] for k, v in value.items()]]
    if is_dataclass(value) or hasattr(value, "_asdict"):
        names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
        parts = {name: _outline(getattr(value, name), arrays) for name in names}
        return {"kind": type(value).__name__, "parts": parts}
    if isinstance(value, tuple | list):
        return [[], [_outline(item, arrays) for item in value]]
    raise TypeError(f"{value!r} cannot be saved")


def _together(outline: Any, arrays: Arrays, kinds: dict[str, type]) -> Any:
    if isinstance(outline, list):
        shape, items = outline
        if shape == {}:
            return {_together(k, arrays, kinds): _together(v, arrays, kinds) for k, v in items}
        return tuple(_together(item, arrays, kinds) for item in items)
    if not isinstance(outline, dict):
        return outline
    if "array" in outline:
        return arrays[outline["array"]]
    if "objects" in outline:
        return np.array(_together(outline["objects"], arrays, kinds), dtype=object)
    parts = {name: _together(part, arrays, kinds) for name, part in outline["parts"].items()}
    return kinds[outline["kind"]](**parts)

"""Plain data: every type that results have, and JSON that every parser takes."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, StrEnum
from math import inf, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sojourn.show.plain import plain, to_json


class Pair(NamedTuple):
    low: float
    high: float


class Colour(Enum):
    RED = 1


class Word(StrEnum):
    YES = "yes"


@dataclass(frozen=True)
class Finding:
    name: str
    range: Pair
    parts: tuple["Finding", ...] = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        ("ε", "ε"),
        (nan, None),
        (-inf, None),
        (np.float64(0.25), 0.25),
        (np.float64(inf), None),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([[1.0, nan], [2.0, 3.0]]), [[1.0, None], [2.0, 3.0]]),
        (np.array([1, 2]), [1, 2]),
        (Colour.RED, 1),
        (Word.YES, "yes"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({4}, [4]),
        (Path("a/b"), "a/b"),
        (Pair(0.0, inf), {"low": 0.0, "high": None}),
        (OrderedDict(a=(1,)), {"a": [1]}),
        ({0.5: 1, 1.0: 2, 2_000_000: 3, Word.YES: 4}, {"0.5": 1, "1": 2, "2000000": 3, "yes": 4}),
        (
            Finding("all", Pair(0, 1), (Finding("one", Pair(0, nan)),)),
            {
                "name": "all",
                "range": {"low": 0, "high": 1},
                "parts": [{"name": "one", "range": {"low": 0, "high": None}, "parts": []}],
            },
        ),
    ],
)
def test_every_kind_of_value_has_a_plain_form(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert json.loads(to_json(value)) == expected


def test_plain_values_have_plain_types() -> None:
    found = plain({"x": np.float64(1.5), "n": np.int64(2), "word": Word.YES})
    assert [type(v) for v in found.values()] == [float, int, str]


def test_what_has_no_plain_form_is_an_error() -> None:
    with pytest.raises(TypeError, match="has no plain form"):
        plain({"what": object()})


def test_json_is_indented_and_keeps_letters() -> None:
    assert to_json({"ε": [1]}) == '{\n  "ε": [\n    1\n  ]\n}'

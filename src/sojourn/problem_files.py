"""Problem files: a problem as TOML, JSON or a plain dictionary.

The format is the same everywhere and is described in docs/problem-files.md. Every error is one
sentence that names the key, the value and what is allowed.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from . import checks
from .problem import Problem
from .users import USERS, StaysFirst, User

SUFFIXES = (".toml", ".json")

Dict = Mapping[str, Any]


def load(path: str | Path) -> Problem:
    """The problem in a .toml or .json file; ValueError names the file and what is wrong with it."""
    path = Path(path)
    try:
        return from_dict(_read(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def from_dict(data: Dict) -> Problem:
    """The problem that a dictionary in the format of the files describes.

    >>> q = {"q00": 1, "q01": 0, "q10": 0, "q11": 0}
    >>> from_dict({"means": [0.9, 0.8], "user": {"model": "two-state", **q}})
    Problem(means=(0.9, 0.8), user=TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0))
    >>> from_dict({"means": [0.9, 0.8], "user": {"model": "ema", "theta": 0.5}})
    Traceback (most recent call last):
    ValueError: user.c6 is missing: an ema user has model, theta, c6, start, stays_first
    """
    names = ("means", "user")
    checks.keys("", _table("a problem", data), required=names, known=names, whose="a problem")
    user = _table("user", data["user"])
    means = data["means"]
    if not isinstance(means, Sequence) or isinstance(means, str):
        raise ValueError(f"means = {means!r} is not allowed: it must be a list of numbers")
    return Problem(means, _user(user))


def to_dict(problem: Problem) -> dict[str, Any]:
    """The dictionary that `from_dict` turns back into this problem.

    >>> from sojourn import Ema, LogLeave
    >>> to_dict(Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=100))))["user"]
    {'model': 'ema', 'theta': 0.5, 'c6': 100.0, 'start': 1.0, 'stays_first': False}
    """
    user = problem.user
    stays_first = type(user) is StaysFirst
    model = user.unwrapped if stays_first else user
    described = {**_describe(model), "stays_first": stays_first}
    return {"means": list(problem.means), "user": described}


def _read(path: Path) -> Any:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"a problem file must end in {' or '.join(SUFFIXES)}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot be read ({(error.strerror or str(error)).lower()})") from None
    except UnicodeDecodeError:
        raise ValueError("cannot be read (it is not UTF-8 text)") from None
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise ValueError(f"not valid {path.suffix[1:].upper()}: {error}") from None


def _models() -> list[str]:
    """The user models that a file can name: those that say when people leave."""
    return [model for model, cls in USERS.items() if hasattr(cls, "leave_probability")]


def _user(data: Dict) -> User:
    if "model" not in data:
        raise ValueError(f"user.model is missing: it must be one of {', '.join(_models())}")
    model = checks.one_of("user.model", data["model"], _models())
    cls = USERS[model]
    cls.check_keys("user.", data, "start", "stays_first")
    stays_first = data.get("stays_first", False)
    if not isinstance(stays_first, bool):
        raise ValueError(
            f"user.stays_first = {stays_first!r} is not allowed: it must be true or false"
        )
    settings = {key: data[key] for key in (*cls.keys, *cls.optional) if key in data}
    user = cls.from_settings(**settings, start=_start(data.get("start")))
    return StaysFirst(user) if stays_first else user


def _start(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise ValueError(
            f"user.start = {value!r} is not allowed: "
            "it must be a state or a list of pairs [state, probability]"
        )
    states = [state for state, _ in value]
    if any(states.count(state) > 1 for state in states):
        raise ValueError(f"user.start = {value!r} is not allowed: it lists a state twice")
    for state in states:
        checks.number("user.start", state, 0, inf)
    return dict(value)


def _describe(user: User) -> dict[str, Any]:
    """The model and its settings; ValueError if a file cannot name it."""
    if USERS.get(user.model) is not type(user):
        raise ValueError(
            f"user = {user!r} has no problem file: its class must be in the registry of user models"
        )
    start = [list(pair) for pair in zip(user.start.states, user.start.chances, strict=True)]
    one = len(start) == 1
    return {"model": user.model, **user.settings(), "start": start[0][0] if one else start}


def _table(name: str, value: Any) -> Dict:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a table of keys and values, not {value!r}")
    return value

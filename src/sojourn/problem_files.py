"""Problems by name, and problem files: a problem as TOML, JSON or a plain dictionary.

The format is the same everywhere and is described in docs/problem-files.md. Every error is one
sentence that names the key, the value and what is allowed.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, signature
from math import inf
from pathlib import Path
from typing import Any

from . import validation
from .problem import Problem
from .show.plain import from_toml
from .users import USERS, ByArm, Levels, StaysFirst, User
from .validation import InputError

SUFFIXES = (".toml", ".json")

Dict = Mapping[str, Any]


class Settings(Mapping[str, Problem]):
    """Problems by name, solved when first asked for: importing the package solves nothing.

    >>> user = {"model": "two-state", "q00": 0.5, "q01": 0.1, "q10": 0.3, "q11": 0.05}
    >>> Settings({"mine": {"means": [0.7, 0.4], "user": user}})["mine"].means
    (0.7, 0.4)
    """

    def __init__(self, described: Mapping[str, Dict]) -> None:
        self._described, self._made = described, dict[str, Problem]()

    def __getitem__(self, name: str) -> Problem:
        if name not in self._made:
            self._made[name] = from_dict(self._described[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)


SETTINGS = Settings(from_toml(__package__, "settings.toml"))
"""The problems of the paper's figures.

>>> SETTINGS["A"].means
(0.9, 0.8)
"""


def problem_of(problem: Problem | str | Path) -> Problem:
    """The problem itself, the paper's setting of this name, or the one in a .toml or .json file.

    Every function and command that takes a problem takes all of these.

    >>> problem_of("A").means, problem_of("EMA-100").user.theta
    ((0.9, 0.8), 0.5)
    >>> problem_of("E")
    Traceback (most recent call last):
    sojourn.InputError: problem 'E' is not known: it must be one of A, B, C, D, ema-1000, ema-100, \
ema-low, opposite, or a .toml or .json file
    """
    if isinstance(problem, Problem):
        return problem
    if not isinstance(problem, str | Path):
        raise InputError(
            f"problem = {validation.shown(problem)} is not allowed: it must be a Problem, the name "
            f"of a setting of the paper ({', '.join(SETTINGS)}), or a .toml or .json file"
        )
    names = {name.lower(): name for name in SETTINGS}
    if (name := str(problem).lower()) in names:
        return SETTINGS[names[name]]
    if str(problem).endswith(SUFFIXES):
        return load(problem)
    raise InputError(
        f"problem {str(problem)!r} is not known: it must be one of {', '.join(SETTINGS)}, "
        "or a .toml or .json file"
    )


def load(path: str | Path) -> Problem:
    """The problem in a .toml or .json file; InputError names the file and what is wrong with it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.json"
    ...     _ = file.write_text(json.dumps(to_dict(SETTINGS["C"])))
    ...     load(file).means
    (0.2, 0.1)
    """
    path = Path(path)
    try:
        return from_dict(_read(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def from_dict(data: Dict) -> Problem:
    """The problem that a dictionary in the format of the files describes.

    >>> q = {"q00": 1, "q01": 0, "q10": 0, "q11": 0}
    >>> from_dict({"means": [0.9, 0.8], "user": {"model": "two-state", **q}})
    Problem(means=(0.9, 0.8), user=TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0))
    >>> from_dict({"means": [0.9, 0.8], "user": {"model": "ema", "theta": 0.5}})
    Traceback (most recent call last):
    sojourn.InputError: user.c6 is missing: an ema user has model, theta, c6, start, odds, \
stays_first
    """
    if "phases" in _table("a problem", data):
        return Problem.changing(list(_phases(data)))
    arms = "rewards" if "rewards" in data else "means"
    known = ("means", "rewards", "user")
    validation.keys("", data, required=(arms, "user"), known=known, whose="a problem")
    if arms == "rewards" and "means" in data:
        raise InputError("rewards is not allowed beside means: give one of them")
    given, user = data[arms], _user(data["user"])
    if not isinstance(given, Sequence) or isinstance(given, str):
        what = "of numbers" if arms == "means" else "with an entry for each arm"
        raise InputError(
            f"{arms} = {validation.shown(given)} is not allowed: it must be a list {what}"
        )
    return Problem(user=user, **{arms: given})


def to_dict(problem: Problem) -> dict[str, Any]:
    """The dictionary that `from_dict` turns back into this problem.

    >>> from sojourn import Ema
    >>> from sojourn.users import LogLeave
    >>> to_dict(Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=100))))["user"]
    {'model': 'ema', 'theta': 0.5, 'c6': 100.0, 'start': 1.0, 'stays_first': False}
    """
    if len(problem.phases) > 1:
        return {"phases": [{"after": after, **to_dict(own)} for after, own in problem.phases]}
    user: Any = problem.user
    around: dict[str, Any] = {"stays_first": type(user) is StaysFirst}
    user = user.user if around["stays_first"] else user
    if type(user) is Levels:
        around = {"thresholds": list(user.thresholds), **around}
        user = user.user
    if type(user) is not ByArm:
        described: Any = {**_describe(user), **around}
    elif user.base is not None:
        described = {**_describe(user.base), "odds": list(user.added), **around}
    else:
        described = [{**_describe(of_arm), **around} for of_arm in user.users]
    if problem.graded:
        return {"rewards": [arm.described() for arm in problem.rewards], "user": described}
    return {"means": [arm.described() for arm in problem.rewards], "user": described}


def _phases(data: Dict) -> Iterator[tuple[int, Problem]]:
    """The phases of a nonstationary problem: each a problem, `after` a number of visits."""
    validation.keys("", data, required=("phases",), known=("phases",), whose="a problem in phases")
    given = data["phases"]
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InputError(
            f"phases = {validation.shown(given)} is not allowed: it must be a list of problems"
        )
    for i, phase in enumerate(given):
        own = dict(_table(f"phases[{i}]", phase))
        if "after" not in own:
            raise InputError(f"phases[{i}].after is missing: it is the number of visits before it")
        after = own.pop("after")
        try:
            yield after, from_dict(own)
        except InputError as error:
            raise InputError(f"phases[{i}]: {error}") from None


def _read(path: Path) -> Any:
    if path.suffix not in SUFFIXES:
        raise InputError(f"a problem file must end in {' or '.join(SUFFIXES)}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or str(error)).lower()})") from None
    except UnicodeDecodeError:
        raise InputError("cannot be read (it is not UTF-8 text)") from None
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise InputError(f"not valid {path.suffix[1:].upper()}: {error}") from None


def _models() -> list[str]:
    """The user models that a file can name: those that say when people leave."""
    return [model for model, cls in USERS.items() if hasattr(cls, "leave_probability")]


def _user(data: Any) -> User:
    """The user that a table, or a table for each arm, describes."""
    if isinstance(data, Mapping):
        user, around = _model("user", data, "odds")
        if "odds" in data:
            with _named("user", ["odds"]):
                user = ByArm.odds(user, data["odds"])
    elif isinstance(data, list | tuple):
        found = [_model(f"user[{i}]", _table(f"user[{i}]", of)) for i, of in enumerate(data)]
        around = found[0][1] if found else {}
        for arm, (_, own) in enumerate(found):
            for key in own:
                if own[key] != around[key]:
                    raise InputError(f"user[{arm}].{key} must be the same as user[0].{key}")
        with _named("user", []):
            user = ByArm([of_arm for of_arm, _ in found])
    else:
        raise InputError(
            f"user must be a table of keys and values, or one for each arm, not {data!r}"
        )
    if around["thresholds"] is not None:
        with _named("user", ["thresholds"]):
            user = Levels(user, around["thresholds"])
    return StaysFirst(user) if around["stays_first"] else user


def _model(where: str, data: Dict, *more: str) -> tuple[User, Dict]:
    """The model in a table, and what goes around it."""
    if "model" not in data:
        raise InputError(f"{where}.model is missing: it must be one of {', '.join(_models())}")
    model = validation.one_of(f"{where}.model", data["model"], _models())
    cls = USERS[model]
    levels = () if getattr(cls.space, "graded", False) else ("thresholds",)
    check_keys(f"{where}.", data, cls, "start", *more, *levels, "stays_first")
    stays_first = data.get("stays_first", False)
    if not isinstance(stays_first, bool):
        raise InputError(
            f"{where}.stays_first = {stays_first!r} is not allowed: it must be true or false"
        )
    settings = {key: data[key] for key in keys_of(cls) if key in data}
    start = _start(f"{where}.start", data.get("start"))
    with _named(where, [*keys_of(cls), "start"]):
        user = cls.from_settings(**settings, start=start)
    return user, {"thresholds": data.get("thresholds"), "stays_first": stays_first}


def keys_of(cls: type[User]) -> dict[str, bool]:
    """The settings of a user model and whether each is required, apart from the start.

    Those of its `from_settings` if it has its own, otherwise the fields of the class.

    >>> keys_of(USERS["ema"]), keys_of(USERS["chain"])
    ({'theta': True, 'c6': True}, {'next': True, 'leave': True, 'seen': False})
    """
    given = signature(cls.from_settings).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in given.values()):
        given = signature(cls).parameters
    return {name: p.default is Parameter.empty for name, p in given.items() if name != "start"}


def check_keys(prefix: str, given: Iterable[str], cls: type[User], *more: str) -> None:
    """InputError if settings of a user model are missing or not known; `more` are also allowed.

    >>> check_keys("user.", ["model", "theta"], USERS["ema"])
    Traceback (most recent call last):
    sojourn.InputError: user.c6 is missing: an ema user has model, theta, c6
    """
    keys = keys_of(cls)
    required = [key for key, needed in keys.items() if needed]
    validation.keys(
        prefix,
        given,
        required=("model", *required),
        known=("model", *keys, *more),
        whose=f"{'an' if cls.model[:1] in tuple('aeiou') else 'a'} {cls.model} user",
    )


@contextmanager
def _named(where: str, keys: Iterable[str]) -> Iterator[None]:
    """Errors begin with the key as a file has it, `user[1].q00`, not with `q00`."""
    try:
        yield
    except InputError as error:
        text = str(error)
        first = re.split(r"\W", text, maxsplit=1)[0]
        text = f"{where}.{text}" if first in keys else re.sub(r"\busers(?=\[| =)", "user", text)
        raise InputError(text) from None


def _start(name: str, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise InputError(
            f"{name} = {value!r} is not allowed: "
            "it must be a state or a list of pairs [state, probability]"
        )
    states = [state for state, _ in value]
    if any(states.count(state) > 1 for state in states):
        raise InputError(f"{name} = {value!r} is not allowed: it lists a state twice")
    for state in states:
        validation.number(name, state, 0, inf)
    return dict(value)


def _describe(user: User) -> dict[str, Any]:
    """The model and its settings; InputError if a file cannot name it."""
    if USERS.get(user.model) is not type(user):
        raise InputError(
            f"user = {user!r} has no problem file: its class must be in the registry of user models"
        )
    start = [list(pair) for pair in zip(user.start.states, user.start.chances, strict=True)]
    one = len(start) == 1
    return {"model": user.model, **user.settings(), "start": start[0][0] if one else start}


def _table(name: str, value: Any) -> Dict:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a table of keys and values, not {value!r}")
    return value

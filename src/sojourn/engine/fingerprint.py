"""Digests of code: what the cache of compiled loops and the store of results go by.

Numba's cache watches only the file of the function it caches. So a loop's cache file is named
after a digest of all it is made of: the content of this folder (`engine_digest`), and the code
that the loop, the policy and the user model given to it can reach (`fingerprint`). An edit of a
policy is seen by the loops of that policy, an edit here by all, and one elsewhere by none.
"""

import hashlib
import random
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from ..validation import InputError

FOLDER = Path(__file__).parent


@cache
def engine_digest() -> str:
    """Changes with any source file of this folder."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*.py")):
        digest.update(path.relative_to(FOLDER).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def fingerprint(thing: Any) -> str:
    """A digest of the code that a function, or the methods of a class, can reach.

    Not of docstrings and comments, nor of methods whose names begin with an underscore: those
    are not compiled.
    """
    digest, seen = hashlib.sha256(), set[int]()
    parts = methods_of(thing) if isinstance(thing, type) else [("", thing)]
    for name, part in parts:
        digest.update(name.encode())
        feed(digest, part, seen)
    return digest.hexdigest()[:16]


def methods_of(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """The methods that compiled code may call on an instance, as inheritance resolves them."""
    for name in sorted(dir(cls)):
        method = getattr(cls, name)
        called = isinstance(method, FunctionType) and not is_interpreted(method)
        if called and not name.startswith("_"):
            yield name, method


def is_interpreted(method: Any) -> bool:
    """Whether a method is marked as one that compiled code never calls (`structs.interpreted`)."""
    return getattr(method, "interpreted", False)


def feed(digest: Any, value: Any, seen: set[int]) -> None:
    """Feed into `digest` what `value` says and, for code, the globals and closures it names.

    Nothing that differs between two processes of the same sources may go in: no address, and no
    order of a set.
    """
    value = _function(value)
    digest.update(type(value).__name__.encode())
    if isinstance(value, FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        _feed_code(digest, value.__code__, value.__doc__)
        feed(digest, value.__defaults__, seen)
        for _, named in named_by(value):
            feed(digest, named, seen)
    elif isinstance(value, ModuleType):
        digest.update(_source(value))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, tuple):
        for item in value:
            feed(digest, item, seen)
    elif isinstance(value, type | BuiltinFunctionType):
        digest.update(f"{value.__qualname__}{getattr(value, '_fields', ())}".encode())
    elif isinstance(value, str | bytes | int | float | complex | np.generic):
        digest.update(repr(value).encode())


def _function(value: Any) -> Any:
    if isinstance(value, Dispatcher):
        return value.py_func
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    return value.fget if isinstance(value, property) else value


def _feed_code(digest: Any, code: CodeType, doc: str | None) -> None:
    digest.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _feed_code(digest, constant, None)
        elif constant != doc or doc is None:
            digest.update(f"{type(constant).__name__} {constant!r}".encode())


@cache
def _source(module: ModuleType) -> bytes:
    source = getattr(module, "__file__", None)
    return Path(source).read_bytes() if source else module.__name__.encode()


def named_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function, and the functions inside it, may look up outside themselves."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {name: cell.cell_contents for name, cell in cells}
    for name in sorted(_names(function.__code__)):
        if name in known:
            yield name, known[name]
        elif name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names) | set(code.co_freevars) | set().union(*inner)


@cache
def check_randomness(cls: type) -> None:
    """InputError if a method draws from a generator that the seed of a run does not know.

    Numba compiles Python's and NumPy's global generators, and then no seed fixes a run.
    """
    for name, method in methods_of(cls):
        found = _unseeded(method, set())
        if found:
            raise InputError(
                f"{cls.__name__}.{name} uses {found}, which the seed of a run does not fix: draw "
                "from the stream that `choose` is given, with sojourn.policies.draw_uniform(rng)"
            )


def _unseeded(function: FunctionType, seen: set[int]) -> str:
    """The first global generator that a function reaches, by name; else nothing."""
    seen.add(id(function))
    for name, value in named_by(function):
        value = _function(value)
        home = getattr(value, "__module__", None) or ""
        if value in (random, secrets, np.random) if isinstance(value, ModuleType) else False:
            return name
        if value is np and "random" in _names(function.__code__):
            return f"{name}.random"
        if home.partition(".")[0] in ("random", "secrets") or isinstance(
            getattr(value, "__self__", None), random.Random | np.random.RandomState
        ):
            return name
        if isinstance(value, FunctionType) and id(value) not in seen:
            deeper = _unseeded(value, seen)
            if deeper:
                return deeper
    return ""

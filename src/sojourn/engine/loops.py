"""Compiled functions: small ones that inline, and loops that are cached on disk.

`jitable` functions run as Python and inside compiled code. A `loop` is compiled for the types of
the dataclasses among its arguments, kept on disk under a digest of all it is made of, and run
without the GIL. What cannot be compiled is told in one sentence, with the line that is at fault.
"""

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from numba import njit
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from .disk_cache import DiskCache
from .faults import CannotCompile, sentence
from .fingerprint import engine_digest, fingerprint
from .structs import Compiled
from .unmanaged import INNER

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


def jitable(function: F) -> F:
    """A plain function that compiled code can call too.

    >>> @jitable
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    registered: F = register_jitable(**INNER)(function)
    return registered


def primitive(function: F) -> F:
    """A function that is compiled even when Python calls it (64-bit arithmetic that wraps)."""
    dispatcher: F = njit(function, forceinline=True)
    return dispatcher


def loop(function: Callable[P, R]) -> "Loop[P, R]":
    """Compile a function of dataclasses, arrays and numbers, and keep the result on disk."""
    return Loop(function, nogil=True)


def call(function: Callable[P, R]) -> "Loop[P, R]":
    """`loop` for a function that takes microseconds: it keeps the GIL.

    To give it up and get it back costs more than the function does where other threads run.
    """
    return Loop(function, nogil=False)


class Loop(Generic[P, R]):
    """A function that is compiled once for every set of types of its dataclasses.

    `plain` is the function itself, to be run by Python.
    """

    def __init__(self, function: Callable[P, R], *, nogil: bool) -> None:
        self.plain, self._nogil = function, nogil
        self._made: dict[Any, Any] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        result: R = self.compiled(*arguments)(*arguments, **named)
        return result

    @cached_property
    def fingerprint(self) -> str:
        """Of the function's own code and what it reaches outside of this folder."""
        return fingerprint(self.plain)

    def compiled(self, *arguments: Any) -> Any:
        """The machine code for arguments of these types, to be called with such arguments."""
        return self._code(arguments)

    def kept(self, *arguments: Any) -> Any:
        """`compiled`, from memory or disk; `NotKept` if it would have to be compiled first."""
        return self._code(arguments, kept=True)

    def _code(self, arguments: tuple[Any, ...], *, kept: bool = False) -> Any:
        types = tuple(a._numba_type_ for a in arguments if isinstance(a, Compiled))
        if types not in self._made:
            self._made[types] = self._compile(types, arguments, kept)
        return self._made[types]

    def _compile(self, types: tuple[Any, ...], arguments: tuple[Any, ...], only_kept: bool) -> Any:
        """Numba numbers the cache files of one function name, so each set of types has its own.

        Two processes that compile for different types at the same time would otherwise write to
        the same file.
        """
        parts = [engine_digest(), self.fingerprint, *map(str, types)]
        digest = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
        named = _renamed(self.plain, f"{self.plain.__qualname__}-{digest}")
        dispatcher = njit(named, nogil=self._nogil, error_model="numpy")
        dispatcher._cache = cache = DiskCache(named, only_kept=only_kept)
        try:
            with nullcontext() if only_kept else cache.turn():
                dispatcher.compile(tuple(dispatcher.typeof_pyval(a) for a in arguments))
        except NumbaError as error:
            raise CannotCompile(sentence(error, types)) from None
        return dispatcher


def _renamed(f: Any, qualname: str) -> FunctionType:
    copy = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    copy.__qualname__ = qualname
    return copy

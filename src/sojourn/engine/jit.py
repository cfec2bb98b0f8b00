"""Let compiled code read the fields and call the methods of ordinary frozen dataclasses.

A class that inherits from `Compiled` stays a plain Python class. Handed to a compiled function
it becomes a struct of its fields (numbers become doubles, flags booleans, tuples and arrays stay
what they are, nested `Compiled` values become nested structs; text is left out), and its public
methods are compiled from their Python source. So one text of a policy or a user model runs
interpreted, compiled one call at a time, and inlined in the simulator's kernel.

Compiled code is cached on disk between processes. Numba's cache watches only the file of the
function it caches, so two digests are added to its key: one of this package's sources
(`kernel`), and one of every class defined elsewhere (`fingerprint`). An edit anywhere is seen.
"""

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    NativeValue,
    models,
    overload_method,
    register_jitable,
    register_model,
    unbox,
)

from .lend import lend_value, lent_type

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent.parent
PLAIN = {
    "__main__", "cli", "client", "live", "problem_files", "recommendation",
    "service", "show", "stats", "theory", "version",
}  # fmt: skip
"""Modules of the package that hold nothing to compile: an edit there compiles nothing anew."""


def jitable(function: F) -> F:
    """A plain function that compiled code can call too.

    >>> @jitable
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    registered: F = register_jitable(function)
    return registered


def primitive(function: F) -> F:
    """A function that is compiled even when Python calls it (64-bit arithmetic that wraps)."""
    dispatcher: F = njit(function, forceinline=True)
    return dispatcher


def kernel(function: F, *types_of: "Compiled") -> F:
    """Compile a loop: cached on disk, recompiled after any edit, run without the GIL.

    `function` must be made inside another function and mention the `package_digest()` it was
    made with: what a closure holds is part of Numba's cache key. The types of the values it is
    for become part of its name, so that each has cache files of its own: Numba numbers the files
    of one function, and two processes that compile it for different types at the same time would
    write to the same file.
    """
    names = "".join(str(value._numba_type_) for value in types_of)
    function.__qualname__ += f"-{hashlib.sha256(names.encode()).hexdigest()[:16]}"
    dispatcher: F = njit(function, nogil=True, cache=True, error_model="numpy")
    return dispatcher


@cache
def package_digest() -> str:
    """Changes with any source file of this package that compiled code may come from."""
    return hashlib.sha256(b"".join(s.read_bytes() for s in compiled_sources())).hexdigest()


def compiled_sources() -> list[Path]:
    """The files of this package that are not `PLAIN`, in a fixed order."""

    def top(path: Path) -> str:
        return path.relative_to(PACKAGE).with_suffix("").parts[0]

    return sorted(path for path in PACKAGE.rglob("*.py") if top(path) not in PLAIN)


class Compiled:
    """Base of the frozen dataclasses that compiled code can use."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _make_callable(name, method)

    def __post_init__(self) -> None:
        """End of the chain of checks that dataclasses built from several parts call."""

    @cached_property
    def _numba_type_(self) -> "Struct":
        members = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return Struct(
            type(self),
            {name: _member_type(v) for name, v in members.items() if not isinstance(v, str)},
        )

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


def _member_type(value: Any) -> types.Type:
    if isinstance(value, bool):
        return types.boolean
    if isinstance(value, int | float):
        return types.float64
    return typeof(value)


_classes: dict[str, type[Compiled]] = {}


class Struct(types.Type):  # type: ignore[misc]
    """The Numba type of one dataclass: its instances share one compiled kernel.

    The class is looked up by name, because Numba pickles types into its cache index: a process
    that reads the index must not need the classes of all who wrote to it.
    """

    def __init__(self, cls: type[Compiled], members: dict[str, types.Type]) -> None:
        self.owned = members
        self.members = {name: lent_type(member) for name, member in members.items()}
        inner = ", ".join(f"{name}: {_spelled(member)}" for name, member in members.items())
        digest = fingerprint(cls)  # type: ignore[arg-type]
        super().__init__(name=f"{cls.__module__}.{cls.__qualname__}[{digest}]({inner})")
        _classes[self.name] = cls

    @property
    def cls(self) -> type[Compiled]:
        """The dataclass."""
        return _classes[self.name]


def _spelled(member: types.Type) -> str:
    """The name of a member's type; a function goes by its code, for its address may come back."""
    if isinstance(member, types.Dispatcher):
        digest = hashlib.sha256()
        feed(digest, member.dispatcher, set())
        return f"{member.dispatcher.__name__}[{digest.hexdigest()[:16]}]"
    return str(member)


@register_model(Struct)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, struct: Struct) -> None:
        super().__init__(dmm, struct, list(struct.members.items()))


@unbox(Struct)
def _unbox(struct: Struct, instance: Any, c: Any) -> Any:
    native = cgutils.create_struct_proxy(struct)(c.context, c.builder)
    for name, owned in struct.owned.items():
        value = c.pyapi.object_getattr_string(instance, name)
        field = c.unbox(owned, value).value
        setattr(native, name, lend_value(c.context, c.builder, owned, field))
        if owned != struct.members[name]:  # the instance outlives the call, and so the array
            c.context.nrt.decref(c.builder, owned, field)
        c.pyapi.decref(value)
    failed = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    return NativeValue(native._getvalue(), is_error=failed)


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Struct

    def generic_resolve(self, struct: Struct, name: str) -> types.Type | None:
        return struct.members.get(name)


@lower_getattr_generic(Struct)
def _read_field(context: Any, builder: Any, struct: Struct, value: Any, name: str) -> Any:
    member = getattr(cgutils.create_struct_proxy(struct)(context, builder, value), name)
    return impl_ret_borrowed(context, builder, struct.members[name], member)


_arguments: dict[str, list[str]] = {}  # of every method that compiled code can call


def _make_callable(name: str, method: FunctionType) -> None:
    """Let compiled code call method `name` on any Struct whose class defines it."""
    arguments = list(inspect.signature(method).parameters)
    if name not in _arguments:
        _arguments[name] = arguments

        def lookup(self: Struct, *args: Any) -> FunctionType | None:
            found = getattr(self.cls, name, None)
            return None if found is None else _without_annotations(found)

        signature = inspect.signature(_without_annotations(method))
        lookup.__signature__ = signature  # type: ignore[attr-defined]
        overload_method(Struct, name)(lookup)
    elif arguments != _arguments[name]:
        raise TypeError(
            f"{method.__qualname__} must take the arguments {_arguments[name]}, not {arguments}"
        )


def _without_annotations(f: FunctionType) -> FunctionType:
    """A copy of f that Numba takes for the same whatever the annotations say."""
    return FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


@cache
def fingerprint(cls: type) -> str:
    """A digest of all the code that the methods of a class from outside this package can reach.

    Classes of this package share one fingerprint: `package_digest` covers them.
    """
    digest = hashlib.sha256()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] not in ("sojourn", "builtins"):
            for name, attribute in sorted(vars(base).items()):
                if not name.startswith("__"):
                    feed(digest, attribute, set())
    return digest.hexdigest()[:16]


def feed(digest: Any, value: Any, seen: set[int]) -> None:
    """Feed into `digest` what `value` says and, for code, the globals and closures it names.

    Nothing that differs between two processes of the same sources may go in: no address, and no
    order of a set.
    """
    if isinstance(value, Dispatcher):
        value = value.py_func
    elif isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    digest.update(type(value).__name__.encode())
    if isinstance(value, FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        feed(digest, value.__code__, seen)
        feed(digest, value.__defaults__, seen)
        known = {**value.__globals__, **inspect.getclosurevars(value).nonlocals}
        for name in sorted(_names(value.__code__)):
            if name in known:
                feed(digest, known[name], seen)
    elif isinstance(value, CodeType):
        digest.update(value.co_code + repr(value.co_names).encode())
        for constant in value.co_consts:
            feed(digest, constant, seen)
    elif isinstance(value, ModuleType):
        source = getattr(value, "__file__", None)
        digest.update(Path(source).read_bytes() if source else value.__name__.encode())
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, tuple):
        for item in value:
            feed(digest, item, seen)
    elif isinstance(value, type | BuiltinFunctionType):
        digest.update(value.__qualname__.encode())
    elif isinstance(value, str | bytes | int | float | complex | np.generic):
        digest.update(repr(value).encode())


def _names(code: CodeType) -> set[str]:
    """The names that a function and the functions inside it may look up outside themselves."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names) | set(code.co_freevars) | set().union(*inner)

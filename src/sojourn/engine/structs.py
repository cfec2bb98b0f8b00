"""Let compiled code read the fields and call the methods of ordinary frozen dataclasses.

A class that inherits from `Compiled` stays a plain Python class. Handed to a compiled function
it becomes a struct of its fields (numbers become doubles, flags booleans, tuples and arrays stay
what they are, nested `Compiled` values become nested structs; text is left out), and its public
methods are compiled from their Python source. So one text of a policy or a user model runs
interpreted, compiled one call at a time, and inlined in the simulator's kernel.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, overload_method, register_model, unbox

from .fingerprint import check_randomness, fingerprint, is_interpreted
from .unmanaged import INNER, unmanaged_type, unmanaged_value

PYTHON_ONLY = {"python_only": True}
"""Metadata of a field that compiled code does not see."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def interpreted(method: F) -> F:
    """Mark a public method, and those that override it, as never called by compiled code.

    An edit of such a method compiles nothing anew.
    """
    method.interpreted = True  # type: ignore[attr-defined]
    return method


class Compiled:
    """Base of the frozen dataclasses that compiled code can use."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                if any(is_interpreted(getattr(base, name, None)) for base in cls.__mro__[1:]):
                    interpreted(method)
                _make_callable(name, method)

    def __post_init__(self) -> None:
        """End of the chain of checks that dataclasses built from several parts call."""

    @cached_property
    def _numba_type_(self) -> "Struct":
        members = {
            f.name: getattr(self, f.name)
            for f in fields(self)  # type: ignore[arg-type]
            if not f.metadata.get("python_only")
        }
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
    that reads the index must not need the classes of all processes that wrote to it.
    """

    def __init__(self, cls: type[Compiled], members: dict[str, types.Type]) -> None:
        self.owned = members
        self.members = {name: unmanaged_type(member) for name, member in members.items()}
        inner = ", ".join(f"{name}: {_spelled(member)}" for name, member in members.items())
        check_randomness(cls)  # type: ignore[arg-type]
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
        return f"{member.dispatcher.__name__}[{fingerprint(member.dispatcher)}]"
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
        setattr(native, name, unmanaged_value(c.context, c.builder, owned, field))
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


_arguments: dict[str, tuple[str, ...]] = {}  # of every method that compiled code can call


def _make_callable(name: str, method: FunctionType) -> None:
    """Let compiled code call method `name` on any Struct whose class has it.

    Numba knows methods by name alone, so all of one name take the same arguments.
    """
    arguments = tuple(inspect.signature(method).parameters)
    known = _arguments.setdefault(name, arguments)
    if arguments != known:
        raise TypeError(
            f"{method.__qualname__} must take the arguments ({', '.join(known)}), not "
            f"({', '.join(arguments)}): compiled methods of one name take the same in all "
            "classes, so follow them or give it another name"
        )
    if known is not arguments:
        return

    def find(self: Struct, *args: Any) -> FunctionType | None:
        found = getattr(self.cls, name, None)
        return None if found is None else without_annotations(found)

    signature = inspect.signature(without_annotations(method))
    find.__signature__ = signature  # type: ignore[attr-defined]
    overload_method(Struct, name, jit_options=INNER)(find)


def without_annotations(f: Any) -> FunctionType:
    """A copy of f that Numba takes for the same whatever the annotations say."""
    return FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


def entry_for(table: Mapping[type, T], value: Any) -> T | None:
    """What a table has for the type of a value, if it may be trusted with it.

    An entry speaks for the methods of its class. Where a class from outside this package has
    overridden some, there is none.
    """
    own = type(value).__mro__
    for i, cls in enumerate(own):
        if cls in table:
            return None if any(_overrides(heir, cls) for heir in own[:i]) else table[cls]
    return None


def _overrides(cls: type, base: type) -> bool:
    mine = {name for name, method in vars(cls).items() if inspect.isfunction(method)}
    return not cls.__module__.startswith("sojourn.") and any(
        hasattr(base, name) and not name.startswith("_") for name in mine
    )

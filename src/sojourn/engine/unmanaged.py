"""What Numba lacks: arrays without reference counts, and named tuples merged into one.

Numba counts references to arrays with atomic operations whenever one passes through a function or
a field, which costs more than a simulated step. An `unmanaged` array has no owner, so nothing is
counted: the caller keeps the original alive (`keep_alive`) until its last use.

Unmanaged arrays are also cheap to pass. Numba passes arrays field by field, and copying the hundred
fields of a memory and a board takes longer than most functions that take them. Of a contiguous
unmanaged array only the address and the shape are passed: the rest follows from them.

Wrappers remember something beside what the inner policy does: `merged` makes one named tuple of the
two memories. Code that reads a memory goes by its names, so a wrapper may add names and hides none.
"""

from collections import namedtuple
from functools import cache
from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import StructModel
from numba.core.imputils import impl_ret_borrowed, impl_ret_untracked
from numba.extending import intrinsic, overload, register_model
from numba.np.numpy_support import as_dtype

T = TypeVar("T")

INNER = {"no_cfunc_wrapper": True}
"""Options for what only compiled code calls: without a way in for C it compiles a sixth faster."""


class Unmanaged(types.Array):  # type: ignore[misc]
    """The Numba type of an unmanaged array."""

    def __init__(self, array: types.Array) -> None:
        name = f"unmanaged({array})"
        super().__init__(array.dtype, array.ndim, array.layout, name=name)


@register_model(Unmanaged)
class _UnmanagedModel(StructModel):  # type: ignore[misc]
    """An array whose owner is an untracked null pointer."""

    def __init__(self, dmm: Any, array_type: Unmanaged) -> None:
        index = types.UniTuple(types.intp, array_type.ndim)
        members = [
            ("meminfo", types.voidptr),
            ("parent", types.pyobject),
            ("nitems", types.intp),
            ("itemsize", types.intp),
            ("data", types.CPointer(array_type.dtype)),
            ("shape", index),
            ("strides", index),
        ]
        super().__init__(dmm, array_type, members)
        names = ("data", "shape") if array_type.layout == "C" else self._fields
        self._passed = [self.get_field_position(name) for name in names]

    def get_argument_type(self) -> Any:
        return tuple(self._models[i].get_argument_type() for i in self._passed)

    def as_argument(self, builder: Any, value: Any) -> Any:
        return tuple(
            self._models[i].as_argument(builder, self.get(builder, value, i)) for i in self._passed
        )

    def from_argument(self, builder: Any, value: Any) -> Any:
        array = cgutils.get_null_value(self.get_value_type())
        for i, given in zip(self._passed, value, strict=True):
            array = self.set(builder, array, self._models[i].from_argument(builder, given), i)
        if self._fe_type.layout != "C":
            return array
        itemsize = cgutils.intp_t(as_dtype(self._fe_type.dtype).itemsize)
        strides: list[Any] = []
        stride, items = itemsize, cgutils.intp_t(1)
        for extent in reversed(cgutils.unpack_tuple(builder, self.get(builder, array, "shape"))):
            strides.insert(0, stride)
            stride, items = builder.mul(stride, extent), builder.mul(items, extent)
        array = self.set(builder, array, items, "nitems")
        array = self.set(builder, array, itemsize, "itemsize")
        return self.set(builder, array, cgutils.pack_array(builder, strides), "strides")


def unmanaged_type(owned: types.Type) -> types.Type:
    """The type of what `unmanaged` makes of a value of this type."""
    if isinstance(owned, types.Array) and not isinstance(owned, Unmanaged):
        return Unmanaged(owned)
    if isinstance(owned, types.BaseNamedTuple):
        return types.BaseTuple.from_types([unmanaged_type(t) for t in owned], owned.instance_class)
    return owned


def unmanaged_value(context: Any, builder: Any, owned: types.Type, value: Any) -> Any:
    """Lower `unmanaged`."""
    target = unmanaged_type(owned)
    if target == owned:
        return value
    if isinstance(owned, types.Array):
        source = cgutils.create_struct_proxy(owned)(context, builder, value)
        made = cgutils.create_struct_proxy(target)(context, builder)
        for name in ("parent", "nitems", "itemsize", "data", "shape", "strides"):
            setattr(made, name, getattr(source, name))
        made.meminfo = cgutils.get_null_value(made.meminfo.type)
        return made._getvalue()
    items = cgutils.unpack_tuple(builder, value, len(owned))
    items = [unmanaged_value(context, builder, t, v) for t, v in zip(owned, items, strict=True)]
    return context.make_tuple(builder, target, items)


@intrinsic
def _unmanaged(typing: Any, owned: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = unmanaged_value(context, builder, signature.args[0], arguments[0])
        return impl_ret_untracked(context, builder, signature.return_type, value)

    return unmanaged_type(owned)(owned), lower


@intrinsic
def _keep_alive(typing: Any, owned: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(owned), lower


def unmanaged(owned: T) -> T:
    """The same array, or named tuple of arrays, without reference counts."""
    return owned


def keep_alive(owned: Any) -> None:
    """Placed after the last use of what is unmanaged: the owner lives until here."""


@overload(unmanaged, jit_options=INNER)
def _overload_unmanaged(owned):  # type: ignore[no-untyped-def]
    return lambda owned: _unmanaged(owned)


@overload(keep_alive, jit_options=INNER)
def _overload_keep_alive(owned):  # type: ignore[no-untyped-def]
    return lambda owned: _keep_alive(owned)


@cache
def merged_type(one: Any, other: Any) -> Any:
    """The class with the fields of two; by its name it can be found here, to be unpickled."""
    name = f"{one.__name__}With{other.__name__}"
    made = namedtuple(name, (*one._fields, *other._fields))  # type: ignore[misc]
    made.__module__ = __name__
    globals()[name] = made
    return made


def merged(one: Any, other: Any) -> Any:
    """The fields of two named tuples in one.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    >>> class Size(NamedTuple):
    ...     width: float
    >>> merged(Point(1.0), Size(3.0))
    PointWithSize(x=1.0, width=3.0)
    """
    kinds: tuple[Any, Any] = type(one), type(other)
    return merged_type(*kinds)(*one, *other)


@intrinsic
def _merged(typing: Any, one: Any, other: Any) -> Any:
    made = merged_type(one.instance_class, other.instance_class)
    target = types.BaseTuple.from_types([*one, *other], made)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items = [
            item
            for kind, value in zip(signature.args, arguments, strict=True)
            for item in cgutils.unpack_tuple(builder, value, len(kind))
        ]
        value = context.make_tuple(builder, signature.return_type, items)
        return impl_ret_borrowed(context, builder, signature.return_type, value)

    return target(one, other), lower


@overload(merged, jit_options=INNER)
def _overload_merged(one, other):  # type: ignore[no-untyped-def]
    return lambda one, other: _merged(one, other)

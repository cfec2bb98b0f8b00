"""Arrays without reference counts, for the simulator's inner loops.

Numba counts references to arrays with atomic operations whenever one passes through a function or
a field, which costs more than a simulated step. A lent array has no owner: nothing is counted, and
whoever lends it must `keep` the original until the borrowers are done.

Nor does it take much to pass one. Numba passes arrays field by field, and copying the hundred
fields of a memory and a board takes longer than most functions that are given them. Of a lent array
that is contiguous only the address and the shape are passed: the rest follows from them.
"""

from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import StructModel
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic, overload, register_model
from numba.np.numpy_support import as_dtype

T = TypeVar("T")

INNER = {"no_cfunc_wrapper": True}
"""Options for what only compiled code calls: without a way in for C it compiles a sixth faster."""


class Lent(types.Array):  # type: ignore[misc]
    """The Numba type of a lent array."""

    def __init__(self, array: types.Array) -> None:
        name = f"lent({array})"
        super().__init__(array.dtype, array.ndim, array.layout, name=name)


@register_model(Lent)
class _LentModel(StructModel):  # type: ignore[misc]
    """An array whose owner is an untracked null pointer."""

    def __init__(self, dmm: Any, lent: Lent) -> None:
        index = types.UniTuple(types.intp, lent.ndim)
        members = [
            ("meminfo", types.voidptr),
            ("parent", types.pyobject),
            ("nitems", types.intp),
            ("itemsize", types.intp),
            ("data", types.CPointer(lent.dtype)),
            ("shape", index),
            ("strides", index),
        ]
        super().__init__(dmm, lent, members)
        names = ("data", "shape") if lent.layout == "C" else self._fields
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


def lent_type(owned: types.Type) -> types.Type:
    """The type of what `lend` makes of a value of this type."""
    if isinstance(owned, types.Array) and not isinstance(owned, Lent):
        return Lent(owned)
    if isinstance(owned, types.BaseNamedTuple):
        return types.BaseTuple.from_types([lent_type(t) for t in owned], owned.instance_class)
    return owned


def lend_value(context: Any, builder: Any, owned: types.Type, value: Any) -> Any:
    """Lower `lend`."""
    target = lent_type(owned)
    if target == owned:
        return value
    if isinstance(owned, types.Array):
        source = cgutils.create_struct_proxy(owned)(context, builder, value)
        lent = cgutils.create_struct_proxy(target)(context, builder)
        for name in ("parent", "nitems", "itemsize", "data", "shape", "strides"):
            setattr(lent, name, getattr(source, name))
        lent.meminfo = cgutils.get_null_value(lent.meminfo.type)
        return lent._getvalue()
    items = cgutils.unpack_tuple(builder, value, len(owned))
    items = [lend_value(context, builder, t, v) for t, v in zip(owned, items, strict=True)]
    return context.make_tuple(builder, target, items)


@intrinsic
def _lend(typing: Any, owned: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = lend_value(context, builder, signature.args[0], arguments[0])
        return impl_ret_untracked(context, builder, signature.return_type, value)

    return lent_type(owned)(owned), lower


@intrinsic
def _keep(typing: Any, owned: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(owned), lower


def lend(owned: T) -> T:
    """The same array, or named tuple of arrays, without reference counts."""
    return owned


def keep(owned: Any) -> None:
    """Placed after the last use of what was lent: the owner lives until here."""


@overload(lend, jit_options=INNER)
def _overload_lend(owned):  # type: ignore[no-untyped-def]
    return lambda owned: _lend(owned)


@overload(keep, jit_options=INNER)
def _overload_keep(owned):  # type: ignore[no-untyped-def]
    return lambda owned: _keep(owned)

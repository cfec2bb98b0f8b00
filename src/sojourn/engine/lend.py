"""Arrays without reference counts, for the simulator's inner loops.

Numba counts references to arrays with atomic operations whenever one passes through a function or
a field, which costs more than a simulated step. A lent array has no owner: nothing is counted, and
whoever lends it must `keep` the original until the borrowers are done.
"""

from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import StructModel
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic, overload, register_model

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

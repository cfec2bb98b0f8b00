"""One named tuple of two: what a wrapper remembers beside what the policy within does.

Who reads a memory goes by the names in it, so that a wrapper may add names and hide none.
"""

from collections import namedtuple
from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload

from .lend import INNER


@cache
def joined_type(one: Any, other: Any) -> Any:
    """The class with the fields of two; by its name it can be found here, to be unpickled."""
    name = f"{one.__name__}With{other.__name__}"
    made = namedtuple(name, (*one._fields, *other._fields))  # type: ignore[misc]
    made.__module__ = __name__
    globals()[name] = made
    return made


def join(one: Any, other: Any) -> Any:
    """The fields of two named tuples in one.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    >>> class Size(NamedTuple):
    ...     width: float
    >>> join(Point(1.0), Size(3.0))
    PointWithSize(x=1.0, width=3.0)
    """
    kinds: tuple[Any, Any] = type(one), type(other)
    return joined_type(*kinds)(*one, *other)


@intrinsic  # type: ignore[untyped-decorator]
def _join(typing: Any, one: Any, other: Any) -> Any:
    made = joined_type(one.instance_class, other.instance_class)
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


@overload(join, jit_options=INNER)
def _overload_join(one, other):  # type: ignore[no-untyped-def]
    return lambda one, other: _join(one, other)

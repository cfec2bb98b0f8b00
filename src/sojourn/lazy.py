"""Public names that are imported when they are first used.

A package says where its names live; the modules are loaded on demand. So a process that serves
never loads the simulator, and one that calls the HTTP client never loads the compiler.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package; `homes` has the names by module, relative to it.

    >>> find, names = exports("sojourn", {".checks": ["number"]})
    >>> find("number")("q00", 0.5, 0, 1), names()
    (0.5, ['number'])
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(home_of)
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name], package), name)

    return find, lambda: sorted(home_of)

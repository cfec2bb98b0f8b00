"""Public names that are imported when they are first used.

A package lists its names once, as imports for the type checker; `exports` makes of that list what
loads them on demand. So a server never loads the simulator, and a client of the HTTP API never
loads the compiler.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

Find = Callable[[str], Any]


def exports(package: str) -> tuple[Find, Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose `if TYPE_CHECKING:` imports its names.

    >>> find, names = exports("sojourn.live")
    >>> find("Busy").__name__, "Experiment" in names()
    ('Busy', True)
    """
    homes = {public: (module, name) for module, name, public in _imports(package)}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return _found(package, *homes[name])

    return find, lambda: sorted(homes)


def _imports(package: str) -> Iterator[tuple[str, str, str]]:
    """(module, name there, name here) of what a package imports for the type checker."""
    loader: Any = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    for block in ast.parse(loader.get_source(package)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                assert isinstance(line, ast.ImportFrom)
                module = "." * line.level + (line.module or "")
                yield from (
                    (module, alias.name, alias.asname or alias.name) for alias in line.names
                )


def _found(package: str, module: str, name: str) -> Any:
    """The attribute of this name in the module, or the module within it of this name."""
    parent = module.rstrip(".") and f"{module}."  # only dots: a module beside the package's own
    if parent:
        found = getattr(import_module(module, package), name, None)
        if found is not None:
            return found
    return import_module(f"{parent or module}{name}", package)

"""The public names: what each is called, where it is defined, and its page of the reference.

A package that exports names (`__all__`, or the list that `sojourn.lazy` reads) is public; so are
the functions and classes of the modules in `MORE`. What is exported twice has one page, under its
shortest name.
"""

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import griffe

import sojourn

MORE = ("sojourn.problem_files", "sojourn.validation", "sojourn.registry")
APART = "sojourn.cli"  # commands have pages of their own
SECTIONS = {
    "Model": ("problem", "users", "rewards", "values", "problem_files", "settings", "paper"),
    "Policies": ("policies", "recommendation"),
    "Theory": ("theory",),
    "Simulation": ("simulation", "stats"),
    "Logs": ("logs",),
    "Live": ("live",),
    "Client": ("client",),
    "Gymnasium": ("gym",),
    "Extending": ("contracts", "engine", "validation", "registry"),
}
"""Parts of the reference, and the subpackages of `src/sojourn` whose names they have."""


class Name(NamedTuple):
    """A public name, such as sojourn.Fit; where it is defined; its part; and its first line."""

    public: str
    home: str
    section: str
    line: str

    @property
    def short(self) -> str:
        return self.public.rpartition(".")[2]


@cache
def public() -> dict[str, Name]:
    """Every public name by all the paths under which it can be imported."""
    tree: Any = griffe.load("sojourn", resolve_aliases=True)
    found: dict[str, Name] = {}
    by_home: dict[str, Name] = {}
    for path, home in sorted(_exported(tree), key=_preferred):
        if home not in by_home:
            by_home[home] = Name(path, home, _section(home), _line(tree, path, home))
        found[path] = by_home[home]
    return found


@cache
def pages() -> dict[str, Name]:
    """The page of each name, once: its path within the site's sources.

    Files of Macs and Windows do not tell `fit` from `Fit`.

    >>> sorted(path for path, name in pages().items() if name.short.lower() == "fit")
    ['reference/logs/Fit.md', 'reference/logs/fit-function.md']
    """
    names = sorted(set(public().values()))  # capitals first
    taken: dict[str, Name] = {}
    for name in names:
        path = f"{folder(name.section)}/{name.short}.md"
        if path.lower() in map(str.lower, taken):
            path = f"{folder(name.section)}/{name.short}-function.md"
        taken[path] = name
    return taken


@cache
def alone() -> dict[str, str]:
    """Where names are defined by their last word, as far as no other name has the same."""
    count = Counter(name.short for name in set(public().values()))
    return {n.short: n.home for n in public().values() if count[n.short] == 1}


@cache
def modules() -> dict[str, str]:
    """Modules whose names are public, but for `sojourn` itself, and the part that has them."""
    return {path: _section(module.__name__) for path, module in _modules() if path != "sojourn"}


def identifier(section: str) -> str:
    """What links call a part of the reference; they call a name by where it is defined."""
    return f"reference.{section.lower()}"


def folder(section: str) -> str:
    """Where the pages of a part of the reference are."""
    return f"reference/{section.lower()}"


def _exported(tree: Any) -> Iterator[tuple[str, str]]:
    """(path, where it is defined) of all that public modules export, modules left out."""
    for path, module in _modules():
        for name in _names(module):
            value = getattr(module, name)
            if not inspect.ismodule(value):
                yield f"{path}.{name}", _home(tree, module, name, value)


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """`sojourn`, the modules that it exports, packages that export names, and `MORE`."""
    yield "sojourn", sojourn
    exported = {f"sojourn.{name}": getattr(sojourn, name) for name in dir(sojourn)}
    found = {path: value for path, value in exported.items() if inspect.ismodule(value)}
    for inner in pkgutil.iter_modules(sojourn.__path__, "sojourn."):
        if inner.ispkg and inner.name != APART:
            module = importlib.import_module(inner.name)
            if hasattr(module, "__all__") or hasattr(module, "__getattr__"):
                found[inner.name] = module
    yield from found.items()
    yield from ((path, importlib.import_module(path)) for path in MORE)


def _preferred(exported: tuple[str, str]) -> tuple[int, bool, bool, str]:
    """Short names first, then those of the subpackage that defines the thing, then its own name."""
    path, home = exported
    alias = path.rpartition(".")[2] != home.rpartition(".")[2]
    return path.count("."), path.split(".")[1] != home.split(".")[1], alias, path


def _names(module: ModuleType) -> list[str]:
    if hasattr(module, "__getattr__"):  # of sojourn.lazy, whose __dir__ knows
        return dir(module)
    own = (
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    )
    return list(getattr(module, "__all__", own))


def _home(tree: Any, module: ModuleType, name: str, value: Any) -> str:
    """Where it is defined: classes and functions know, of others the source text says."""
    known = inspect.isclass(value) or inspect.isfunction(value)
    if known and value.__module__ != "sojourn":  # which InputError says of itself
        return f"{value.__module__}.{value.__qualname__}"
    found = tree[f"{module.__name__}.{name}".removeprefix("sojourn.")]
    return str(found.canonical_path)


def _section(home: str) -> str:
    part = home.split(".")[1]
    for section, parts in SECTIONS.items():
        if part in parts:
            return section
    raise LookupError(f"{home} has no part in the reference: add {part!r} to website/names.py")


def _line(tree: Any, path: str, home: str) -> str:
    """The first line of its docstring, without which it is not documented."""
    text = tree[home.removeprefix("sojourn.")].docstring
    if text is None:
        raise LookupError(f"{path} is public and has no docstring")
    return str(text.value).partition("\n")[0]

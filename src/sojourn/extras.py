"""Optional packages: checked before any work, with one sentence if one is missing."""

from importlib.util import find_spec


class MissingExtra(ImportError):
    """Something needs an extra that is not installed."""


def require(what: str, extra: str, *modules: str) -> None:
    """MissingExtra unless all these modules, which an extra of the package brings, can be imported.

    >>> require("a plot", "plot", "matplotlib")
    >>> require("a plot", "plot", "matplotlib", "plotting_in_colour")
    Traceback (most recent call last):
    sojourn.extras.MissingExtra: a plot needs plotting_in_colour: pip install 'sojourn[plot]'
    """
    missing = [module.partition(".")[0] for module in modules if not _found(module)]
    if missing:
        raise MissingExtra(f"{what} needs {', '.join(missing)}: pip install 'sojourn[{extra}]'")


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it would be in
        return False

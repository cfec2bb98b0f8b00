"""Labels of policies: the title, and the parameters that differ from the usual ones."""

from functools import singledispatch
from typing import Any

from ..registry import described


@singledispatch
def label_of(policy: Any, usual: Any) -> str:
    """The title, and the parameters in which a policy differs from the `usual` one (or None)."""
    name, parameters = described(policy)
    title = policy.title or name
    if usual is not None and hasattr(usual, "opposite") and policy == usual.opposite():
        return f"{title}, opposite"
    known = {} if usual is None else described(usual)[1]
    changed = [f"{k}={_short(v)}" for k, v in parameters.items() if v != known.get(k)]
    return ", ".join([title, *changed])


def default_of(cls: type[Any]) -> Any:
    """The policy with its defaults; None if a parameter has none."""
    try:
        return cls()
    except TypeError:
        return None


def _short(value: Any) -> str:
    """As the command line takes it."""
    if hasattr(value, "label"):
        return str(value.label)
    if isinstance(value, bool):
        return str(value).lower()
    brief = f"{value:g}" if isinstance(value, int | float) else str(value)
    return brief if not isinstance(value, float) or float(brief) == value else repr(value)

"""Entries of packages that are not installed."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from sojourn.registry import Registry


def install(
    monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], name: str, target: str
) -> None:
    """As if another package had an entry point of this name, until the test ends."""
    entry = EntryPoint(name, target, registry.group)
    caches = ("_others", "_names", "_usable")
    for cache in caches:
        getattr(registry, cache)  # so that what is known now comes back
    monkeypatch.setattr(
        "sojourn.registry.entry_points", lambda *, group: EntryPoints([entry]).select(group=group)
    )
    for cache in caches:
        monkeypatch.delitem(registry.__dict__, cache)

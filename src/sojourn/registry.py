"""Registries: names that commands, files, the service and the tests use.

The package's own entries are listed where they live. Other packages add theirs through entry
points: in their pyproject.toml, for a policy,

    [project.entry-points."sojourn.policies"]
    Mine = "my_package.policies:Mine"

and likewise "sojourn.users" (by the model's name in problem files) and "sojourn.stores" (by the
scheme of the store's address).
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from .validation import InputError

T = TypeVar("T")


class RegistryWarning(UserWarning):
    """Another package's entry cannot be used."""


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind by name: ours, given as they are or as "module:name", then others'.

    Names are found however they are spelled: hyphens, spaces and case do not matter.

    >>> Registry("codec", "none.such", {"JSON": "json:JSONEncoder"})["json"].__name__
    'JSONEncoder'
    """

    def __init__(self, kind: str, group: str, own: Mapping[str, T | str]) -> None:
        self.kind, self.group, self._own = kind, group, own
        self._loaded: dict[str, T] = {}

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        found = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
        return {entry.name: entry for entry in found if entry.name not in self._own}

    @cached_property
    def _names(self) -> dict[str, str]:
        return {plain_name(name): name for name in (*self._own, *self._others)}

    def __getitem__(self, name: str) -> T:
        known = self._names.get(plain_name(name))
        if known is None:
            raise KeyError(name)
        if known not in self._loaded:
            self._loaded[known] = self._load(known)
        return self._loaded[known]

    def _load(self, name: str) -> T:
        entry: Any = self._own[name] if name in self._own else self._others[name]
        if isinstance(entry, str):
            entry = EntryPoint(name, entry, self.group)
        return entry.load() if isinstance(entry, EntryPoint) else entry  # type: ignore[no-any-return]

    @cached_property
    def _usable(self) -> list[str]:
        """Other packages' entries that load; one that does not is warned about once."""
        usable = []
        for name in self._others:
            try:
                _ = self[name]
            except Exception as error:
                warnings.warn(
                    f"{self.kind} {name!r} of another package cannot be used: {error}",
                    RegistryWarning,
                    stacklevel=3,
                )
            else:
                usable.append(name)
        return usable

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._usable

    def __len__(self) -> int:
        return len(self._own) + len(self._usable)

    def find(self, what: str, name: Any) -> T:
        """The entry of this name; InputError, with all names, if there is none."""
        if isinstance(name, str) and name in self:
            return self[name]
        raise InputError(f"{what} {name!r} is not known: it must be one of {', '.join(self)}")


def described(value: Any) -> tuple[str, dict[str, Any]]:
    """The public name of a policy or user model, that of its class, and its parameters by name.

    >>> from sojourn.policies import UCB
    >>> described(UCB())
    ('UCB', {'c': 0.0, 'random_ties': True, 'introduce_in_any_state': True})
    """
    shown = (f.name for f in fields(value) if f.init and f.repr)
    return type(value).__name__, {name: getattr(value, name) for name in shown}


def plain_name(name: str) -> str:
    """A name without hyphens, spaces and case.

    >>> plain_name("KL-ULCB"), plain_name("Learned IMED")
    ('klulcb', 'learnedimed')
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())

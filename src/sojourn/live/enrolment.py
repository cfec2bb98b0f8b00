"""Creating an experiment in a store, or changing it."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .errors import Conflict
from .names import check_name
from .records import Arm
from .settings import Settings
from .stores import Store


def check_arms(arms: Any) -> list[str]:
    """The names of arms: a list without duplicates."""
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise ValueError(f"arms = {arms!r} is not allowed: give a list of names")
    names = [check_name("arms", arm) for arm in arms]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"arms has the name {min(twice)!r} twice")
    return names


def enrol(store: Store, name: str, settings: Settings, arms: Sequence[str]) -> bool:
    """Create an experiment, or change it; whether it is new.

    Arms that are not known are added, settings replaced. States and their bins are in the counters,
    so that they cannot change: `Conflict`.
    """
    text, found = settings.to_json(), store.load(name)
    known = {} if found is None else {arm.name: arm for arm in found[1]}
    if found is not None:
        _check_same(name, json.loads(found[0]), json.loads(text))
    new = [Arm(0, arm) for arm in arms if arm not in known]
    if not new and all(arm.retired for arm in known.values()):
        raise ValueError("arms is not allowed: give at least one arm")
    settings.policy.check_arms(len(new) + sum(not arm.retired for arm in known.values()))
    if found is None or new or found[0] != text:
        store.save(name, text, new)
    return found is None


def _check_same(name: str, known: dict[str, Any], given: dict[str, Any]) -> None:
    for what in ("user", "bins"):
        if known[what] != given[what]:
            raise Conflict(
                f"{what} = {given[what]!r} is not allowed: experiment {name!r} has "
                f"{known[what]!r}, which cannot change; give another name"
            )

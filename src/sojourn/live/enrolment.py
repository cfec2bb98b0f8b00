"""Creating an experiment in a store, or changing it: what cannot be served is never saved."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..validation import InputError, PolicyError
from .errors import Conflict
from .learner import Learner
from .records import Arm
from .settings import Settings
from .stores import Store
from .stores.base import has_variants, merged, plain_settings

MOST_ARMS = 10_000
"""Arms of one experiment, retired ones included.

A decision among so many takes 2 ms (KL-UCB), and 12 ms with the chances of Thompson sampling.
"""

MOST_MEGABYTES = 100
"""What the memory of one policy may take: arms x bins x stages, for Q-learning by step."""

Make = Callable[[Settings], Learner]


class Enrolled(NamedTuple):
    """The settings that an experiment has then, and whether it is new."""

    settings: Settings
    new: bool


class Checked(NamedTuple):
    """Settings that can be served, the arms that are new, and whether anything has changed."""

    settings: Settings
    arms: list[Arm]
    new: bool
    changed: bool


def enrol(store: Store, name: str, settings: Settings, arms: Sequence[str], make: Make) -> Enrolled:
    """Create an experiment, or change it, if that is all right."""
    found = checked(store, name, settings, arms, make)
    if found.changed:
        store.save(name, found.settings.to_json(), found.arms)
    return Enrolled(found.settings, found.new)


def checked(
    store: Store, name: str, settings: Settings, arms: Sequence[str], make: Make
) -> Checked:
    """What creating an experiment, or changing it, would save.

    Arms that are not known are added, settings replaced. States, their bins and what is a good
    reward are in the counters, so that they cannot change: `Conflict`. What is to be saved is
    tried before, with the learner that `make` makes.
    """
    found = store.load(name)
    if found is not None and has_variants(found[0]):
        raise Conflict(f"experiment {name!r} has variants: change those, or give another name")
    known = [] if found is None else found[1]
    if found is not None:
        settings = _continued(found[0], settings)
        _check_same(store, name, found[0], json.loads(settings.to_json()))
    text = settings.to_json()
    names = {arm.name for arm in known}
    new = [Arm(0, arm) for arm in arms if arm not in names]
    changed = found is None or bool(new) or found[0] != text
    check_served(settings, known, new)
    if changed:
        _try_out(settings, merged(known, new), make)
    return Checked(settings, new, found is None, changed)


def _continued(text: str, settings: Settings) -> Settings:
    """An experiment that takes any reward, by settings older than this choice, goes on so."""
    known = plain_settings(text)
    any_reward = "bins" in known and known.get("reward_threshold", 0.0) == 0.0
    if settings.reward_threshold is None and any_reward:
        return replace(settings, reward_threshold=0.0)
    return settings


def check_served(settings: Settings, known: Sequence[Arm], changed: Sequence[Arm] = ()) -> None:
    """InputError if an experiment cannot be served once these arms of it are changed."""
    arms = merged(known, changed)
    if len(arms) > max(MOST_ARMS, len(known)):
        raise InputError(
            f"arms is not allowed: with {len(arms) - len(known)} more the experiment has "
            f"{len(arms)}, retired ones included, and it may have {MOST_ARMS}"
        )
    using = sum(not arm.retired for arm in arms)
    if not using:
        raise InputError("arms is not allowed: give at least one arm")
    with in_one_sentence(settings):
        settings.policy.check_arms(using)
        one, two = (_megabytes(settings.policy.memory(n)) for n in (1, 2))
    needed = one + (two - one) * (using - 1)  # arrays have a row or a column for every arm
    if needed > MOST_MEGABYTES:
        raise InputError(
            f"policy = {settings.policy!r} is not allowed: for {using} arms it takes "
            f"{needed:,.0f} MB of memory, and may take {MOST_MEGABYTES}"
        )


def _megabytes(memory: Any) -> float:
    arrays = memory if isinstance(memory, tuple) else (memory,)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) / 1e6


def _try_out(settings: Settings, arms: Sequence[Arm], make: Make) -> None:
    """Build the learner and let it decide once, so that it does not fail when it is served."""
    with in_one_sentence(settings):
        learner = make(settings)
        learner.forget(arms)
        learner.choose(settings.user.experience(settings.user.begin(0.0)), 1)


@contextmanager
def in_one_sentence(settings: Settings) -> Iterator[None]:
    """Whatever goes wrong with a policy, perhaps of another package, is bad input: InputError."""
    try:
        yield
    except InputError:
        raise
    except PolicyError as error:
        raise InputError(str(error)) from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError(f"policy = {settings.policy!r} cannot be served: {why}") from error


def _check_same(store: Store, name: str, text: str, given: dict[str, Any]) -> None:
    """Broken settings of an experiment that nobody has visited may become anything."""
    known = {"reward_threshold": 0.0, **plain_settings(text)}
    fixed = ("user", "bins", "reward_threshold")
    differs = [what for what in fixed if what not in known or known[what] != given[what]]
    if not differs or not (_readable(text) or any(store.counts(name))):
        return
    if differs[0] not in known:
        raise Conflict(
            f"experiment {name!r} has visits, and its settings cannot be read, so that nobody "
            "knows of which states its counters are: drop it, or give another name"
        )
    for what in differs:
        raise Conflict(
            f"{what} = {given[what]!r} is not allowed: experiment {name!r} has "
            f"{known[what]!r}, which cannot change; give another name"
        )


def _readable(text: str) -> bool:
    try:
        Settings.from_json(text)
    except Exception:
        return False
    return True

"""Creating an experiment in a store, or changing it: only what can be served is saved."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import validation
from ..policies import Policy
from ..validation import InputError, PolicyError
from .errors import Broken, Conflict
from .learner import Learner
from .names import Id, check_name, check_names
from .records import Arm
from .rollout.allocation import STOP_EXPLORING, WINDOW, Allocation, Guardrail, names_of, whole_of
from .settings import Settings
from .stores import base
from .stores.base import Store, counters, find, has_variants, loaded, merged, plain_settings, swap

MOST_ARMS = 10_000
"""Arms of one experiment, retired ones included.

A decision among so many takes 2 ms (KL-UCB), and 12 ms with the chances of Thompson sampling.
"""

FIXED = ("user", "bins", "reward_threshold")  # settings that cannot change

MOST_MEGABYTES = 100
"""Limit of the memory of one policy: arms x bins x stages, for Q-learning by step."""

Make = Callable[[Settings], Learner]


def enrol(
    store: Store,
    name: str,
    settings: Settings,
    arms: Sequence[str],
    make: Make,
    *,
    save: bool = True,
) -> bool:
    """Create an experiment, or change it; whether it is new. Without `save` it is only checked.

    Arms that are not known are added, settings replaced. States, their bins and what is a good
    reward are in the counters, so that they cannot change: `Conflict`. What is to be saved is
    tried before, with the learner that `make` makes.
    """
    found, text = find(store, name), settings.to_json()
    if found is not None:
        if has_variants(found.settings):
            raise Conflict(f"experiment {name!r} has variants: change those, or give another name")
        _check_same(store, name, plain_settings(found.settings), json.loads(text))
    known = () if found is None else found.arms
    names = {arm.name for arm in known}
    new = [Arm(0, arm) for arm in arms if arm not in names]
    check_served(settings, known, new)
    if found is None or new or found.settings != text:
        with in_one_sentence(settings):
            learner = make(settings)
            learner.forget(merged(known, new))
            learner.choose(settings.user.experience(settings.user.begin(0.0)), 1)
        if save:
            base.save(store, name, text, new)
    return found is None


def check_served(settings: Settings, known: Sequence[Arm], changed: Sequence[Arm] = ()) -> None:
    """InputError if an experiment cannot be served once these arms of it are changed."""
    arms = merged(known, changed)
    if len(arms) > max(MOST_ARMS, len(known)):
        raise InputError(
            f"arms is not allowed: with {len(arms) - len(known)} new arms the experiment has "
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


@contextmanager
def in_one_sentence(settings: Settings) -> Iterator[None]:
    """Turn any error of a policy, perhaps from another package, into an InputError."""
    try:
        yield
    except InputError:
        raise
    except PolicyError as error:
        raise InputError(str(error)) from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError(f"policy = {settings.policy!r} cannot be served: {why}") from error


def _check_same(
    store: Store, name: str, known: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Broken settings of an experiment that nobody has visited may become anything."""
    differs = [w for w in FIXED if w not in known or known[w] != given[w]]
    if not differs or not (_readable(known) or counters(store, name)):
        return
    what = differs[0]
    if what not in known:
        raise Conflict(
            f"experiment {name!r} has visits, and its settings cannot be read, so that nobody "
            "knows of which states its counters are: drop it, or give another name"
        )
    raise Conflict(
        f"{what} = {given[what]!r} is not allowed: experiment {name!r} has "
        f"{known[what]!r}, which cannot change; give another name"
    )


def _readable(known: Mapping[str, Any]) -> bool:
    try:
        Settings.from_json(json.dumps(known))
    except Exception:
        return False
    return True


LEARNS_FROM = ("own", "all")


@dataclass(frozen=True)
class Variant:
    """A variant: its name, its share of the visits to begin with, and who decides in it.

    That is the policy; or, if it is `external`, the caller, whose choices the policy learns from.
    It learns from its "own" visits, or from those of "all" variants.

    >>> Variant("old", 0.9, external=True)
    Variant(name='old', share=0.9, policy=None, external=True, learns_from='own')
    """

    name: str
    share: float
    policy: Policy | None = None
    external: bool = False
    learns_from: str = "own"

    def settings(self, common: Mapping[str, Any], names: Mapping[str, str]) -> Settings:
        """The settings of its branch: its own, and those of all variants, by their names."""
        validation.one_of("learns_from", self.learns_from, LEARNS_FROM)
        for name in ("external", "learns_from"):
            if name in common:
                raise InputError(f"{name} is not allowed with variants: set it in a Variant")
        own: dict[str, Any] = {} if self.policy is None else {"policy": self.policy}
        if self.learns_from == "all":
            own["learns_from"] = tuple(child for n, child in names.items() if n != self.name)
        return Settings(**{**common, **own, "external": self.external})


class Given(NamedTuple):
    """The parts of an experiment with variants; `common` are settings of all variants."""

    arms: Sequence[Id]
    variants: Sequence[Variant]
    holdout: str | None
    guardrail: Guardrail | None
    window: float | None
    common: Mapping[str, Any]


def enrol_variants(
    store: Store, name: str, given: Given, make: Make
) -> tuple[dict[str, Settings], bool]:
    """Create an experiment with variants, or change it: their settings, and whether it is new.

    The allocation is saved before the branches: an experiment that has the name of a branch while
    there is no allocation is somebody else's.
    """
    allocation = _planned(store, check_name("name", name), given)
    arms, names = check_names("arms", given.arms), names_of(name, allocation.variants)
    settings = {v.name: v.settings(given.common, names) for v in given.variants}
    for each in given.variants:
        if each.learns_from == "all":
            _check_alike(each.name, settings)
    found = find(store, name)
    if found is None:
        for child in names.values():
            if find(store, child) is not None:
                raise Conflict(f"there is an experiment {child!r}: give the variant another name")
    else:
        known = allocation_of(store, name)
        window = known.window if given.window is None else allocation.window
        allocation = _continued(known, allocation, name).followed(window, store.ping())
    check_guardrail(allocation, settings)
    for variant, child in names.items():
        enrol(store, child, settings[variant], arms, make, save=False)
    if found is None:
        base.save(store, name, allocation.to_json())
    elif not swap(store, name, found, allocation.to_json()):
        raise Conflict(f"the allocation of {name!r} was changed meanwhile: try again")
    for variant, child in names.items():
        enrol(store, child, settings[variant], arms, make)
    return settings, found is None


def check_guardrail(allocation: Allocation, variants: Mapping[str, Settings]) -> None:
    """InputError if variants cannot do what the guardrail may ask of them."""
    if allocation.guardrail is not None and allocation.guardrail.action == STOP_EXPLORING:
        for name, settings in variants.items():
            if name != allocation.holdout:
                check_settles(name, settings)


def check_settles(variant: str, settings: Settings) -> None:
    """InputError if a variant cannot stop exploring."""
    if settings.external:
        raise InputError(
            f"variant = {variant!r} is not allowed: the caller chooses its arms, so that nothing "
            "is explored here"
        )
    policy = settings.policy
    with in_one_sentence(settings):
        policy.greedy_values(policy.memory(2), 1.0)


def _planned(store: Store, name: str, given: Given) -> Allocation:
    """The first allocation of what is given."""
    if given.holdout is None:
        raise InputError("holdout is missing: name the variant that others are compared with")
    shares = {variant.name: variant.share for variant in given.variants}
    if len(shares) < len(given.variants):
        raise InputError("variants is not allowed: it has a name twice")
    for variant in given.variants:
        validation.flag(f"external of {variant.name!r}", variant.external)
    window = WINDOW if given.window is None else given.window
    how: dict[str, Any] = {"guardrail": given.guardrail, "window": window}
    return Allocation.of(shares, given.holdout, at=store.ping(), **how)


def _continued(known: Allocation, given: Allocation, name: str) -> Allocation:
    """The allocation that is there, with the guardrail that is given, if one is."""
    if (set(known.variants), known.holdout) != (set(given.variants), given.holdout):
        raise Conflict(
            f"experiment {name!r} has the variants {', '.join(known.variants)} with the holdout "
            f"{known.holdout}, which cannot change; give another name"
        )
    return known if given.guardrail is None else known.guarded(given.guardrail)


def drop_with_variants(store: Store, name: str) -> list[str]:
    """Delete an experiment, and its variants before it; all that were deleted.

    If it is interrupted, it can be done again.
    """
    text, whole = loaded(store, name).settings, whole_of(name)
    parent = None if whole is None else find(store, whole)
    if parent is not None and name in children_in(parent.settings, str(whole)).values():
        raise Conflict(f"experiment {name!r} is a variant of {whole!r}: drop that")
    variants = allocation_of(store, name).variants if has_variants(text) else ()
    known = store.read(counts=False)
    dropped = [child for child in names_of(name, variants).values() if child in known] + [name]
    for each in dropped:
        store.drop(each)
    return dropped


def children_in(text: str, name: str) -> dict[str, str]:
    """The names of the branches in the store, by variant, of an experiment with these settings.

    Empty without variants.
    """
    return names_of(name, plain_settings(text).get("variants", ()))


def allocation_of(store: Store, name: str) -> Allocation:
    """The allocation of an experiment with variants; `Conflict` if it has none."""
    return allocation_in(loaded(store, name), name)


def allocation_in(stored: base.Stored, name: str) -> Allocation:
    """`allocation_of`, as it was read."""
    if not has_variants(stored.settings):
        raise Conflict(f"experiment {name!r} has no variants")
    try:
        return Allocation.from_json(stored.settings)
    except (KeyError, TypeError, ValueError) as error:
        raise Broken(f"the variants of {name!r} cannot be read ({error})") from error


def _check_alike(variant: str, variants: Mapping[str, Settings]) -> None:
    """InputError if a variant that learns from all cannot use what the others count."""
    own = variants[variant]
    for name, other in variants.items():
        if own.policy.learns_from == "departures" and other.bins != own.bins:
            raise InputError(
                f"learns_from of {variant!r} is not allowed: its policy has {own.bins} bins of the "
                f"state, by which departures are counted, and {name!r} has {other.bins}; give "
                "their policies as many, such as EngagementIndex(bins=2)"
            )

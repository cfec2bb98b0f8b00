"""Creating an experiment with variants in a store, or changing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import validation
from ..policies import Policy
from ..validation import InputError
from .enrolment import Make, checked, enrol, in_one_sentence
from .errors import Broken, Conflict
from .names import check_name, check_names
from .plan import STOP_EXPLORING, Allocation, Guardrail, names_of, whole_of
from .settings import Settings
from .sharing import check_alike
from .stores.base import Store, has_variants, loaded, plain_settings

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
    """What an experiment with variants is made of; `common` are settings of all variants."""

    arms: Sequence[str]
    variants: Sequence[Variant]
    holdout: str | None
    guardrail: Guardrail | None
    common: Mapping[str, Any]


class EnrolledVariants(NamedTuple):
    """The allocation then, the settings of each variant, and whether the experiment is new."""

    allocation: Allocation
    settings: dict[str, Settings]
    new: bool


def enrol_variants(store: Store, name: str, given: Given, make: Make) -> EnrolledVariants:
    """Create an experiment with variants, or change it, if all of them can be served.

    The allocation is saved before the branches: an experiment that has the name of a branch while
    there is no allocation is somebody else's.
    """
    allocation = _planned(store, check_name("name", name), given)
    arms, names = check_names("arms", given.arms), names_of(name, allocation.variants)
    settings = {v.name: v.settings(given.common, names) for v in given.variants}
    for each in given.variants:
        if each.learns_from == "all":
            check_alike(each.name, settings)
    taken = [child for child in names.values() if store.load(child) is not None]
    found = store.load(name)
    if found is None and taken:
        raise Conflict(f"there is an experiment {taken[0]!r}: give the variant another name")
    if found is not None:
        allocation = _continued(allocation_of(store, name), allocation, name)
    check_guardrail(allocation, settings)
    for variant, child in names.items():
        checked(store, child, settings[variant], arms, make)
    if found is None:
        store.save(name, allocation.to_json())
    elif not store.exchange(name, found[0], allocation.to_json()):
        raise Conflict(f"the allocation of {name!r} was changed meanwhile: try again")
    for variant, child in names.items():
        settings[variant] = enrol(store, child, settings[variant], arms, make).settings
    return EnrolledVariants(allocation, settings, found is None)


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
    return Allocation.of(shares, given.holdout, at=store.now(), guardrail=given.guardrail)


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
    text, _ = loaded(store, name)
    whole = store.load(whole_of(name) or "")
    if whole is not None and name in children_in(whole[0], whole_of(name) or "").values():
        raise Conflict(f"experiment {name!r} is a variant of {whole_of(name)!r}: drop that")
    variants = allocation_of(store, name).variants if has_variants(text) else ()
    known = set(store.experiments())
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
    return stored_allocation(store, name)[1]


def stored_allocation(store: Store, name: str) -> tuple[str, Allocation]:
    """`allocation_of`, with its text in the store."""
    text, _ = loaded(store, name)
    if not has_variants(text):
        raise Conflict(f"experiment {name!r} has no variants")
    try:
        return text, Allocation.from_json(text)
    except (KeyError, TypeError, ValueError) as error:
        raise Broken(f"the variants of {name!r} cannot be read ({error})") from error

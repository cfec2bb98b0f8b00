"""What an experiment learns from the visits of others: their counters, by its own arms."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..validation import InputError
from .learner import BY_ARM, BY_BIN
from .records import NO_ARM, Arm, Counts, Key, added
from .settings import Settings
from .stores.base import Store

OF_ARMS = (*BY_ARM, "issued")


def counted_by(store: Store, experiments: Sequence[str], arms: Sequence[Arm]) -> Counts:
    """The sums of what these experiments count, as the store has them, that a policy learns from.

    Arms are found by name; what others count of an arm that is not here is nobody's, as that of a
    retired one. Prior counts of theirs are not counted, nor is one that was dropped.
    """
    here = {arm.name: arm.position for arm in arms}
    total: defaultdict[Key, float] = defaultdict(float)
    for stored in store.read(experiments).values():
        place = {arm.position: here.get(arm.name, NO_ARM) for arm in stored.arms}
        for (what, i, j, k), n in added(stored.own, stored.others).items():
            if what in OF_ARMS:
                total[what, place.get(i, NO_ARM), j, k] += n
            elif what in BY_BIN:
                total[what, i, j, k] += n
    return dict(total)


def more(now: Counts, before: Counts) -> Counts:
    """What has to be added to counters to make them those of now.

    >>> more({("pulls", 0, 0, 0): 3.0}, {("pulls", 0, 0, 0): 1.0, ("pulls", 1, 0, 0): 2.0})
    {('pulls', 0, 0, 0): 2.0, ('pulls', 1, 0, 0): -2.0}
    """
    found = {key: now.get(key, 0.0) - before.get(key, 0.0) for key in {**now, **before}}
    return {key: n for key, n in found.items() if n}


def check_alike(variant: str, variants: Mapping[str, Settings]) -> None:
    """InputError if a variant that learns from all cannot use what the others count."""
    own = variants[variant]
    for name, other in variants.items():
        if own.policy.learns_from == "departures" and other.bins != own.bins:
            raise InputError(
                f"learns_from of {variant!r} is not allowed: its policy has {own.bins} bins of the "
                f"state, by which departures are counted, and {name!r} has {other.bins}; give "
                "their policies as many, such as VisitIMED(bins=2)"
            )

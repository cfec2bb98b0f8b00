"""Which variant a visit is in: a function of its user, or else of its own id, and of the shares.

Each variant draws a number for the user by a hash, and the greatest of share / -log(draw) wins
(weighted rendezvous hashing): that is an exponential race, which each variant wins with the
probability of its share. So every process agrees and nothing has to be stored first; when shares
change, a visit moves only to a variant whose share has grown against that of its own, so that
those who have a variant keep it while it is ramped up.
"""

from collections.abc import Mapping
from hashlib import blake2b
from math import log

BITS = 52  # of a draw, so that it is never 0 or 1


def unit_of(visit: str, user: str | None) -> str:
    """What is assigned: the user, or a visit without one."""
    return f"visit {visit}" if user is None else f"user {user}"


def races(experiment: str, variants: tuple[str, ...], unit: str) -> dict[str, float]:
    """The time at which each variant would reach the unit, if it had all the share."""
    found = {}
    for variant in variants:
        text = "\0".join((experiment, variant, unit))
        bits = int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> (64 - BITS)
        found[variant] = -log((bits + 0.5) / 2**BITS)
    return found


def winner(races: Mapping[str, float], shares: Mapping[str, float]) -> str:
    """The variant that wins, with these shares.

    >>> found = races("shorts", ("old", "new"), unit_of("v1", "u42"))
    >>> [winner(found, {"old": 1 - share, "new": share}) for share in (0.0, 0.2, 0.5, 1.0)]
    ['old', 'old', 'old', 'new']
    """
    return max(races, key=lambda variant: shares[variant] / races[variant])

"""Which variant a visit is in: a function of its user, or else of its own id, and of the shares.

Each variant has a hash score for the user, -log(draw), where the draw is a hash. The variant with
the greatest share / score wins (weighted rendezvous hashing), with the probability of its share. So
every process agrees and nothing has to be stored first. When shares change, a visit moves only to a
variant whose share has grown relative to that of its own: who has a variant keeps it while it is
ramped up.
"""

from collections.abc import Mapping
from hashlib import blake2b
from math import log

BITS = 52  # of a draw, so that it is never 0 or 1


def unit_of(visit: str, user: str | None) -> str:
    """What is assigned: the user, or a visit without one."""
    return f"visit {visit}" if user is None else f"user {user}"


def hash_scores(experiment: str, variants: tuple[str, ...], unit: str) -> dict[str, float]:
    """The hash score of each variant for the unit: an exponential variable."""
    found = {}
    for variant in variants:
        text = "\0".join((experiment, variant, unit))
        bits = int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> (64 - BITS)
        found[variant] = -log((bits + 0.5) / 2**BITS)
    return found


def winner(scores: Mapping[str, float], shares: Mapping[str, float]) -> str:
    """The variant that wins, with these shares.

    >>> found = hash_scores("shorts", ("old", "new"), unit_of("v1", "u42"))
    >>> [winner(found, {"old": 1 - share, "new": share}) for share in (0.0, 0.2, 0.5, 1.0)]
    ['old', 'old', 'old', 'new']
    """
    return max(scores, key=lambda variant: shares[variant] / scores[variant])

"""Priors of the means, and what they must be like for a user."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import validation
from ..validation import InputError
from .finite import Array, FiniteUser

Prior = tuple[float, float]
"""a and b of a Beta distribution."""

MOST_PRIOR = 1e5


def priors_of(prior: Any, arms: int) -> tuple[Prior, ...]:
    """A pair for each arm, from one for all or one for each.

    >>> priors_of((1, 1), 2)
    ((1.0, 1.0), (1.0, 1.0))
    """
    try:
        given = np.array(prior, float)
        good = given.shape in ((2,), (arms, 2)) and bool(np.isfinite(given).all())
    except (TypeError, ValueError):
        good = False
    if not good or not ((given >= 1.0 / MOST_PRIOR) & (given <= MOST_PRIOR)).all():
        raise InputError(
            f"prior = {validation.shown(prior)} is not allowed: give a and b of a Beta "
            f"distribution, above 0{f', or a pair for each of {arms} arms' if arms > 1 else ''}"
        )
    return tuple((float(a), float(b)) for a, b in np.broadcast_to(given, (arms, 2)))


def check_finite(user: FiniteUser, priors: Sequence[Prior]) -> None:
    """InputError if the mean value of a visit is infinite under one of the priors."""
    zero, one = user.orders()
    for a, b in priors:
        for order, power, name, end in ((zero, a, "a", 0), (one, b, "b", 1)):
            if power <= order:
                raise InputError(
                    f"prior = {(a, b)} is not allowed: as a mean nears {end} visits of this user "
                    f"become so long that they are worth infinitely much on average, unless "
                    f"{name} is above {order}"
                )


def is_proper(finite: FiniteUser, values: Array) -> bool:
    """Whether for all means the arm of greatest mean is the best one to show in every state."""
    costs = finite.mistake_costs(values)
    return not bool((costs < -1e-9 * np.abs(values).max(axis=0)).any())

"""Priors of the means, and what a user requires of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..engine.loops import jitable
from ..users import User
from ..validation import InputError
from .finite import Array, FiniteUser

Prior = tuple[float, float]
"""a and b of a Beta distribution."""

MOST_PRIOR = 1e5


def priors_of(prior: Any, arms: int) -> tuple[Prior, ...]:
    """A pair for each arm, from one for all or one for each."""
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


class DoesNotApply(InputError):
    """A result was asked for where its assumptions fail."""


def check_proper(user: User, finite: FiniteUser, values: Array, what: str) -> None:
    """DoesNotApply if for some means another arm than the best one should be shown."""
    if not is_proper(finite, values):
        raise DoesNotApply(
            f"user = {validation.shown(user)} is not allowed: for some means it is better to show "
            f"the arm of lower mean in some state, and {what} is for users without such means"
        )


def is_proper(finite: FiniteUser, values: Array) -> bool:
    """Whether for all means the arm of greatest mean is the best one to show in every state."""
    costs = finite.mistake_costs(values)
    return not bool((costs < -1e-9 * np.abs(values).max(axis=0)).any())


@jitable
def find_counts(
    n: Any, k: Any, arms: int, alike: bool, where: NDArray[np.int64], order: NDArray[np.int64]
) -> int:
    """The row of pulls n and successes k among those of equally many pulls in all.

    A block of rows for each n begins at where[n0, n1], or where[n0, 0] for two arms; in it the
    successes of the first arm are slowest. If arms are `alike`, only n in descending order are
    there. `order`, room for three numbers, gets the arm that is in each place.
    """
    for j in range(3):
        order[j] = j
    if alike:
        for i in range(1, arms):
            j = i
            while j > 0 and n[order[j]] > n[order[j - 1]]:
                order[j], order[j - 1] = order[j - 1], order[j]
                j -= 1
    index = where[int(n[order[0]]), int(n[order[1]]) if arms == 3 else 0]
    inner = 0
    for j in range(arms):
        inner = inner * (int(n[order[j]]) + 1) + int(k[order[j]])
    return int(index + inner)

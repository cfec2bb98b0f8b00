"""Where the counts of two or three arms are in a table that goes through all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .loops import jitable


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

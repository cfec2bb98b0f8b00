"""Shadow reports on right and wrong propensities, in a small version of their benchmark."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import shadowing


@pytest.mark.parametrize("kind", list(shadowing.KINDS))
def test_right_propensities_are_believed(kind: str) -> None:
    """Eight logs read thirty times each, at level .05 for all arms, states and times."""
    found = shadowing.measure(shadowing.KINDS[kind], 0.0, 8)
    assert sum(each.cannot_tell < np.inf for each in found) <= 1


def test_shares_for_chances_are_found_out() -> None:
    """By arm and state, before the policy counts as ready; the mean of all steps sees nothing."""
    kind = shadowing.KINDS["by state"]._replace(tries=0.0)
    found = shadowing.measure(kind, 1.0, 8)
    assert all(each.ready == np.inf and each.cannot_tell <= 600 for each in found)
    before = shadowing.measure(kind, 1.0, 8, by_cell=False)
    assert all(each.cannot_tell == np.inf for each in before)
    assert sum(each.ready < np.inf for each in before) >= 6


def test_a_log_is_what_it_says() -> None:
    made = shadowing.log(np.random.default_rng(1), shadowing.KINDS["by state"])
    user, same, told, reward, left = made.steps
    assert (np.diff(user) >= 0).all() and left.sum() == shadowing.USERS
    weights = same / told
    for arm, state in ((2, 0), (2, 1)):
        mine = (made.cells == (arm, state)).all(axis=1)
        error = weights[mine].std() / np.sqrt(mine.sum())
        assert abs(weights[mine].mean() - 1.0) < 4.5 * error
    steps, keys = made.until(100)
    assert steps.user.max() == 99 and len(keys) == len(steps.user)
    assert reward.mean() == pytest.approx(0.466, abs=0.03)

"""Users outside the model: hidden layers, and rewards that depend on the person."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from research.crowds import Tastes, TastesJob, kinds, simulate_tastes, steps
from research.problems import DIFFERENT, EVEN
from sojourn import Problem, TwoState, simulate, theory
from sojourn.policies import GatedIMED
from sojourn.simulation.chunks import chunk
from sojourn.users.population import Population

ROWS = [(0.5, 0.1, 0.1, 0.05)] * 3 + [(0.2, 0.1, 0.6, 0.02)] * 3
SIGMAS = 4.5


def crowd(*means: float) -> Population:
    """People who like the same and leave at different chances."""
    return kinds([means] * DIFFERENT, ROWS, EVEN)


def test_one_layer_is_a_two_state_user() -> None:
    q = (0.5, 0.1, 0.2, 0.05)
    plain, layered = (
        Problem([0.8, 0.6], TwoState(*q)),
        Problem([0.8, 0.6], steps([0.8, 0.6], [q] * DIFFERENT)),
    )
    for s in range(2):
        for arm in range(2):
            assert layered.gap(s, arm) == pytest.approx(plain.gap(s, arm), rel=1e-12)
    assert layered.length.mean == pytest.approx(plain.length.mean, rel=1e-12)
    one = chunk(plain, GatedIMED(), 1, 0, 3, np.array([50]))
    other = chunk(layered, GatedIMED(), 1, 0, 3, np.array([50]))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_steps_move_through_the_layers() -> None:
    user = steps([0.6, 0.5], [(0.1,) * 4, (0.2,) * 4, (0.3,) * 4])
    state, chances = user.begin(0.999), []
    for _ in range(4):
        chances.append(user.leave_probability(state, 1.0, 0))
        state = user.next_state(state, 1.0)
    assert chances == [0.1, 0.2, 0.3, 0.3]
    # Leaving does not depend on rewards: the survival function, by hand.
    length = 1 + 0.9 + 0.9 * 0.8 / 0.3
    assert Problem([0.6, 0.5], user).length.mean == pytest.approx(length)


def test_kinds_have_the_average_of_their_values() -> None:
    value = np.mean([Problem([0.8, 0.6], TwoState(*q)).value() for q in ROWS])
    assert Problem([0.8, 0.6], crowd(0.8, 0.6)).value() == pytest.approx(value)


def test_equal_tastes_are_the_kernels_problem(tmp_path: Path) -> None:
    """With the same means for everybody it is a problem that `simulate` plays, with leases."""
    means = (0.8, 0.7, 0.6)
    users = crowd(*means)
    tastes = Tastes(users)
    policies = [GatedIMED()]
    how = {"visits": 60, "checkpoints": [60], "runs": 5, "seed": 3}
    mine = simulate_tastes(tastes, policies, store=tmp_path / "c.db", **how)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", theory.AssumptionWarning)
        other = simulate(Problem(means, users), policies, **how)  # type: ignore[arg-type]
    for a, b in zip(mine.moments, other.moments, strict=True):
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9)
        np.testing.assert_allclose(a.squares, b.squares, rtol=1e-6, atol=1e-9)


def test_regret_of_tastes_is_the_reward_lost(tmp_path: Path) -> None:
    """Against always the best arm, whose value is known, with means that differ by person."""
    rows = ((0.8, 0.6),) * 4 + ((0.4, 0.7),) * 2
    tastes = Tastes(kinds(rows, ROWS, EVEN))
    best = max(tastes.user.worth_of_arms()[0])
    found = simulate_tastes(
        tastes, [GatedIMED()], visits=40, checkpoints=[40], runs=600, store=tmp_path / "c.db"
    )
    lost = 40 * best - found.reward.mean[0, -1]
    error = np.hypot(found.reward.std_error[0, -1], found.regret.std_error[0, -1])
    assert abs(lost - found.regret.mean[0, -1]) < SIGMAS * error
    assert found.regret.mean[0, -1] > SIGMAS * found.regret.std_error[0, -1]


def test_tastes_are_kept_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tastes = Tastes(crowd(0.8, 0.6))
    how = {"visits": 20, "checkpoints": [20], "runs": 4, "store": tmp_path / "c.db"}
    first = simulate_tastes(tastes, [GatedIMED()], **how)  # type: ignore[arg-type]

    def no_work(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(TastesJob, "compute", no_work)
    again = simulate_tastes(tastes, [GatedIMED()], **how)  # type: ignore[arg-type]
    assert (again.moments[0].mean == first.moments[0].mean).all()

"""The visit index: against fractions, published numbers, and itself."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from naive import OneKnown, gittins

import sojourn as sj
from sojourn.values import visit_index as module
from sojourn.values.finite import Array, FiniteUser, Horizon, Visits
from sojourn.values.stopping import induct
from sojourn.values.visit_index import IndexTable, known_means, visit_index

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
OPPOSITE = sj.paper.SETTINGS["opposite"].user
THREE = sj.Chain(next=[[0, 1], [0, 2], [1, 2]], leave=[[0.6, 0.1], [0.3, 0.05], [0.1, 0.04]])
ONCE = sj.TwoState(1, 1, 1, 1)

LEAVE = ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(1, 10)))
AGAIN = Fraction(2, 3)


@cache
def table(user: sj.User, visits: float, pulls: int) -> IndexTable:
    return visit_index(user, visits=visits, pulls=pulls)


def index_of(found: IndexTable, n: int, k: int) -> list[float]:
    return found.index[n * (n + 1) // 2 + k].tolist()  # type: ignore[no-any-return]


# --- a tiny problem, in fractions ----------------------------------------------------------------


def naive(l: Fraction, prior: tuple[int, int], pulls: int) -> OneKnown:  # noqa: E741
    """Two-state user B; who leaves comes back, in state 1, with chance 2/3."""
    moves = [[{0: 1 - q0, 1: AGAIN * q0}, {1: 1 - q1 + AGAIN * q1}] for q0, q1 in LEAVE]
    return OneKnown(moves, prior, pulls, l)


def induction(known: Array, prior: tuple[int, int], pulls: int) -> tuple[Array, Array]:
    """U before the first pull by [known mean, state], and the index; p is shown in the end."""
    visits = Visits(FiniteUser.of(B), Horizon.of(3, False))
    user, moves, posterior = visits.user, visits.moves(), (prior[0] + np.arange(pulls + 1.0))
    p = posterior / (sum(prior) + pulls)
    rows = pulls * (pulls + 1) // 2
    index, above = np.full((rows, 2), -1.0), np.zeros((rows, 2, 2))
    first = np.empty((known.size, 2))
    for i in range(known.size - 1, -1, -1):
        here, best = known[i : i + 1], np.maximum(p, known[i])
        both = [visits.values(user.values(m, 1.0 - m)) for m in (best, here)]
        value = np.ascontiguousarray((both[0] - both[1]).T)
        cost = user.mistake_costs(user.values(here, 1.0 - here))[:, 0]
        induct(i, known, np.array(prior, float), cost, moves, value, above, index)
        first[i] = value[0]
    return first, index


@pytest.mark.parametrize("prior", [(1, 1), (2, 3)])
def test_it_is_what_plain_recursion_finds(prior: tuple[int, int]) -> None:
    pulls = 4
    known = known_means(1_000)
    first, index = induction(known, prior, pulls)
    for i in (100, 450, 800):
        l = Fraction(float(known[i]))  # noqa: E741
        twin = naive(l, prior, pulls)
        adds = [float(x - y) for x, y in zip(twin.value(0, 0), twin.forever(l), strict=True)]
        assert first[i] == pytest.approx(adds, abs=1e-12)
    assert (first[100] > 0.1).all() and (first[800] == 0.0).all()
    for n, k in ((0, 0), (1, 0), (2, 2), (3, 1)):
        for s in (0, 1):
            found = index[n * (n + 1) // 2 + k, s]
            sides = [naive(Fraction(found + off), prior, pulls) for off in (-3e-4, 3e-4)]
            below, above = (twin.lead(n, k)[s] for twin in sides)
            assert above < 0 < below, (n, k, s, found)


# --- Gittins -------------------------------------------------------------------------------------

PUBLISHED = [
    (0.9, 1, 1, 0.7029), (0.9, 2, 2, 0.6346), (0.9, 3, 3, 0.6010), (0.9, 10, 2, 0.8695),
    (0.99, 1, 1, 0.8699),
]  # fmt: skip
"""Discount, a, b, index: Gittins, Journal of the Royal Statistical Society B 41 (1979), as printed
in B. Christian and T. Griffiths, Algorithms to Live By (2016), chapter 2."""


@pytest.mark.parametrize(("beta", "a", "b", "printed"), PUBLISHED)
def test_one_pull_a_visit_has_gittins_index(beta: float, a: int, b: int, printed: float) -> None:
    assert gittins(a, b, beta, 60) == pytest.approx(printed, abs=1e-3 if beta > 0.9 else 6e-5)
    found = table(ONCE, 1.0 / (1.0 - beta), 100)
    assert index_of(found, a + b - 2, a - 1)[0] == pytest.approx(printed, abs=1.2e-4)


def test_gittins_index_where_the_diffusion_matters() -> None:
    """200 pulls ahead on average, and a table of 40: an independent program needs hundreds."""
    found = visit_index(ONCE, visits=200, pulls=40)
    for n, k in ((0, 0), (10, 4), (30, 15)):
        other = gittins(1 + k, 1 + n - k, 0.995, 250)
        assert index_of(found, n, k)[0] == pytest.approx(other, abs=2e-3)


# --- itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("user", "visits"), [(B, 2_000), (OPPOSITE, 30), (THREE, 100)])
def test_where_the_table_ends_hardly_matters(user: sj.User, visits: float) -> None:
    """Up to 50 pulls much the same with 60 in the table as with 240, and beyond 60 nearly so."""
    small, large = table(user, visits, 60), table(user, visits, 240)
    rows = 51 * 52 // 2
    np.testing.assert_allclose(small.index[:rows], large.index[:rows], atol=1e-2)
    policy = sj.policies.ExactIndex.of(small)
    for n in (60, 120, 230):
        for k in (n // 5, n // 2, 9 * n // 10):
            mean = (1 + k) / (2 + n)
            for s, exact in enumerate(index_of(large, n, k)):
                ahead = policy.score_of(n, k, s) - mean
                assert ahead == pytest.approx(exact - mean, rel=0.2, abs=3e-3), (n, k, s)


def test_it_grows_with_successes_and_visits_and_is_above_the_mean() -> None:
    for found in (table(B, 2_000, 60), table(OPPOSITE, 30, 60), table(THREE, 100, 60)):
        assert found.below == 0.0
        for n in range(1, 60):
            rows = found.index[n * (n + 1) // 2 : (n + 1) * (n + 2) // 2]
            assert (np.diff(rows, axis=0) > 0.0).all()
    more, fewer = table(B, 2_000, 60), visit_index(B, visits=20, pulls=60)
    assert (more.index > fewer.index - 1e-4).all()


def test_the_cheaper_state_explores() -> None:
    normal, opposite = table(B, 2_000, 60).index, table(OPPOSITE, 30, 60).index
    assert (normal[:, 1] > normal[:, 0]).all()
    assert (opposite[:, 0] > opposite[:, 1]).mean() > 0.99


def test_budgets_fall_and_end_near_nothing() -> None:
    nats = table(B, 2_000, 60).nats
    middle = nats[:, 40:360]
    assert (np.diff(middle[::16], axis=0) < 0.0).all()
    assert 2.0 < nats[0, 200, 1] < 4.0 and (nats[-1] < 0.05).all()


def test_progress() -> None:
    shares: list[float] = []
    visit_index(ONCE, visits=5, pulls=10, progress=shares.append)
    assert len(shares) == module.KNOWN and shares == sorted(shares) and shares[-1] == 1.0


@pytest.mark.parametrize(
    ("user", "given", "message"),
    [
        (sj.Ema(0.5, sj.users.LogLeave(c6=5)), {}, "it must have finitely many states"),
        (sj.TwoState(0.1, 0.05, 0.1, 0.6), {}, "it is better to show the arm of lower mean"),
        (B, {"visits": 0.5}, "visits = 0.5 is not allowed"),
        (B, {"pulls": 5}, "pulls = 5 is not allowed: it must be a whole number from 10 to 2000"),
        (B, {"prior": (0, 1)}, "prior = (0, 1) is not allowed: give a and b of a Beta"),
        (B, {"prior": [(1, 1), (1, 2)]}, "give a and b of a Beta distribution, above 0"),
    ],
)
def test_mistakes(user: sj.User, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        visit_index(user, **{"visits": 10, **given})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1e6)
    with pytest.raises(ValueError, match=r"pulls = 200 is not allowed here: with 2 states"):
        visit_index(B, visits=10)

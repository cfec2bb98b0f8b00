"""Which visits are compared, and for how long each is followed; a visit is in one variant."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from pathlib import Path

import numpy as np
import postgres
import pytest

import sojourn as sj
from sojourn.live import (
    Ask,
    Conflict,
    Experiment,
    Guardrail,
    Journal,
    Opening,
    SqliteStore,
    Variant,
    archive,
    verify,
)
from sojourn.live.rollout.groups import Group
from sojourn.live.stores.base import Store, find_visit
from sojourn.validation import InputError

POLICY = sj.policies.FixedArm(0)
BOTH = [Variant("old", 0.5, POLICY), Variant("new", 0.5, POLICY)]
MINUTE = 60.0


class Clock:
    """The time of a store in memory."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


@contextmanager
def timed(**more: object) -> Iterator[tuple[Experiment, Clock]]:
    clock = Clock()
    given = {"variants": BOTH, "holdout": "old", "compiled": False, "idle_timeout": 1e6, **more}
    with Journal(SqliteStore.in_memory(clock), upkeep=False) as journal:
        yield Experiment("shorts", ["a"], store=journal, **given), clock  # type: ignore[arg-type]


def follow(shorts: Experiment, clock: Clock, seed: int, minutes: int = 80) -> None:
    """Fifteen visits a minute begin in the first 20, and all that are open have a step in each.

    In `new`, 40 % leave after one step, and the rest after 60: 36.4 steps, 17.5 rewards per visit.
    In `old` all leave after 4: 2 rewards per visit.
    """
    rng, here, users = np.random.default_rng(seed), [], count()
    for minute in range(minutes):
        clock.now += MINUTE
        for _ in range(15 if minute < 20 else 0):
            visit = shorts.visit(user=f"u{next(users)}")
            assert visit.opened is not None
            new = visit.opened.variant == "new"
            steps = (1 if rng.random() < 0.4 else 60) if new else 4
            here.append((visit, steps, 0.4808 if new else 0.5))
        staying = []
        for visit, steps, mean in here:
            visit.choose()
            reward = int(rng.random() < mean)
            if steps > 1:
                visit.reward(reward)
                staying.append((visit, steps - 1, mean))
            else:
                visit.end(reward)
        here = staying
        shorts._rollout.guard.look()  # type: ignore[union-attr]


@pytest.mark.parametrize("window", [None, 10 * MINUTE])
def test_long_visits_do_not_count_against_a_variant(window: float | None) -> None:
    """The longest ones are the last to end, so the first to end say little of a variant."""
    with timed(guardrail=Guardrail(planned=200), window=window) as (shorts, clock):
        follow(shorts, clock, seed=1)
        assert shorts.allocation is not None and shorts.allocation.alarm is None
        found = shorts.compare(planned=200)
        new = found.variants[1]
        assert new.differences["reward"].low > 0.0
        # of 60 steps in an hour; or of the first ten of them, and 40 % have only one
        expected = 17.5 - 2.0 if window is None else 0.4808 * (0.4 + 0.6 * 10) - 2.0
        assert new.differences["reward"].value == pytest.approx(expected, abs=0.3 * expected)
        assert found.window == (3600.0 if window is None else window)
        assert 100 < new.visits == new.opened < 200
        for name in ("shorts:old", "shorts:new"):
            assert verify(shorts.journal.store, name) == {}


def sums(store: Store, *names: str) -> dict[str, list[float]]:
    """By experiment: opened, visits, steps, reward, left."""
    total: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(5))
    for group in store.series(Group, names):
        total[group.experiment] += group[3:]
    return {name: total[name].tolist() for name in names}


def test_a_cohort_is_followed_for_its_window(tmp_path: Path) -> None:
    names = "shorts:old", "shorts:new"
    with timed(window=100.0, late_horizon=1e6) as (shorts, clock):
        store, opened = shorts.journal.store, {}
        for n in range(40):
            clock.now += 1.0
            visit = shorts.visit(user=f"u{n}", id=f"v{n}")
            visit.choose()
            opened[n] = visit
        homes = [visit.info().variant for visit in opened.values()]
        first = {name: homes.index(name.removeprefix("shorts:")) for name in names}

        def count_in(name: str, until: int = 40) -> int:
            return sum(home == name.removeprefix("shorts:") for home in homes[:until])

        assert sums(store, *names) == {name: [count_in(name), 0, 0, 0, 0] for name in names}
        for n in range(1, 40):  # the first visit stays, so that none is compared
            opened[n].end(1)
        assert {s[1] for s in sums(store, *names).values()} == {0.0}
        only = names[first[names[0]] == 0]  # without the first visit the other variant is complete
        assert sums(store, only)[only][1] == count_in(only)
        before = dict(sums(store, *names))
        archived = [archive(store, name, clock.now + 1, tmp_path) for name in names]
        assert [each.visits for each in archived] == [0, 0]  # their windows are not over
        assert sums(store, *names) == before
        clock.now += 61.5  # the window of the first visit is over: it counts, open as it is
        home = f"shorts:{homes[0]}"
        found = sums(store, *names)
        for name in names:
            mine, stays = count_in(name), name == home
            assert found[name] == [mine, mine, mine, mine - stays, mine - stays]
        opened[0].choose(1)
        opened[0].end(1)
        assert sums(store, *names) == found  # after the window
        assert opened[0].reward(1, step=1) == "same"
        for name in names:
            assert verify(store, name) == {}
        clock.now += 100.0
        assert sum(archive(store, name, clock.now, tmp_path).visits for name in names) == 40
        assert sums(store, *names) == found
        for name in names:
            assert verify(store, name, tmp_path) == {}


def test_the_window_is_a_setting() -> None:
    with timed() as (shorts, clock):
        assert shorts.allocation is not None and shorts.allocation.window == 3600.0
        visit = shorts.visit(id="first")
        row = find_visit(shorts.journal.store, f"shorts:{visit.info().variant}", "first")
        assert row is not None and row.until == clock.now + 3600.0
        again = {"variants": BOTH, "holdout": "old", "compiled": False, "store": shorts.journal}
        for given, window, epoch in ((600.0, 600.0, 2), (None, 600.0, 2), (600.0, 600.0, 2)):
            more = Experiment("shorts", ["a"], window=given, **again)  # type: ignore[arg-type]
            assert more.allocation is not None
            assert (more.allocation.window, more.allocation.epoch) == (window, epoch)
        for wrong in (0.0, inf):
            with pytest.raises(InputError, match="window = "):
                Experiment("shorts", ["a"], window=wrong, **again)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="window is not allowed without variants"):
        Experiment("alone", ["a"], window=60.0, compiled=False)


@pytest.fixture(params=["sqlite", "postgres"])
def journals(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    """Makes journals on one store: in PostgreSQL, each as if of a process of its own."""
    made: list[Journal] = []

    def connect(place: str) -> Journal:
        if not made or request.param == "postgres":
            made.append(Journal(place, upkeep=False))
        return made[-1]

    if request.param == "sqlite":
        yield lambda: connect(f"sqlite:///{tmp_path / 'live.db'}")
    else:
        with postgres.server() as place:
            yield lambda: connect(place)
    for journal in made:
        journal.close()


def test_a_visit_is_in_one_variant(journals: Callable[[], Journal]) -> None:
    """Four processes ask for the same request at once, with shares of before and after a change."""
    given = {"variants": BOTH, "holdout": "old", "compiled": False}
    sides = [Experiment("shorts", ["a"], store=journals(), **given)]  # type: ignore[arg-type]
    sides += [Experiment.open("shorts", journals(), compiled=False) for _ in range(3)]
    stores = sides[0].journal.store
    answers: defaultdict[str, list[tuple[str | None, str, int]]] = defaultdict(list)
    shares = [0.05, 0.95]
    for n in range(30):
        sides[0].ramp({"new": shares[n % 2]})
        for side in sides[: 1 + n % 4]:  # the others have not heard of it
            side._rollout.reload()  # type: ignore[union-attr]
        barrier = threading.Barrier(len(sides))

        def ask(side: Experiment, n: int = n, barrier: threading.Barrier = barrier) -> None:
            for k in range(4):
                barrier.wait()
                made = side.decide(f"{n} {k}", Ask(request="first", opening=Opening(user=f"u{n}")))
                answers[f"{n} {k}"].append((made.variant, made.arm, made.step))

        threads = [threading.Thread(target=ask, args=(side,)) for side in sides]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {len(each) for each in answers.values()} == {4} and len(answers) == 120
    assert {len(set(each)) for each in answers.values()} == {1}  # all got the stored answer
    for visit, each in answers.items():
        stored = [v for v in ("old", "new") if find_visit(stores, f"shorts:{v}", visit) is not None]
        assert stored == [each[0][0]]
    for name in ("shorts:old", "shorts:new"):
        assert verify(stores, name) == {}
    total = sums(stores, "shorts:old", "shorts:new")
    assert sum(opened for opened, *_ in total.values()) == 120


def test_a_change_of_shares_is_not_undone_by_what_was_read_before(
    journals: Callable[[], Journal],
) -> None:
    given = {"variants": BOTH, "holdout": "old", "compiled": False}
    shorts = Experiment("shorts", ["a"], store=journals(), **given)  # type: ignore[arg-type]
    rollout = shorts._rollout
    assert rollout is not None
    for share in (0.6, 0.7):
        read = shorts.journal.store.read(["shorts"])["shorts"]  # by upkeep
        shorts.ramp({"new": share})
        rollout.refresh(read)
        assert shorts.allocation is not None and shorts.allocation.shares["new"] == share
    other = Experiment.open("shorts", journals(), compiled=False)
    other.ramp({"new": 0.2})
    if other._rollout is not rollout and shorts.journal.store.shared:
        rollout.refresh()
        assert shorts.allocation.shares["new"] == 0.2
    with pytest.raises(Conflict, match="nothing to undo"):
        shorts.undo()

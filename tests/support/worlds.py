"""Made-up worlds to try the advice of a log on: those of the model, and those that break it.

`WORLDS` has them by name. `WORLDS[name]()` is a `World`, with its log and the truth. Worlds named
in `SAME_LEAVING` have arms that do not differ in leaving.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import NormalDist

import numpy as np
from world import Array, Log, World

Table = Sequence[Sequence[float]]

NORMAL: Table = ((0.2, 0.1), (0.35, 0.15), (0.2, 0.1))
OPPOSITE: Table = ((0.45, 0.02), (0.5, 0.4), (0.45, 0.02))
BY_REWARD: Table = ((0.3, 0.12), (0.3, 0.12), (0.3, 0.12))
NEARLY_BY_REWARD: Table = ((0.3, 0.12), (0.315, 0.12), (0.3, 0.12))
CLICKBAIT: Table = ((0.15, 0.08), (0.15, 0.08), (0.12, 0.06))
CONSTANT: Table = ((0.2, 0.2), (0.2, 0.2), (0.2, 0.2))
"""Chances to leave by reward: at the first step, after a 0, after a 1."""

MEANS = (0.7, 0.5, 0.4)
NODES = 15
LATE = 40


def shifted(chance: Array | Sequence[float] | Table, odds: Array | float) -> Array:
    """Chances with something added to their log odds."""
    chance = np.asarray(chance, float)
    return np.asarray(1.0 / (1.0 + (1.0 / chance - 1.0) * np.exp(-np.asarray(odds))))


def world(
    means: Sequence[float] | Array = MEANS,
    leave: Table = NORMAL,
    *,
    arm_odds: Sequence[float] | None = None,
    step_odds: Sequence[float] = (0.0,),
    mood: float = 0.0,
    taste: float = 0.0,
    leaving: float = 0.0,
    correlation: float = 0.0,
    rule: Sequence[float] | Array | None = None,
    **more: object,
) -> World:
    """A world from log odds: those of a table, and what is added to them.

    `means` by arm, or [kind, arm] for given kinds of equal share. Added to the log odds of leaving:
    `arm_odds`, and `step_odds` by step (the last for all later ones). Added to those of rewards:
    `mood`, after a 0. Users are normal with deviation `taste` in the log odds of all rewards and
    `leaving` in those of leaving, and their `correlation`. `rule` is by arm, [state, arm] or
    [kind, state, arm]; uniform, unless given.

    >>> round(world(arm_odds=[2, 0, 0], leave=CLICKBAIT, means=[0.8, 0.6, 0.4]).worth().reward, 2)
    3.01
    """
    given = np.atleast_2d(np.asarray(means, float))
    liking, going = _people(taste, leaving, correlation)
    kinds, arms = liking.size * given.shape[0], given.shape[1]
    people = np.repeat(np.stack([liking, going]), given.shape[0], axis=1)
    moods = np.array([0.0, -mood, 0.0])[None, :, None]
    chances = np.tile(given, (liking.size, 1))[:, None, :]
    added = np.zeros(arms) if arm_odds is None else np.asarray(arm_odds, float)
    odds = (
        people[1][:, None, None] + np.asarray(step_odds, float)[None, :, None] + added[None, None]
    )
    if rule is None:
        rule = np.full(arms, 1.0 / arms)
    return World(
        means=shifted(np.broadcast_to(chances, (kinds, 3, arms)), people[0][:, None, None] + moods),
        leave=shifted(np.asarray(leave)[None, None, None], odds[..., None, None]),
        rule=np.array(np.broadcast_to(np.asarray(rule, float), (kinds, 3, arms))),
        shares=np.full(kinds, 1.0 / kinds),
        **more,  # type: ignore[arg-type]
    )


def _people(taste: float, leaving: float, correlation: float) -> tuple[Array, Array]:
    """Taste and leaving of kinds of equal share: two normal numbers by their quantiles."""
    middle = [NormalDist().inv_cdf((i + 0.5) / NODES) for i in range(NODES)]
    normal = np.array(middle) / np.std(middle)
    one, other = (normal if spread else np.zeros(1) for spread in (taste or leaving, leaving))
    a, b = (x.ravel() for x in np.meshgrid(one, other, indexing="ij"))
    return taste * a, leaving * (correlation * a + np.sqrt(1.0 - correlation**2) * b)


# --- logs with faults ----------------------------------------------------------------------------


def bots(log: Log, rng: np.random.Generator, number: int = 5, steps: int = 4_000) -> Log:
    """With users that see thousands of items, like one in twenty, and hardly ever leave."""
    rows = number * steps
    step = np.tile(np.arange(1, steps // 4 + 1), 4 * number)
    visit = log["visit"].max() + 1 + np.arange(rows) // (steps // 4)
    arms = int(log["arm"].max()) + 1
    added = {
        "user": log["user"].max() + 1 + np.arange(rows) // steps,
        "visit": visit,
        "step": step,
        "arm": rng.integers(arms, size=rows),
        "reward": (rng.random(rows) < 0.05).astype(np.int64),
        "left": (step == steps // 4).astype(np.int64),
        "time": log["time"].max() + visit * 100_000 + step,
        "propensity": np.full(rows, 1.0 / arms),
    }
    return {name: np.concatenate([log[name], added[name]]) for name in log}


def bad_clocks(log: Log, rng: np.random.Generator, share: float = 0.05) -> Log:
    """With visits whose clock is set back by an hour on the way, and times of 0."""
    visits = int(log["visit"].max()) + 1
    wrong = (rng.random(visits) < share)[log["visit"]]
    back = wrong & (log["step"] > rng.integers(1, 10, visits)[log["visit"]])
    time = np.where(back, log["time"] - 3_600, log["time"])
    return log | {"time": np.where(rng.random(time.size) < share / 10, 0, time)}


def written_twice(log: Log, rng: np.random.Generator, share: float = 1.0) -> Log:
    """With rows of some visits, or of all, once more at the end."""
    again = (rng.random(int(log["visit"].max()) + 1) < share)[log["visit"]]
    return {name: np.concatenate([column, column[again]]) for name, column in log.items()}


def course(log: Log, rng: np.random.Generator, steps: int = 8) -> Log:
    """In which the end of all visits after so many steps is no departure."""
    over = log["step"] == steps
    return log | {"left": np.where(over, 0, log["left"]), "censored": over.astype(np.int64)}


# --- worlds --------------------------------------------------------------------------------------


def clickbait(**more: object) -> World:
    """Three arms, of which the best liked adds 2 to the log odds of leaving."""
    return world((0.8, 0.6, 0.4), CLICKBAIT, arm_odds=(2.0, 0.0, 0.0), **more)  # type: ignore[arg-type]


def favourites() -> World:
    """Users with a favourite arm each, which the recommender knows and shows nine times in ten."""
    means = np.full((3, 3), 0.35) + 0.4 * np.eye(3)
    rule = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    return world(means, rule=rule[:, None, :])


def selection() -> World:
    """Half the users like everything less, and are shown the best arm most of the time."""
    rule = np.array([[0.1, 0.3, 0.6], [0.7, 0.2, 0.1]])
    made = np.stack([shifted((0.6, 0.55, 0.5), odds) for odds in (1.0, -1.0)])
    return world(made, rule=rule[:, None, :])


def two_kinds() -> World:
    """One user in five likes nearly everything and stays; the others are hard to please."""
    made = world(np.stack([shifted(MEANS, odds) for odds in (1.5, -0.4)]))
    leave = shifted(made.leave, np.array([-1.5, 0.3])[:, None, None, None, None])
    return replace(made, leave=leave, shares=np.array([0.2, 0.8]))


def drift() -> World:
    """The best arm of the first half is the worst of the second."""
    share = np.linspace(0.0, 1.0, 20)[:, None]
    means = (1.0 - share) * np.array([[0.75, 0.55, 0.35]]) + share * np.array([[0.35, 0.55, 0.75]])
    return world(means, in_turn=True)


FALLING = tuple(np.linspace(1.2, -1.6, 6).tolist())
RISING = tuple(np.linspace(-1.0, 2.0, LATE).tolist())
QUOTA = tuple(3.0 if step == 10 else -0.5 if step < 10 else 0.0 for step in range(1, 13))
SKEWED = (0.1, 0.3, 0.6)
PICKY = ((0.34, 0.33, 0.33), (0.1, 0.2, 0.7), (0.7, 0.2, 0.1))

WORLDS: Mapping[str, Callable[[], World]] = {
    # The model itself.
    "normal": world,
    "opposite": partial(world, (0.6, 0.5), OPPOSITE),
    "neutral": partial(world, MEANS, BY_REWARD),
    "skewed": partial(world, rule=SKEWED),
    "by state": partial(world, rule=np.array(PICKY)),
    "equal arms": partial(world, (0.5,) * 50),
    # Items that raise the exit rate.
    "clickbait": clickbait,
    "clickbait, mild": partial(world, (0.65, 0.6, 0.4), CLICKBAIT, arm_odds=(0.5, 0.0, 0.0)),
    "clickbait, users differ": partial(clickbait, taste=0.8, leaving=0.8, correlation=-0.5),
    "clickbait, avoided": partial(clickbait, rule=(0.05, 0.9, 0.05)),
    # Users who differ.
    "taste": partial(world, taste=1.0),
    "leaving": partial(world, leaving=1.0),
    "looks normal": partial(
        world, MEANS, NEARLY_BY_REWARD, taste=1.0, leaving=1.0, correlation=-0.8
    ),
    "ignores the state": partial(world, MEANS, BY_REWARD, taste=0.6, leaving=0.6, correlation=-0.6),
    "ignores rewards": partial(world, MEANS, CONSTANT, taste=1.5, leaving=1.0, correlation=-0.9),
    "better tastes leave earlier": partial(
        world, MEANS, NORMAL, taste=1.5, leaving=1.0, correlation=0.9
    ),
    "two kinds": two_kinds,
    "favourites": favourites,
    "selection": selection,
    "mood": partial(world, mood=1.0, rule=np.array(PICKY)),
    # Fatigue, habits, change.
    "fatigue": partial(world, step_odds=RISING),
    "habits": partial(world, MEANS, CONSTANT, step_odds=FALLING),
    "quota": partial(world, step_odds=QUOTA),
    "course": partial(world, step_odds=(*(0.0,) * 7, 50.0), spoil=course),
    "drift": drift,
    # Faults of the log.
    "bots": partial(world, spoil=bots),
    "bad clocks": partial(world, spoil=bad_clocks),
    "duplicates": partial(world, spoil=partial(written_twice, share=0.1)),
    "written twice": partial(world, spoil=written_twice),
}

SAME_LEAVING = tuple(name for name in WORLDS if not name.startswith("clickbait"))

"""``python -m benchmarks.worlds``: what logs of made-up worlds are said to show, and what is true.

``advice`` fits logs of the worlds of `tests/support/worlds.py`, decides, and plays what is
recommended in the world itself. ``coverage`` fits many logs of a world: false alarms of the test of
arms, how often intervals hold the truth, and which case is seen with the same people.
"""

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sojourn as sj
from sojourn.logs import decide
from sojourn.logs.model.adjusted import arm_effects, joint_model
from sojourn.logs.model.sample import Sample
from sojourn.logs.model.totals import FIRST
from sojourn.logs.reading import CENSORED, LEFT

from .report import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from world import Log, World
from worlds import WORLDS

Row = dict[str, Any]
Task = Callable[[str, int], Row]

COLUMNS = ("user", "visit", "step", "arm", "reward", "left", "censored")
BY_TIME = {"user": "user", "time": "time", "arm": "arm", "reward": "reward", "gap": "30min"}
COVERED = (
    "normal", "skewed", "clickbait", "taste", "leaving", "looks normal", "ignores the state",
    "ignores rewards", "better tastes leave earlier", "clickbait, users differ",
)  # fmt: skip


# --- advice --------------------------------------------------------------------------------------


def advised(name: str, seed: int, *, visits: int, users: int) -> Row:
    """What is said of one log of a world, what is promised, and what comes of it."""
    world = WORLDS[name]()
    row: Row = {"world": name, "seed": seed} | truth(world)
    try:
        fit = read(name, world.log(visits, users, seed))
    except ValueError as refusal:
        return row | {"refused": str(refusal)}
    advice = decide(fit, seed=seed, workers=1)
    row |= {
        "counted": fit.costs.case,
        "case": fit.case,
        "arms told": [effect.name for effect in fit.effects if effect.differs],
        "warnings": [str(doubt) for doubt in fit.diagnostics],
        "advice": advice.name,
        "verdict": advice.verdict,
    }
    if (chosen := advice.chosen) is None or advice.policy is None:
        return row
    played = world.play(advice.policy, visits, users=users, seed=seed).reward
    return row | {
        "promised": list(chosen.gain),
        "worst": chosen.worst_gain.value,
        "gained": played - row["log"],
    }


def truth(world: World) -> Row:
    """What is true of a world."""
    return {
        "log": world.worth().reward,
        "best": world.worth(world.best_rule).reward,
        "ratio": world.costs().ratio,
        "ratio, same people": world.costs("same").ratio,
    }


def read(name: str, log: Log) -> sj.Fit:
    """The fit of a log by its visits and steps, or where clocks matter by time."""
    options = BY_TIME if name == "bad clocks" else {c: c for c in COLUMNS if c in log}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = {c: log[c] for c in options.values() if c in log}
        return sj.fit(columns, guess=False, bad="skip", **options)  # type: ignore[arg-type]


def advice_table(rows: Sequence[Row]) -> Table:
    """A line for each world, over the seeds."""
    table = []
    for name in dict.fromkeys(row["world"] for row in rows):
        own = [row for row in rows if row["world"] == name]
        ran = [row for row in own if "gained" in row]
        first = own[0]
        table.append(
            [
                name,
                f"{first['log']:.2f}",
                f"{first['best']:.2f}",
                f"{first['ratio']:.2f}",
                told(row.get("counted", "refused") for row in own),
                told(row.get("case", "refused") for row in own),
                told("refused" if "refused" in row else row["advice"] or "keep" for row in own),
                span(row["promised"][0] for row in ran),
                span(row["worst"] for row in ran),
                span(row["gained"] for row in ran),
            ]
        )
    header = (
        "world", "log", "best", "D(0)/D(1)", "counted", "case", "advice", "promised", "worst",
        "gained",
    )  # fmt: skip
    return Table("Advice in made-up worlds", header, table)


def promises(rows: Sequence[Row]) -> str:
    """How often one run of what was advised came as promised."""
    ran = [row for row in rows if "gained" in row]
    below, above, worse, lost = (
        sum(test(row["gained"], *row["promised"][1:], row["worst"]) for row in ran)
        for test in (
            lambda came, low, high, worst: came < low,
            lambda came, low, high, worst: came > high,
            lambda came, low, high, worst: came < worst,
            lambda came, low, high, worst: came < 0.0,
        )
    )
    return (
        f"{len(ran)} of {len(rows)} logs got a policy. What came was within the promise "
        f"{len(ran) - below - above} times, below it {below} times, above it {above} times; below "
        f"the worst case {worse} times, and below the current recommender {lost} times."
    )


def told(words: Iterable[str]) -> str:
    """What was said, and how often if that differs."""
    counted = Counter(words).most_common()
    return counted[0][0] if len(counted) == 1 else ", ".join(f"{w} {n}" for w, n in counted)


def span(numbers: Iterable[float]) -> str:
    """From the least to the greatest."""
    found = sorted(numbers)
    return " to ".join(dict.fromkeys(f"{x:+.2f}" for x in (found[:1] + found[-1:])))


# --- coverage ------------------------------------------------------------------------------------


def covered(name: str, seed: int, *, visits: int, users: int) -> Row:
    """Whether the intervals of one log hold the truth, and which arms are told to differ."""
    world = WORLDS[name]()
    found = joint_model(sample(world.log(visits, users, seed), world.arms))
    effects = arm_effects(found)
    row: Row = {
        "world": name,
        "seed": seed,
        "told": [effect.differs for effect in effects],
        "worth": [
            holds(effect.worth, worth.reward)
            for effect, worth in zip(effects, world.by_arm, strict=True)
        ],
    }
    for which, costs, of in (("same", found.costs, "same"), ("log", found.costs_by_state, "log")):
        row[f"case, {which}"] = costs.case
        if costs.ratio is not None:
            row[f"ratio, {which}"] = holds(costs.ratio, world.costs(of).ratio)
    return row


def holds(interval: Sequence[float], true: float) -> bool:
    """Whether an interval (value, low, high) has the truth in it."""
    _, low, high = interval
    return low <= true <= high


def sample(log: Log, arms: int) -> Sample:
    """The steps of a log as they leave the engine, which takes longer than all the rest."""
    order = np.lexsort((log["step"], log["visit"], log["user"]))
    ordered = {name: column[order] for name, column in log.items()}
    first = ordered["step"] == 1
    end = np.where(ordered["left"] == 1, LEFT, 0)
    if "censored" in ordered:
        end = np.where(ordered["censored"] == 1, CENSORED, end)
    return Sample(
        names=tuple(f"arm {arm}" for arm in range(arms)),
        user=numbered(ordered["user"]),
        visit=np.cumsum(first) - 1,
        step=ordered["step"],
        arm=ordered["arm"],
        previous=np.where(first, FIRST, np.roll(ordered["reward"], 1)),
        reward=ordered["reward"],
        value=ordered["reward"].astype(float),
        end=end,
        held=np.zeros(first.size, bool),
    )


def numbered(ids: NDArray[Any]) -> NDArray[np.int64]:
    """From 0 in their order."""
    return np.asarray(np.unique(ids, return_inverse=True)[1])


def coverage_table(rows: Sequence[Row]) -> Table:
    """A line for each world; shares of its logs in per cent."""
    table = []
    for name in dict.fromkeys(row["world"] for row in rows):
        own = [row for row in rows if row["world"] == name]
        worth = 100.0 * np.mean([row["worth"] for row in own], axis=0)
        true = WORLDS[name]()
        table.append(
            [
                name,
                f"{len(own)}",
                f"{100.0 * np.mean([any(row['told']) for row in own]):.1f}",
                f"{worth.min():.1f} to {worth.max():.1f}",
                f"{true.costs('same').ratio:.2f}",
                percent(row.get("ratio, same") for row in own),
                cases(row["case, same"] for row in own),
                f"{true.costs('log').ratio:.2f}",
                percent(row.get("ratio, log") for row in own),
                cases(row["case, log"] for row in own),
            ]
        )
    header = (
        "world", "logs", "some arm differs", "visit values", "same people", "covered", "cases",
        "in a state", "covered", "cases",
    )  # fmt: skip
    return Table("Intervals and tests on logs of made-up worlds, per cent", header, table)


def percent(flags: Iterable[bool | None]) -> str:
    """The share of those that are known."""
    known = [flag for flag in flags if flag is not None]
    return f"{100.0 * np.mean(known):.1f}" if known else ""


def cases(names: Iterable[str]) -> str:
    """How often each was seen, in per cent."""
    counted = Counter(names)
    return ", ".join(f"{c} {100.0 * n / counted.total():.0f}" for c, n in counted.most_common())


# --- the command ---------------------------------------------------------------------------------

STUDIES: dict[str, tuple[Callable[..., Row], Callable[[Sequence[Row]], Table], Sequence[str]]] = {
    "advice": (advised, advice_table, tuple(WORLDS)),
    "coverage": (covered, coverage_table, COVERED),
}


def rows_of(task: Task, names: Sequence[str], logs: int, processes: int) -> list[Row]:
    """What is found for each log of each world, in their order."""
    jobs = list(product(names, range(logs)))
    if processes == 1:
        return [task(*job) for job in jobs]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(task, *zip(*jobs, strict=True)))


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Run a study, print its table, and write the rows down if asked to."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    made.add_argument("study", choices=STUDIES)
    made.add_argument("--only", nargs="+", choices=WORLDS, metavar="WORLD", help="these worlds")
    made.add_argument("--logs", type=int, default=3, help="of each world")
    made.add_argument("--visits", type=int, default=2_000)
    made.add_argument("--users", type=int, default=500)
    made.add_argument("--processes", type=int, default=2)
    made.add_argument("--json", type=Path, metavar="FILE", help="write what was found here")
    given = made.parse_args(arguments)
    study, table, names = STUDIES[given.study]
    task = partial(study, visits=given.visits, users=given.users)
    rows = rows_of(task, given.only or names, given.logs, given.processes)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows).markdown())
    if given.study == "advice":
        print(promises(rows))
    return rows


if __name__ == "__main__":
    main()

"""``python -m benchmarks.volume``: a store with very many steps, before and after its archive.

Some visits are played through `Experiment`; then the database copies them, shifted in time, until
there are as many steps as wanted over a week, and the sums are multiplied. `verify` says whether
the result is what so many visits would have left. Measured are the size of the store, a restart up
to the first decision and the memory of that process, `verify`, and the slowest chart and panel of
the dashboard; then all but the last day is archived, and the same is measured again.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sojourn.live import Experiment, Journal, archive, open_store, verify
from sojourn.live.stores import tables
from sojourn.policies import LearnedUCB
from sojourn.service import demo
from sojourn.service.dashboard.snapshots import SPANS, Snapshots
from sojourn.service.demo import Crowd

from .report import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

NAME, BLOCK, AT_ONCE = "shorts", 10_000, 32
WEEK, DAY = 604_800.0, 86_400.0
PROBLEM = demo.problem()
ARMS = [f"arm {number}" for number in range(len(PROBLEM.means))]
RESTART = """
import re, sys, time
from pathlib import Path
from sojourn.live import Experiment
began = time.perf_counter()
with Experiment.open(sys.argv[1], sys.argv[2], compiled=False) as experiment:
    experiment.visit().choose()
    seconds = time.perf_counter() - began
kilobytes = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(seconds, int(kilobytes) / 1024)
"""


def play(url: str, steps: int) -> int:
    """Play visits to their end until there are so many steps; how many there are."""
    with Journal(url) as journal:
        shorts = Experiment(NAME, ARMS, LearnedUCB(), PROBLEM.user, store=journal, compiled=False)
        crowd, done = Crowd(PROBLEM, ARMS, seed=1), 0

        async def stay() -> None:
            nonlocal done
            while done < steps:
                stay = await crowd.visit(shorts)
                done += stay.steps

        async def all_of_them() -> None:
            await asyncio.gather(*(stay() for _ in range(AT_ONCE)))

        asyncio.run(all_of_them())
        return int(sum(n for key, n in shorts.counts().items() if key[0] == "issued"))


def multiply(url: str, copies: int) -> None:
    """Copy the visits of a store so many times, back over a week, and multiply its sums."""
    visit = _select(tables.VISIT, {"id": "id || ?", "touched": "touched - ?", "deadline": "0"})
    event = _select(tables.EVENT, {"visit": "visit || ?", "at": "at - ?"})
    with closing(open_store(url)) as store:
        with store._writing() as run:  # type: ignore[attr-defined]
            run("CREATE TEMPORARY TABLE visits AS SELECT * FROM sojourn_visit")
            run("CREATE TEMPORARY TABLE events AS SELECT * FROM sojourn_event ORDER BY seq")
        for copy in range(1, copies + 1):
            shift = f".{copy}", WEEK * copy / copies
            with store._writing() as run:  # type: ignore[attr-defined]
                into = f"INSERT INTO sojourn_visit ({tables.names(tables.VISIT)})"
                run(f"{into} SELECT {visit} FROM visits", shift)
                into = f"INSERT INTO sojourn_event ({tables.names(tables.EVENT)})"
                run(f"{into} SELECT {event} FROM events ORDER BY seq", shift)
            if copy % 100 == 0:
                tell(f"copy {copy} of {copies}")
        with store._writing() as run:  # type: ignore[attr-defined]
            run("UPDATE sojourn_counter SET n = n * ?", (float(copies + 1),))
            run("DELETE FROM sojourn_minute")
            run(tables.chart("sojourn_event"))


def _select(columns: dict[str, str], instead: dict[str, str]) -> str:
    return ", ".join(instead.get(column, f'"{column}"') for column in columns)


def measure(url: str, folder: Path | None) -> dict[str, float]:
    """The figures of a store as it is."""
    found = {"size, MB": _size(url) / 1e6}
    done = subprocess.run(
        [sys.executable, "-c", RESTART, NAME, url], capture_output=True, text=True, check=True
    )
    found["restart, s"], found["memory, MB"] = map(float, done.stdout.split())
    with closing(open_store(url, read_only=True)) as store:
        began = time.perf_counter()
        wrong = verify(store, NAME, folder)
        found["verify, s"] = time.perf_counter() - began
        assert not wrong, wrong
    with Experiment.open(NAME, url, compiled=False) as shorts:
        seconds = {}
        for span in SPANS:
            began = time.perf_counter()
            asyncio.run(Snapshots().get(shorts, span))
            seconds[span] = time.perf_counter() - began
        found["slowest panel, ms"] = 1000.0 * max(seconds.values())
        now = shorts.now()
        began = time.perf_counter()
        shorts.branch.timeline(SPANS["1w"].since(now), SPANS["1w"].width)
        found["week's chart, ms"] = 1000.0 * (time.perf_counter() - began)
    return found


def _size(url: str) -> int:
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    with closing(open_store(url, read_only=True)) as store, store._reading() as run:  # type: ignore[attr-defined]
        return int(run("SELECT pg_database_size(current_database())")[0][0])


def study(url: str, steps: int, folder: Path) -> dict[str, Any]:
    """Fill a store, measure it, archive all but the last day, measure it again."""
    played = play(url, min(BLOCK, steps))
    tell(f"{played:,} steps played")
    copies = max(1, round(steps / played) - 1)
    multiply(url, copies)
    before = measure(url, None)
    tell(f"before: {before}")
    with closing(open_store(url)) as store:
        began = time.perf_counter()
        moved = archive(store, NAME, store.ping() - DAY, folder)
        seconds = time.perf_counter() - began
        with store.upkeep() as upkeep:
            upkeep.compact(0.0, shrink=True)
    after = measure(url, None)
    began = time.perf_counter()
    with closing(open_store(url, read_only=True)) as store:
        assert verify(store, NAME, folder) == {}
    whole = time.perf_counter() - began
    files = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
    return {
        "steps": played * (copies + 1), "before": before, "after": after,
        "archived": moved, "seconds": seconds, "files, MB": files / 1e6, "verify all, s": whole,
    }  # fmt: skip


@contextmanager
def stores(which: str) -> Iterator[str]:
    """The address of an empty store."""
    with tempfile.TemporaryDirectory(prefix="sojourn-volume") as made:
        if which == "sqlite":
            yield f"sqlite:///{made}/live.db"
            return
        import postgres

        with postgres.server(("max_wal_size=4GB",)) as server:
            yield postgres.database(server, "volume")


def tell(text: str) -> None:
    """A line of progress."""
    print(f"{time.process_time():6.0f} s of CPU  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Both stores, and a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), action="append")
    given = parser.parse_args()
    for which in given.store or ("sqlite", "postgresql"):
        with stores(which) as url, tempfile.TemporaryDirectory() as folder:
            found = study(url, given.steps, Path(folder))
        rows = [
            [what, f"{found['before'][what]:,.2f}", f"{found['after'][what]:,.2f}"]
            for what in found["before"]
        ]
        title = f"{which}: {found['steps']:,} steps over a week; all but the last day archived"
        note = (
            f"archived {found['archived'].visits:,} visits, {found['archived'].events:,} events in "
            f"{found['archived'].files} files of {found['files, MB']:,.0f} MB, in "
            f"{found['seconds']:,.0f} s; verify of everything: {found['verify all, s']:,.0f} s"
        )
        print("", Table(title, ["", "before", "after"], rows, note).text(), sep="\n", flush=True)


if __name__ == "__main__":
    main()

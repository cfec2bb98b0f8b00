"""Erasures beside archives, drops, copies, decisions and kills, in threads of two processes.

`run` plays interleavings on one store, in a process of its own with one thread, which forks the two
that are killed. Clients note what they ask for and what is acknowledged in a file that no kill
takes back. After each interleaving the store, its archive and all bytes in the folder are compared
with it. The seed fixes what is done, and the pauses in it; the rest is the machine's.
"""

import csv
import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sojourn as sj
from sojourn.live import (
    Ask,
    Busy,
    Conflict,
    Ended,
    Experiment,
    InUse,
    Journal,
    NotFound,
    Part,
    Store,
    Unavailable,
    archive,
    archiving,
    backup,
    erase,
    export,
    open_store,
    verify,
)
from sojourn.live.archiving import drop_archived
from sojourn.live.stores import sql
from sojourn.live.stores.base import all_of_their_own

FOREVER = 1e12
LEASE, LONG = 0.5, 0.7  # seconds: a holder that pauses for long loses its lease
PATIENCE = 300.0  # seconds for what other work on the machine may delay
BRIEF = "brief"
KINDS = "gone", "back", "kept"  # erased; erased while visits are opened; not erased
ARMS = ["a", "b"]
EXPECTED = Busy, Conflict, Ended, InUse, NotFound, Unavailable
"""What may end a call beside others; `Damaged` and all else is noted."""

pauses = threading.local()


@dataclass
class Report:
    """What was played, and what was found that must not be."""

    rounds: int = 0
    kills: int = 0
    erased: int = 0
    steps: int = 0
    late: int = 0
    found: list[str] = field(default_factory=list)


class Said:
    """A file of what was asked for and acknowledged, line by line, by several processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, *words: Any) -> None:
        os.write(self._file, json.dumps(words).encode() + b"\n")

    def lines(self) -> list[list[Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]


@dataclass(frozen=True)
class World:
    """A store with its archive, and the users of one interleaving."""

    url: str
    folder: Path
    said: Said
    seed: str
    number: int

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    @property
    def shared(self) -> bool:
        return self.url.startswith("postgres")

    def users(self, kind: str) -> list[str]:
        draw = random.Random(f"{self.seed} {self.number} {kind}")
        return [f"{kind}-{self.number}-{draw.getrandbits(40):010x}" for _ in range(4)]

    def draw(self, who: str) -> random.Random:
        return random.Random(f"{self.seed} {self.number} {who}")


def nap(often: float = 0.1, most: float = 0.04) -> None:
    """Wait for no time, for a moment, or for longer than the lease."""
    draw = getattr(pauses, "draw", None)
    if draw is not None and (r := draw.random() / often) < 1.0:
        time.sleep(LONG if r < pauses.long else most * r)


def slowed(work: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the archive, with pauses before and after."""

    def napping(*given: Any) -> Any:
        nap(0.3)
        found = work(*given)
        nap(0.8, 0.2)
        return found

    return napping


def patient(method: Callable[[Any], Any], rewrite: Callable[[str], str]) -> Callable[[Any], Any]:
    """A transaction with pauses before, after and between its statements."""

    @contextmanager
    def napping(store: Any) -> Iterator[Any]:
        nap()
        with method(store) as run:

            def slow(query: str, *parameters: Any) -> list[Any]:
                nap()
                found: list[Any] = run(rewrite(query), *parameters)
                return found

            yield slow
        nap()

    return napping


MUTANTS = {
    "version": (", version = version + 1", ""),
    "lease": ("WHERE until < ", "WHERE 0 < "),
    "row": ("WHERE file = ? AND digest = ?", "WHERE file = ? AND ? <> ''"),
}
"""Mechanisms that can be broken, one at a time, by the SQL that they are made of."""


def prepare(shared: bool, broken: str) -> None:
    """Make pauses and short leases; break one mechanism."""
    old, new = MUTANTS.get(broken, ("", ""))

    def rewrite(query: str) -> str:
        if broken == "lease" and "UPDATE sojourn_lease SET until" in query:
            query = query.replace("WHERE token = ?", "WHERE ? <> ''")
        return query.replace(old, new)

    from sojourn.live.stores import sqlite

    store: Any = sqlite.SqliteStore
    if shared:
        from sojourn.live.stores import postgres

        store = postgres.PostgresStore
    for name in ("_writing", "_reading"):
        setattr(store, name, patient(getattr(store, name), rewrite))
    with Experiment("warm", ARMS, sj.policies.UCB(), compiled=False) as warm:  # imports all
        warm.visit(user="u").end()
    archiving.pyarrow()
    sql.SqlStore.upkeep.__wrapped__.__kwdefaults__["lease"] = LEASE  # type: ignore[attr-defined]
    archiving.STEPS = 30
    for name in ("write", "_sweep"):
        setattr(archiving, name, slowed(getattr(archiving, name)))
    if broken == "secure_delete":
        make = store._prepare

        def careless(self: Any) -> None:
            make(self)
            self._writer.execute("PRAGMA secure_delete = OFF")

        store._prepare = careless
    elif broken == "sweep":
        archiving._sweep = lambda *given: None
    elif broken == "log":
        store._overwrite = lambda self: None


def experiment(journal: Journal, name: str) -> Experiment:
    return Experiment(name, ARMS, sj.policies.UCB(), store=journal, compiled=False)


class Player:
    """Plays visits, and notes each step: what it asks for, and what is acknowledged."""

    def __init__(self, world: World, who: str) -> None:
        self.said, self.draw, self.who, self.made = world.said, world.draw(who), who, 0

    def open(self, where: Experiment, user: str) -> tuple[Any, list[Any]]:
        self.made += 1
        visit = where.visit(user=user, id=f"{self.who}-{self.made}-{self.draw.getrandbits(32):x}")
        self.said("opened", where.name, visit.id, user)
        first = visit.decide()
        return visit, [where.name, visit.id, 1, first.arm]

    def step(self, visit: Any, at: list[Any]) -> None:
        reward = float(self.draw.random() < 0.5)
        self.said("asked", *at[:3])
        made = visit.decide(Ask(reward=reward, step=at[2] + 1, request=f"r{at[2] + 1}"))
        self.said("done", *at, reward)
        at[2:] = made.step, made.arm

    def end(self, visit: Any, at: list[Any]) -> None:
        reward = float(self.draw.random() < 0.5)
        self.said("asked", *at[:3])
        visit.end(reward)
        self.said("done", *at, reward)

    def whole(self, where: Experiment, user: str) -> None:
        visit, at = self.open(where, user)
        for _ in range(self.draw.randrange(4)):
            self.step(visit, at)
        if self.draw.random() < 0.8:
            self.end(visit, at)


def quietly(said: Said, work: Callable[[], Any]) -> None:
    """Do it; an error that callers have to expect ends it, another one is noted."""
    try:
        work()
    except EXPECTED:
        pass
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said("fell", f"{type(error).__name__}: {error} ({last.name} {last.lineno})")


def begin(world: World, journal: Journal) -> tuple[Experiment, Experiment, list[Any]]:
    """Visits of all users, some of them over and archived, some of them open."""
    news, brief = (experiment(journal, name) for name in ("news", f"{BRIEF}{world.number}"))
    player, still = Player(world, f"begin{world.number}"), []
    for user in world.users("gone") + world.users("kept"):
        player.whole(news, user)
        player.whole(brief, user)
        still.append(player.open(news, user))
    if world.draw("begin").random() < 0.7:
        archive(journal.store, "news", FOREVER, world.archive)
        archive(journal.store, brief.name, FOREVER, world.archive)
    return news, brief, still


def chaos(world: World, who: str, journal: Journal, still: list[Any]) -> None:
    """Players, erasures and upkeep side by side, until all have done their part."""
    share = slice(0, None, 2) if who == "one" else slice(1, None, 2)
    news, brief = (experiment(journal, name) for name in ("news", f"{BRIEF}{world.number}"))
    works = [
        partial(play_on, world, who, news, still),
        partial(come_back, world, who, news, brief),
        partial(keep, world, who, journal),
    ]
    for users in (world.users("gone")[share], world.users("back")[share]):
        works += [partial(forget, world, who, journal.store, user) for user in users]

    def run(number: int, work: Callable[[], Any]) -> None:
        pauses.draw = world.draw(f"{who} naps {number}")
        pauses.long = 0.0 if number < 2 else 0.01
        quietly(world.said, work)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def play_on(world: World, who: str, news: Experiment, still: list[Any]) -> None:
    """Go on with visits that were open before their users were erased."""
    player = Player(world, f"{who}{world.number}on")
    for _ in range(3):
        for visit, at in still:
            with suppress(*EXPECTED):
                player.step(visit, at)
    for visit, at in still[::2]:
        with suppress(*EXPECTED):
            player.end(visit, at)


def come_back(world: World, who: str, news: Experiment, brief: Experiment) -> None:
    """New visits, also of users who are erased at this moment."""
    player = Player(world, f"{who}{world.number}new")
    for _ in range(2):
        for user in world.users("back") + world.users("kept")[:1]:
            for where in (news, brief):
                with suppress(*EXPECTED):
                    player.whole(where, user)


def keep(world: World, who: str, journal: Journal) -> None:
    """Archive, drop, copy: in an order of its own."""
    store, draw, brief = journal.store, world.draw(f"{who} keeps"), f"{BRIEF}{world.number}"
    jobs = ["archive"] * 2 + ["copy"] + ["drop"] * (who == "one" and draw.random() < 0.6)
    draw.shuffle(jobs)
    for number, job in enumerate(jobs):
        with suppress(*EXPECTED):
            if job == "archive":
                for name in ("news", brief):
                    with suppress(NotFound):
                        archive(store, name, FOREVER, world.archive)
            elif job == "copy":
                copy(world, store, f"{who}{world.number}-{number}")
            else:
                world.said("dropping", brief)
                store.drop(brief)
                if draw.random() < 0.5:
                    drop_archived(store, brief, world.archive)
                if not world.shared and draw.random() < 0.5:
                    Player(world, f"{who}{world.number}again").whole(
                        experiment(journal, brief), world.users("kept")[0]
                    )


def copy(world: World, store: Store, name: str) -> None:
    """A backup and an export, of what is there when they begin."""
    world.said("copying", name)
    if not world.shared:
        backup(world.url, world.folder / f"copy-{name}.db")
    export(store, "news", world.folder / f"copy-{name}.csv", world.archive)


def forget(world: World, who: str, store: Store, user: str) -> None:
    time.sleep(world.draw(f"{who} {user}").random() * 0.3)
    world.said("erasing", user)
    done = erase(store, user, world.archive, wait=world.draw(user).choice([0.05, 1.0, 10.0]))
    world.said("erased", user, done.archived is not None)
    if user.startswith("gone"):
        left = in_tables(store, [user]) if done.archived is not None else []
        if left:
            world.said("fell", f"{user} was erased, and is in {left}")


def one(world: World, ready: int) -> None:
    """The first process: it has the store from the beginning."""
    with Journal(world.url, upkeep=False, deadline=PATIENCE) as journal:
        _, _, still = begin(world, journal)
        os.write(ready, b".")
        chaos(world, "one", journal, still)


def two(world: World, ready: int) -> None:
    """The second one: on PostgreSQL beside the first, on SQLite it copies and then takes over."""
    end, looks = time.monotonic() + 20.0, 0
    while True:
        try:
            journal = Journal(world.url, upkeep=False, deadline=PATIENCE)
            break
        except InUse:
            if time.monotonic() > end:
                return
            time.sleep(0.05)
            if (looks := looks + 1) in (2, 8):
                quietly(world.said, partial(look, world, looks))
    with journal:
        chaos(world, "two", journal, [])


def look(world: World, number: int) -> None:
    """Read a SQLite file that another process writes."""
    store = open_store(world.url, read_only=True)
    try:
        copy(world, store, f"look{world.number}-{number}")
        for name in all_of_their_own(store):
            with suppress(NotFound):
                wrong = verify(store, name)
                if wrong:
                    world.said("fell", f"verify of {name} beside others: {list(wrong)[:3]}")
    finally:
        store.close()


def in_tables(store: Any, users: list[str]) -> list[str]:
    """The users whose id is in the table of visits or of events."""
    found = []
    with store._reading() as run:
        for table in ("sojourn_visit", "sojourn_event"):
            for user in users:
                found += [table] * bool(run(f'SELECT 1 FROM {table} WHERE "user" = ?', (user,)))
    return found


def check(world: World, ready: int) -> None:
    """Finish what was begun, and compare: it notes what fell."""
    said, fell = world.said.lines(), partial(world.said, "fell")
    asked = {line[1] for line in said if line[0] == "erasing"}
    sure = {line[1] for line in said if line[0] == "erased" and line[1].startswith("gone")}
    journal = Journal(world.url, upkeep=False, deadline=PATIENCE)
    store: Any = journal.store
    for user in sorted(asked - sure):  # whose call was not answered, or who came back
        erase(store, user, world.archive)
    archive(store, "news", FOREVER, world.archive)
    words = {user.encode() for user in asked}
    for table, rows in everything(store):
        text = repr(rows)
        here = [user for user in asked if user in text]
        if here:
            fell(f"{len(here)} erased ids in {table}: {here[:3]}")
    parts = {part.file for part in store.series(Part, None)}
    found = (path for path in world.archive.rglob("*") if path.is_file())
    files = {path.relative_to(world.archive).as_posix() for path in found}
    if files != parts:
        fell(f"files {sorted(files - parts)} are left over, {sorted(parts - files)} are missing")
    _, pq = archiving.pyarrow()
    for file in sorted(files):
        if file.endswith(".parquet"):
            column = pq.read_table(world.archive / file, partitioning=None)["user"]
            if here := sorted(asked.intersection(column.to_pylist())):
                fell(f"{len(here)} erased ids in {file}")
    known = all_of_their_own(store)
    for name in known:
        wrong = verify(store, name, world.archive)
        if wrong:
            fell(f"verify of {name}: {dict(list(wrong.items())[:3])}")
    dropped = {line[1] for line in said if line[0] == "dropping"}
    for name in known:
        if name not in dropped:
            compare(world, store, name, said, asked, fell)
    strays = {part.experiment for part in store.series(Part, None)} - {*known, ""}
    if strays:
        fell(f"files of dropped experiments are listed under {strays}")
    if not world.shared:
        backup(world.url, world.folder / "last.db")
    erased_before: set[str] = set()
    for line in said:
        if line[0] == "erased" and line[1].startswith("gone") and line[2]:
            erased_before.add(line[1])
        elif line[0] == "copying":
            for copied in world.folder.glob(f"copy-{line[1]}.*"):
                raw = copied.read_bytes()
                here = [user for user in erased_before if user.encode() in raw]
                if here:
                    fell(f"{here[:3]} were erased, and are in {copied.name}, which came later")
    for copied in world.folder.glob("copy-*"):
        copied.unlink()
    for path in world.folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            here = [word.decode() for word in words if word in raw]
            if here:
                fell(f"{len(here)} erased ids in the bytes of {path.relative_to(world.folder)}")
    (world.folder / "last.db").unlink(missing_ok=True)
    journal.close()
    world.said("checked")


def everything(store: Any) -> Iterator[tuple[str, list[Any]]]:
    """All tables with all their rows."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if store.shared:
        names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    with store._reading() as run:
        for (table,) in run(names):
            yield table, run(f"SELECT * FROM {table}")


def compare(
    world: World, store: Store, name: str, said: list[Any], asked: set[str], fell: Any
) -> None:
    """The exported steps of an experiment are those that were acknowledged."""
    target = world.folder / "export.csv"
    export(store, name, target, world.archive)
    rows = list(csv.DictReader(target.open(newline="")))
    target.unlink()
    users = {line[2]: line[3] for line in said if line[0] == "opened" and line[1] == name}
    kept = {(row["visit"], int(row["step"])): (row["arm"], float(row["reward"])) for row in rows}
    if len(kept) < len(rows):
        fell(f"{len(rows) - len(kept)} steps of {name} were exported twice")
    here = [line for line in said if line[0] in ("asked", "done") and line[1] == name]
    tried = {(line[2], line[3]) for line in here}
    done = {(line[2], line[3]): (line[4], line[5]) for line in here if line[0] == "done"}
    lost = [key for key, value in done.items() if kept.get(key) != value]
    more = [key for key in kept if key not in tried]
    if lost or more:
        fell(f"{name}: acknowledged and not exported {lost[:3]}, never asked for {more[:3]}")
    for row in rows:
        user = users.get(row["visit"])
        if user is not None and user not in asked and row["user"] != user:
            fell(f"the user of {row['visit']} is {row['user']} and not {user}")


def fork(work: Callable[[World, int], None], world: World, ready: int = -1) -> int:
    """Do this in a child, which ends with it."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        quietly(world.said, lambda: work(world, ready))
        code = 0
    finally:
        os._exit(code)


def wait(pid: int, seconds: float) -> bool:
    """Whether a child ends by itself within these seconds; else it is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def play(world: World, report: Report) -> None:
    """One interleaving: two processes, perhaps a kill, and the comparison."""
    draw, before = world.draw("driver"), len(world.said.lines())
    readable, ready = os.pipe()
    first = fork(one, world, ready)
    os.close(ready)
    os.read(readable, 1)  # it is ready, or dead
    os.close(readable)
    second = fork(two, world)
    victims = draw.choice([(), (first,), (second,), (first, second), ()])
    time.sleep(draw.random() * 0.8)
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            report.kills += 1
        time.sleep(draw.random() * 0.2)
    for pid in (first, second):
        if not wait(pid, PATIENCE):
            world.said("fell", "a process did not end")
    if not wait(fork(check, world), PATIENCE):
        world.said("fell", "the comparison was killed")
    new = world.said.lines()[before:]
    if new[-1] != ["checked"]:
        report.found.append(f"{world.seed}/{world.number}: the comparison came to no end")
    report.rounds += 1
    report.erased += len({line[1] for line in new if line[0] == "erasing"})
    report.late += sum(line[0] == "erased" and not line[2] for line in new)
    report.steps += sum(line[0] == "done" for line in new)
    report.found += [f"{world.seed}/{world.number}: {line[1]}" for line in new if line[0] == "fell"]


def run(
    url: str, folder: Path, seed: str, rounds: int, seconds: float = math.inf, broken: str = ""
) -> Report:
    """Play on a store with this folder, until the rounds or the seconds are over."""
    words = [sys.executable, __file__, url, folder, seed, rounds, seconds, broken]
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, check=True, text=True)
    return Report(**json.loads(done.stdout))


def main(url: str, folder: str, seed: str, rounds: str, seconds: str, broken: str) -> None:
    report, end = Report(), time.monotonic() + float(seconds)
    logging.disable()  # where the lease is broken, there are many warnings
    Path(f"{folder}.said").unlink(missing_ok=True)
    said = Said(Path(f"{folder}.said"))
    prepare(url.startswith("postgres"), broken)
    for number in range(int(rounds)):
        if time.monotonic() >= end:
            break
        play(World(url, Path(folder), said, seed, number), report)
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main(*sys.argv[1:])

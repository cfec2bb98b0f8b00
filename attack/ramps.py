"""Shares that change while several workers are asked to open the same visits."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import httpx

from sojourn.live import LiveError, open_store, verify
from sojourn.live.rollout.allocation import MOST_EPOCHS
from sojourn.live.stores.base import find_visit

from .ground import Ground, until
from .load import TIMEOUT
from .tally import Tally
from .variants import GIVEN

TWINS, PAIRS = 3, 4
VARIANTS = {name: f"load:{name}" for name in ("old", "new")}
OPENING = {"request": "first", "step": 1, "logged": {"arm": "a"}}

Answers = defaultdict[str, list[Any]]


class Twins:
    """Threads that ask for the same request at the same time, each by a connection of its own."""

    def __init__(self, url: str, tally: Tally, answers: Answers, names: Iterator[int]) -> None:
        self.url, self.tally, self.answers, self.names = url, tally, answers, names
        self.visit, self.over = "", threading.Event()
        self.barrier = threading.Barrier(TWINS, action=self.next)
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(TWINS)]

    def next(self) -> None:
        """The visit that all of them open."""
        self.visit = f"visit {next(self.names)}" if not self.over.is_set() else ""

    def ask(self) -> None:
        """Open visit after visit, with the same request as the others."""
        while True:
            self.barrier.wait()
            if not (visit := self.visit):
                return
            path = f"/v1/experiments/load/visits/{visit}/decisions"
            body = {**OPENING, "opening": {"user": visit}}
            with httpx.Client(base_url=self.url, timeout=TIMEOUT) as http:  # perhaps another worker
                answer = called(http, self.tally, "POST", path, body)
            if answer is not None:
                self.answers[visit].append((answer["variant"], answer["arm"], answer["step"]))


def called(http: httpx.Client, tally: Tally, method: str, path: str, body: Any) -> Any:
    """The answer to a call, or None if it failed."""
    began, what, status = time.monotonic(), f"{method} {path.rpartition('/')[2]}", None
    try:
        answer = http.request(method, path, json=body)
        status = answer.status_code
    except httpx.TransportError:
        return None
    finally:
        tally.answered(status, time.monotonic() - began, what)
    tally.expect(status in (200, 201, 503), f"{what} answers {status}: {answer.text[:200]}")
    return answer.json() if status in (200, 201) else None


@contextmanager
def asking(url: str, tally: Tally, answers: Answers, names: Iterator[int]) -> Iterator[None]:
    """Twins at work in the block."""
    twins = [Twins(url, tally, answers, names) for _ in range(PAIRS)]
    for thread in (threads := [thread for each in twins for thread in each.threads]):
        thread.start()
    try:
        yield
    finally:
        for each in twins:
            each.over.set()
        for thread in threads:
            thread.join(TIMEOUT)


def change(url: str, tally: Tally, end: float) -> int:
    """Change the shares until that time; how often they were."""
    changes, path = 0, "/v1/experiments/load/shares"
    while time.monotonic() < end and changes < MOST_EPOCHS - 1:
        wanted = {"new": (0.1, 0.9)[changes % 2]}
        with httpx.Client(base_url=url, timeout=TIMEOUT) as http:
            found = called(http, tally, "PUT", path, {"shares": wanted})
        if found is not None:
            changes += 1
            tally.expect(found["shares"]["new"] == wanted["new"], "PUT shares answers with others")
        time.sleep(0.1)
    return changes


def ramp(ground: Ground, tally: Tally, seconds: float, kind: str, many: int = 1) -> None:
    """Change shares again and again; each visit is in one variant, which all answers name."""
    place, answers, names = ground.store(kind), defaultdict[str, list[Any]](list), count()
    options = ["--workers", str(many)] if many > 1 else []
    with ground.serve(tally, place, *options) as server:
        with httpx.Client(base_url=server.url, timeout=TIMEOUT) as http:
            make = partial(called, http, tally, "PUT", "/v1/experiments/load/variants", GIVEN)
            if not until(make):  # a busy machine may be late
                return
        with asking(server.url, tally, answers, names):
            changes = change(server.url, tally, time.monotonic() + seconds)
    check(place, answers, tally)
    tally.note = f"{len(answers)} visits opened {TWINS} times each, {changes} changes of shares"


def check(place: str, answers: Answers, tally: Tally) -> None:
    """Compare the answers with each other, and with the store."""
    different = sum(len(set(each)) > 1 for each in answers.values())
    tally.expect(not different, f"{different} requests have different answers")
    try:
        store = open_store(place)
    except (LiveError, ValueError) as error:
        tally.expect(False, f"the store cannot be opened: {error}")
        return
    try:
        homes: Counter[str] = Counter()
        for visit, each in answers.items():
            stored = [v for v, name in VARIANTS.items() if find_visit(store, name, visit)]
            homes[",".join(stored)] += stored != [each[0][0]]
        tally.expect(not homes.total(), f"visits are elsewhere than answered: {dict(homes)}")
        wrong = [name for name in VARIANTS.values() if verify(store, name)]
        tally.expect(not wrong, f"verify: sums of {', '.join(wrong)} differ")
    finally:
        store.close()
    tally.acknowledged += sum(map(len, answers.values()))


SCENARIOS = {
    "ramp-sqlite": (partial(ramp, kind="sqlite"), 10),
    "ramp-postgres-4": (partial(ramp, kind="postgres", many=4), 20),
}

"""Clients of a service that repeat what was not answered, and remember every answer."""

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import sojourn as sj
from sojourn.client import Client
from sojourn.live import Ask, Busy, Conflict, Logged, Unavailable

ARMS = ["a", "b", "c"]
POLICY = sj.policies.LearnedUCB()
PATIENCE = 60.0


class Load:
    """Threads that play visits; `said` is what was acknowledged: kind, visit, step, arm or reward.

    With `shared`, they are all about the visits of these names, each at its own pace. `own` is the
    arm that a recommender of the clients would show.
    """

    own: str | None = None

    def __init__(self, url: str, clients: int, shared: tuple[str, ...] = ()) -> None:
        self.url, self.shared = url, shared
        self.said: list[list[str]] = []
        self.firsts: set[tuple[str, str]] = set()
        self.troubles = Counter[str]()
        self.failures: list[BaseException] = []
        self.stop = threading.Event()
        self.threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(clients)
        ]

    def client(self) -> Client:
        """The client of a thread."""
        return Client(self.url, retries=1, timeout=5.0)

    def _run(self, number: int) -> None:
        try:
            with self.client() as client:
                shorts = self.insist(lambda: self.enter(client))
                (self._together if self.shared else self._alone)(shorts, number)
        except BaseException as error:
            self.failures.append(error)

    def enter(self, client: Client) -> Any:
        """The experiment, made if need be."""
        return client.experiment("load", ARMS, POLICY)

    def user(self, number: int) -> str:
        """The user of the next visit of a client."""
        return f"u{number}"

    def feeling(self, decision: Any, draw: random.Random) -> float:
        """The reward of a step."""
        return float(draw.random() < 0.5)

    def insist(self, call: Callable[[], Any]) -> Any:
        """Call until there is an answer."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return call()
            except (Unavailable, Busy) as error:
                self.troubles[type(error).__name__] += 1
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def say(self, *words: object) -> None:
        """Note an acknowledged fact."""
        self.said.append([str(word) for word in words])

    def ask(self, reward: float | None = None) -> Ask:
        return Ask(reward=reward, logged=Logged.of(self.own))

    def _alone(self, shorts: Any, number: int) -> None:
        """Visits of one's own, in all ways to tell rewards."""
        draw = random.Random(number)
        while not self.stop.is_set():
            visit = shorts.visit(user=self.user(number))
            decision = self.insist(lambda v=visit: v.decide(self.ask()))
            self.say("open", visit.id, 0, "-")
            self.say("decide", visit.id, 1, decision.arm)
            for step in range(1, 6):
                assert decision.step == step
                reward = self.feeling(decision, draw)
                if step % 2:
                    assert self.insist(lambda v=visit, r=reward: v.reward(r)) in ("learned", "same")
                    decision = self.insist(lambda v=visit: v.decide(self.ask()))
                else:
                    decision = self.insist(lambda v=visit, r=reward: v.decide(self.ask(r)))
                self.say("resolve", visit.id, step, reward)
                self.say("decide", visit.id, step + 1, decision.arm)
            self.insist(lambda v=visit: v.end(1))
            self.say("resolve", visit.id, 6, 1.0)
            self.say("leave", visit.id, 6, "-")

    def _together(self, shorts: Any, number: int) -> None:
        """Decisions for visits that others decide for too; one of them comes first."""
        for name in self.shared:  # all want the same first decision, and get it
            visit = shorts.visit(id=name)
            first = self.insist(lambda v=visit: v.decide(Ask(request="first", step=1)))
            self.firsts.add((name, first.arm))
        draw = random.Random(number)
        while not self.stop.is_set():
            visit = shorts.visit(id=draw.choice(self.shared))
            reward = float(draw.random() < 0.5)
            for _ in range(3):
                try:
                    decision = self.insist(lambda v=visit, r=reward: v.decide(Ask(reward=r)))
                except Conflict:
                    self.troubles["Conflict"] += 1
                    continue
                self.say("resolve", visit.id, decision.step - 1, reward)
                self.say("decide", visit.id, decision.step, decision.arm)

    def more(self, lines: int) -> None:
        """Wait until so many more answers have come."""
        before, end = len(self.said), time.monotonic() + PATIENCE
        while len(self.said) < before + lines:
            assert not self.failures, self.failures
            assert time.monotonic() < end, f"no answers for a minute: {self.troubles}"
            time.sleep(0.01)

    def finish(self) -> None:
        """Let all come to the end of what they are at."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.set()


def quiet_port() -> int:
    """A free port that no connection is given by chance while nobody listens there."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port

"""Load that knows what it was told and how long that took; pages that are looked at meanwhile."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import httpx
import service_load
from crashes import audit
from serving import Server

from sojourn.client import Client
from sojourn.client.caller import NoResponse, Request, Response, Transport
from sojourn.live import Busy, LiveError, Store, Unavailable, open_store

from .tally import DEADLINE, Tally

TIMEOUT = DEADLINE + 5.0
CLIENTS, PAUSE = 4, 0.1


class Watched:
    """A transport that notes what became of every request."""

    def __init__(self, inner: Transport, tally: Tally) -> None:
        self.inner, self.tally = inner, tally

    async def send(self, request: Request) -> Response:
        """Send it, and note it."""
        began, what = time.monotonic(), f"{request.method} {request.path.rpartition('/')[2]}"
        try:
            response = await self.inner.send(request)
        except NoResponse:
            self.tally.answered(None, time.monotonic() - began, what)
            raise
        self.tally.answered(response.status, time.monotonic() - began, what)
        return response

    async def close(self) -> None:
        """Close what is within."""
        await self.inner.close()


class GaveUp(Exception):
    """The attack is over, and the service did not come back."""


class Load(service_load.Load):
    """Clients that repeat what was not answered; at the end the store is compared with the answers.

    Enter it before the server and leave it after, so that the store is free then. `where` says in
    which experiments of the store, and in which archive, what was said has to be.
    """

    where: Mapping[str, Any] = {}

    def __init__(
        self, url: str, place: str, tally: Tally, *, key: str | None = None,
        clients: int = CLIENTS, shared: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(url, clients, shared)
        self.place, self.tally, self.key = place, tally, key
        self.finished, self.over = False, threading.Event()

    def client(self) -> Client:
        """A client whose requests are noted."""
        made = Client(self.url, self.key, retries=0, timeout=TIMEOUT)
        made._caller = replace(made._caller, transport=Watched(made._caller.transport, self.tally))
        return made

    def insist(self, call: Callable[[], Any]) -> Any:
        """Call until there is an answer, or until all is over."""
        while not self.over.is_set():
            try:
                return call()
            except (Unavailable, Busy) as error:
                self.troubles[type(error).__name__] += 1
                time.sleep(PAUSE)
        raise GaveUp

    def run_for(self, seconds: float, least: int = 20) -> None:
        """Let it run, until so many answers have come at least."""
        time.sleep(seconds)
        self.more(least)

    def finish(self) -> None:
        """Let all come to the end of what they are at: then all that was done is acknowledged."""
        super().finish()
        self.finished = True

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.over.set()
        for thread in self.threads:
            thread.join(TIMEOUT)
        self.tally.acknowledged += len(self.said)
        for failure in self.failures:
            if not isinstance(failure, GaveUp):
                self.tally.expect(False, f"{type(failure).__name__}: {str(failure)[:200]}")
        self.check()

    def look(self, store: Store) -> None:
        """Look at what else the store should have."""

    def check(self) -> None:
        """Compare the store with what was said."""
        if not self.said:
            self.tally.expect(False, "nothing was acknowledged")
            return
        said = self.said + [["decide", visit, "1", arm] for visit, arm in self.firsts]
        everything = self.finished and not self.shared
        try:
            store = open_store(self.place)
        except (LiveError, ValueError) as error:
            self.tally.expect(False, f"the store cannot be opened: {error}")
            return
        try:
            found = audit(store, said, everything=everything, **self.where)
            self.look(store)
        finally:
            store.close()
        self.tally.lost += len(found.lost)
        self.tally.doubled += len(found.doubled)
        self.tally.expect(not found.differing, f"verify: {len(found.differing)} counters differ")


class Looks:
    """Looks at pages of a service again and again, each in a thread of its own.

    `pages` has the statuses that are allowed; 503 with a known error is for the caller to allow.
    A page that does not answer at all fell: the service should live.
    """

    def __init__(
        self, url: str, pages: Mapping[str, set[int]], tally: Tally, *, key: str | None = None,
        quick: Mapping[str, float] | None = None, pause: float = 0.3,
    ) -> None:  # fmt: skip
        self.url, self.pages, self.tally, self.pause = url, pages, tally, pause
        self.quick = quick or {}
        self.headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self.seen: dict[str, set[int]] = {page: set() for page in pages}
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._look, args=(page,)) for page in pages]

    def _look(self, page: str) -> None:
        with httpx.Client(base_url=self.url, headers=self.headers, timeout=TIMEOUT) as http:
            while not self.stop.wait(self.pause):
                self.once(http, page)

    def once(self, http: httpx.Client, page: str) -> None:
        """One look."""
        began, what = time.monotonic(), f"GET {page}"
        try:
            status = http.get(page).status_code
        except httpx.TransportError as error:
            seconds = time.monotonic() - began
            self.tally.answered(None, seconds, what)
            self.tally.expect(False, f"{what}: {type(error).__name__}")
            return
        seconds = time.monotonic() - began
        self.tally.answered(status, seconds, what)
        self.seen[page].add(status)
        self.tally.expect(status in self.pages[page], f"{what} answers {status}")
        limit = self.quick.get(page, DEADLINE)
        self.tally.expect(seconds <= limit, f"{what} takes longer than {limit:g} s")

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


def lives(server: Server, tally: Tally) -> None:
    """Note it if the process has ended."""
    code = server.process.poll()
    if code is not None:
        last = server.lines.strip().splitlines()[-1:] or [""]
        tally.expect(False, f"the service has ended with {code}: {last[0][:200]}")

"""Operators at work under load: users erased, experiments dropped and made again, arms retired."""

import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
from service_load import quiet_port

from .ground import Ground
from .load import TIMEOUT, Load, lives
from .tally import Tally

GOOD = {200, 201, 202, 204, 404, 409, 410, 503}
"""How calls about an experiment that comes and goes may end."""


def operate(ground: Ground, tally: Tally, seconds: float, kind: str, many: int = 1) -> None:
    """What was acknowledged is there all the same, and no call ends in 500."""
    place, port = ground.store(kind), quiet_port()
    options = ["--port", str(port), *(["--workers", str(many)] if many > 1 else [])]
    url, over = f"http://127.0.0.1:{port}", threading.Event()
    work = (erase_users, come_and_go, visit_what_goes, retire_arms)
    with Load(url, place, tally) as load, ground.serve(tally, place, *options) as server:
        load.more(20)
        threads = [threading.Thread(target=each, args=(url, tally, over)) for each in work]
        for thread in threads:
            thread.start()
        try:
            load.run_for(max(3.0, seconds))
        finally:
            over.set()
            for thread in threads:
                thread.join()
        load.finish()
        lives(server, tally)
        tally.expect("Traceback" not in server.lines, "a traceback in the log")


class Operator:
    """Calls until all is over, and notes what is not as it should be."""

    def __init__(self, url: str, tally: Tally, over: threading.Event) -> None:
        self.http, self.tally, self.over = httpx.Client(base_url=url, timeout=TIMEOUT), tally, over

    def call(self, method: str, path: str, body: Any = None) -> int:
        """The status of one call, 0 without an answer."""
        began, status = time.monotonic(), None
        with suppress(httpx.TransportError):
            status = self.http.request(method, f"/v1/{path}", json=body).status_code
        self.tally.answered(status, time.monotonic() - began, f"{method} {path}")
        self.tally.expect(status is None or status in GOOD, f"{method} {path} answers {status}")
        return status or 0


def erase_users(url: str, tally: Tally, over: threading.Event) -> None:
    """The users of the load, whose visits go on."""
    operator = Operator(url, tally, over)
    while not over.wait(0.05):
        for user in range(4):
            operator.call("DELETE", f"users/u{user}")


def come_and_go(url: str, tally: Tally, over: threading.Event) -> None:
    """An experiment that is made and dropped again and again."""
    operator, made, dropped = Operator(url, tally, over), 0, 0
    while not over.wait(0.2):
        made += operator.call("PUT", "experiments/brief", {"arms": ["a", "b"]}) == 201
        over.wait(0.2)
        dropped += operator.call("DELETE", "experiments/brief") in (200, 204)
    tally.expect(made > 0 and dropped > 0, f"made {made} times, dropped {dropped} times")


def visit_what_goes(url: str, tally: Tally, over: threading.Event) -> None:
    """Visits of the experiment that comes and goes."""
    operator, number = Operator(url, tally, over), 0
    while not over.is_set():
        number += 1
        visit = f"experiments/brief/visits/v{number}"
        operator.call("POST", f"{visit}/decisions", {"opening": {"user": "u0"}})
        for _ in range(3):
            operator.call("POST", f"{visit}/step", {"reward": 1})
        operator.call("GET", "experiments/brief/insight")
        over.wait(0.05)


def retire_arms(url: str, tally: Tally, over: threading.Event) -> None:
    """Two arms of the load come and go."""
    operator = Operator(url, tally, over)
    while not over.wait(0.3):
        for end in ("", "/retire"):
            operator.call("POST", f"experiments/load/arms{end}", {"arms": ["d", 5]})


SCENARIOS = {
    "operators-sqlite": (partial(operate, kind="sqlite"), 15),
    "operators-postgres-2": (partial(operate, kind="postgres", many=2), 20),
}

"""Kill -9 while variants, a guardrail and retention are at work."""

import json
import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from crashes import workers
from service_load import ARMS, quiet_port

from sojourn.client import Client
from sojourn.live import Edit, Store

from .ground import Ground, kill, until
from .kills import LIFE
from .load import Load
from .tally import Tally

UCB = {"name": "UCB", "parameters": {}}
GIVEN = {
    "arms": ARMS,
    "holdout": "old",
    "window": 1.0,  # archived are visits whose window is over
    "variants": {
        "old": {"share": 0.5, "external": True, "policy": UCB},
        "new": {"share": 0.5, "policy": UCB},
    },
}
RULE = {"metric": "reward", "margin": 0.5, "planned": 200.0}


CHANGED = {"shares", "settled"}  # what a guardrail does to a plan


class VariantsLoad(Load):
    """Two visits of every user, who like nothing in the variant `new`."""

    own = "b"

    def __init__(self, url: str, place: str, tally: Tally, archive: Path) -> None:
        super().__init__(url, place, tally)
        self.where = {"experiments": ("load:old", "load:new"), "archive": archive}
        self.homes: defaultdict[str, set[str]] = defaultdict(set)
        self._visits = count()

    def enter(self, client: Client) -> Any:
        """What the scenario has made."""
        return client.experiment("load", ranking=())

    def user(self, number: int) -> str:
        """Another one after two visits."""
        return f"u{next(self._visits) // 2}"

    def feeling(self, decision: Any, draw: random.Random) -> float:
        """The variant is that of the visit's first decision, whatever happens."""
        self.homes[decision.visit].add(decision.variant)
        return 0.0 if decision.variant == "new" else float(draw.random() < 0.8)

    def look(self, store: Store) -> None:
        """Each visit was in one variant, and the guardrail has acted once."""
        moved = sum(len(found) > 1 for found in self.homes.values())
        self.tally.expect(not moved, f"{moved} visits were in two variants")
        edits = store.series(Edit, "load", limit=1000)
        acted = [
            e for e in edits if e.actor == "guardrail" and CHANGED & json.loads(e.detail).keys()
        ]
        self.tally.expect(len(acted) == 1, f"the guardrail has acted {len(acted)} times")


@contextmanager
def hook() -> Iterator[tuple[str, list[Any]]]:
    """The address of a webhook, and what it was told."""
    told: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        server.server_close()


def kill_variants(
    ground: Ground, tally: Tally, seconds: float, kind: str, many: int = 1, action: str = "holdout"
) -> None:
    """Kill the service until its guardrail has acted, and then some more; visits are archived."""
    place, port, draw = ground.store(kind), quiet_port(), random.Random(many)
    archive = ground.folder / f"archive-{port}"
    url, end, kills = f"http://127.0.0.1:{port}", time.monotonic() + seconds, 0
    with hook() as (address, told):
        options = [
            "--port", str(port), "--webhook", address, "--archive", str(archive),
            "--keep-days", "0", *(["--workers", str(many)] if many > 1 else []),
        ]  # fmt: skip
        with ground.serve(tally, place, *options) as server:
            given = {**GIVEN, "guardrail": {**RULE, "action": action}}
            made = server.call("PUT", "/v1/experiments/load/variants", given)[0]
            tally.expect(made == 201, f"PUT variants answers {made}")
        with VariantsLoad(url, place, tally, archive) as load:
            while kills < 2 or time.monotonic() < end or not told:
                with ground.serve(tally, place, *options) as server:
                    load.run_for(draw.uniform(*LIFE))
                    if kills == 1:
                        server.call("PUT", "/v1/experiments/load/shares", {"shares": {"new": 0.6}})
                    if not told and time.monotonic() > end:
                        until(lambda: told, 30.0)
                        tally.expect(bool(told), "the webhook was not told")
                    crew = workers(server.process.pid) if many > 1 else []
                    server.stop(signal.SIGKILL)
                    kill(crew)
                    kills += 1
                if time.monotonic() > end + 60.0:
                    break
            with ground.serve(tally, place, *options) as server:
                load.more(50)
                load.finish()
                shown = server.call("GET", "/v1/experiments/load/variants")[1]
                kept = shown["exploring"]["new"] if action != "holdout" else shown["shares"]["new"]
                tally.expect(not kept, "the guardrail was forgotten")
    tally.note = f"{kills} kills, webhook told {len(told)} times"


SCENARIOS = {
    "variants-sqlite": (partial(kill_variants, kind="sqlite"), 25),
    "variants-stop-exploring": (partial(kill_variants, kind="sqlite", action="stop exploring"), 15),
    "variants-postgres-2": (partial(kill_variants, kind="postgres", many=2), 30),
}

"""The examples: of docs/client.md and of examples/live, TypeScript among them."""

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import serving
from cutting import cutting

import sojourn as sj
from benchmarks.drive.__main__ import main as run_drive
from sojourn.client import Client

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "live"
ARMS = ["dance", "cooking", "news"]


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Server]:
    with serving.serve("memory://") as server:
        yield server


def test_the_example(
    server: serving.Server, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sj, "Experiment", partial(sj.Experiment, compiled=False))
    main = runpy.run_path(str(EXAMPLES / "five_minutes.py"))["main"]
    main(visits=30, store=f"sqlite:///{tmp_path / 'live.db'}")
    main(server.url, visits=30)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[0].startswith("cooking") and lines[3].startswith("cooking")


def test_the_page(server: serving.Server, capsys: Any) -> None:
    """The examples of docs/client.md run, against this server."""
    page = (ROOT / "docs" / "client.md").read_text().replace("http://127.0.0.1:8000", server.url)
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(examples) == 3
    for example in examples:
        exec(compile(example, "client.md", "exec"), {})
    commands = re.findall(r"^python -m benchmarks.drive (.*)$", page, re.M)
    assert len(commands) == 2
    for command in commands:
        small = re.sub(r"--(visits|seconds|processes) \S+", "", command) + " --visits 5"
        assert run_drive(small.split()) == 0
        assert "regret, by gaps" in capsys.readouterr().out


DRIVER = """
import { Feed, ServiceError, leaveWithPage } from "./feed.js";

const [url, cut] = process.argv.slice(2);
const feed = new Feed({ url: cut, experiment: "front end", user: "u42", retries: 20 });
const page = new EventTarget();
leaveWithPage(feed, page);
const visit = feed.visit;
const first = await feed.next();
const [second, third] = await Promise.all([feed.next(1), feed.next(0)]);
const steps = [first, second, third].map((d) => d.step);
const same = [first, second, third].every((d) => d.visit === visit);
page.dispatchEvent(new Event("pagehide"));
await new Promise((done) => setTimeout(done, 700));
const straight = new Feed({ url, experiment: "front end" });
await straight.next();
await straight.next(1);
const closed = straight.visit;
await straight.leave(1);
const fresh = await straight.next(1);
const ended = new Feed({ url, experiment: "front end" });
await ended.next();
await fetch(`${url}/v1/experiments/front%20end/visits/${ended.visit}/end`, {
  method: "PUT", body: "{}", headers: { "content-type": "application/json" },
});
const after = await ended.next(1);
let refused = "";
try {
  await new Feed({ url, experiment: "nobody" }).next();
} catch (error) {
  refused = error instanceof ServiceError ? error.code : String(error);
}
console.log(JSON.stringify({
  visit, steps, same, closed, another: fresh.visit !== closed, fresh: fresh.step,
  after: after.step, refused,
}));
"""


def test_typescript(server: serving.Server, compiled: Path) -> None:
    """The front end's example has the types it says, and its calls do what they say."""
    with Client(server.url) as client:
        client.experiment("front end", ARMS)
    with cutting(urlsplit(server.url).port or 0, "after", "pass", "before", "pass") as cutter:
        said = run_node(compiled, DRIVER, server.url, cutter.url)
    assert said["steps"] == [1, 2, 3] and said["same"]
    assert said["another"] and said["fresh"] == said["after"] == 1
    assert said["refused"] == "not_found"
    for name in (said["visit"], said["closed"]):
        _, visit = server.call("GET", f"/v1/experiments/front%20end/visits/{name}")
        assert visit["status"] == "left"


AWAY_DRIVER = """
import { Feed } from "./feed.js";

const [url] = process.argv.slice(2);
const [real, clock] = [globalThis.fetch, performance.now.bind(performance)];
let [mode, sent, later] = ["up", 0, 0];
performance.now = () => clock() + later;
globalThis.fetch = async (...given) => {
  sent += 1;
  if (mode === "away") throw new TypeError("refused");
  const response = await real(...given);
  if (mode === "lost") throw new TypeError("cut");
  return mode === "busy" ? new Response("{}", { status: 503 }) : response;
};
const options = { url, experiment: "fallback", retries: 0 };
const feed = new Feed({ ...options, fallback: 9000 });
const visit = feed.visit;
const first = await feed.next();
while (feed.ranking.length === 0) await new Promise((done) => setTimeout(done, 10));
mode = "lost";
const lost = await feed.next(1);
mode = "away";
sent = 0;
const away = [await feed.next(0), await feed.next(0)];
const asked = sent;
later += 5000;
mode = "busy";
away.push(await feed.next(0));
mode = "up";
later += 5000;
const back = [await feed.next(0), await feed.next(1)];
await feed.leave(0);
mode = "away";
const given = new Feed({ ...options, fallback: 100, ranking: ["b", "a"] });
const offline = await given.next();
await given.leave(1);
const unknown = await new Feed({ ...options, fallback: 100 }).next().catch((e) => e.message);
const plain = await new Feed(options).next().catch((e) => e.message);
console.log(JSON.stringify({
  visit, first, lost, away, asked, back, ranking: feed.ranking, offline, unknown, plain,
}));
"""


def test_typescript_while_the_service_is_away(server: serving.Server, compiled: Path) -> None:
    with Client(server.url) as client:
        shorts = client.experiment("fallback", ARMS)
        shorts.warm_start({"dance": (4, 4), "cooking": (400, 300), "news": (400, 200)})
        said = run_node(compiled, AWAY_DRIVER, server.url)
        assert said["ranking"] == list(client.experiment("fallback").ranking)
    assert said["first"]["step"] == 1 and said["first"]["fallback"] is False
    for shown in (said["lost"], *said["away"]):
        assert (shown["arm"], shown["step"], shown["fallback"]) == ("cooking", 0, True)
        assert shown["id"] == f"{said['visit']}:0" and shown["visit"] == said["visit"]
    assert said["asked"] == 0  # just after a call that failed
    assert [(d["step"], d["fallback"]) for d in said["back"]] == [(2, False), (3, False)]
    _, visit = server.call("GET", f"/v1/experiments/fallback/visits/{said['visit']}")
    assert (visit["status"], visit["step"]) == ("left", 3)
    assert said["offline"]["arm"] == "b" and said["unknown"] == said["plain"] == "refused"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with feed.js."""
    folder = tmp_path_factory.mktemp("typescript")
    compile_typescript(folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run_node(folder: Path, script: str, *arguments: str) -> Any:
    """What a script beside feed.js prints."""
    (folder / "driver.js").write_text(script)
    words = ["node", str(folder / "driver.js"), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compile_typescript(folder: Path) -> None:
    """Do what the examples' page says, with the result in this folder."""
    if shutil.which("node") is None:
        pytest.skip("node is not here to run TypeScript")
    (command,) = re.findall(r"^(npx .* tsc -p \.)$", (EXAMPLES / "README.md").read_text(), re.M)
    if shutil.which("npx") is None:
        pytest.skip("npx is not here to compile TypeScript")
    words = [*command.split(), "--outDir", str(folder)]
    done = subprocess.run(words, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    if re.search("npm (error|ERR!) code E", done.stderr):
        pytest.skip(f"npm could not get TypeScript: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr

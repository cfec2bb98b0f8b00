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
from sojourn.cli.main import main as run_cli
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
    commands = re.findall(r"^sojourn (drive .*)$", page, re.M)
    assert len(commands) == 2
    for command in commands:
        small = re.sub(r"--(visits|seconds|processes) \S+", "", command) + " --visits 5"
        assert run_cli(small.split()) == 0
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


def test_typescript(server: serving.Server, tmp_path: Path) -> None:
    """The front end's example has the types it says, and its calls do what they say."""
    compiler = typescript(tmp_path)
    subprocess.run([compiler, "-p", EXAMPLES, "--outDir", tmp_path], check=True)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "driver.js").write_text(DRIVER)
    with Client(server.url) as client:
        client.experiment("front end", ARMS)
    with cutting(urlsplit(server.url).port or 0, "after", "pass", "before", "pass") as cutter:
        done = subprocess.run(
            ["node", tmp_path / "driver.js", server.url, cutter.url],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    said = json.loads(done.stdout)
    assert said["steps"] == [1, 2, 3] and said["same"]
    assert said["another"] and said["fresh"] == said["after"] == 1
    assert said["refused"] == "not_found"
    for name in (said["visit"], said["closed"]):
        _, visit = server.call("GET", f"/v1/experiments/front%20end/visits/{name}")
        assert visit["status"] == "left"


def typescript(folder: Path) -> str:
    """The TypeScript compiler: the machine's own, or else from npm."""
    if shutil.which("node") is None:
        pytest.skip("node is not here to run TypeScript")
    found = shutil.which("tsc")
    if found is not None:
        return found
    if shutil.which("npm") is None:
        pytest.skip("neither tsc nor npm is here to compile TypeScript")
    install = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "typescript@5"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm could not get TypeScript: {done.stderr.strip()[-200:]}")
    return str(folder / "node_modules" / ".bin" / "tsc")

"""The apps of examples/embedding: what docs/embedding.md shows, run by their frameworks."""

import asyncio
import atexit
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import postgres
import pytest
from crashes import wait_until

import sojourn as sj
from sojourn.live import conformance, open_store, verify

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "embedding"
APPS = sorted(path.stem for path in EXAMPLES.glob("*.py"))

Post = Callable[[str, dict[str, Any]], tuple[int, dict[str, Any]]]


def flask_posts(module: Any) -> Iterator[Post]:
    client = module.app.test_client()

    def post(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = client.post(path, json=body)
        return answer.status_code, answer.get_json()

    yield post
    atexit.unregister(module.shorts.close)
    module.shorts.close()


def django_posts(module: Any) -> Iterator[Post]:
    from django.test import Client

    client = Client()

    def post(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = client.post(path, data=body, content_type="application/json")
        return answer.status_code, answer.json()

    yield post
    atexit.unregister(module.shorts().close)
    module.shorts().close()


def fastapi_posts(module: Any) -> Iterator[Post]:
    transport = httpx.ASGITransport(module.app, raise_app_exceptions=False)
    with asyncio.Runner() as runner:
        life = module.life(module.app)
        runner.run(life.__aenter__())

        async def send(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
                answer = await client.post(path, json=body)
                return answer.status_code, answer.json()

        yield lambda path, body: runner.run(send(path, body))
        runner.run(life.__aexit__(None, None, None))


@pytest.fixture(params=APPS)
def post(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Post]:
    monkeypatch.setattr(sj, "Experiment", partial(sj.Experiment, compiled=False))
    monkeypatch.setenv("SOJOURN_STORE", f"sqlite:///{tmp_path}/live.db")
    monkeypatch.syspath_prepend(EXAMPLES)
    module = import_module(request.param)
    posts = {"flask_app": flask_posts, "django_app": django_posts, "fastapi_app": fastapi_posts}
    yield from posts[request.param](module)


def test_an_app(post: Post, tmp_path: Path) -> None:
    first = post("/next", {"visit": "v1", "step": 1, "user": "u42"})
    assert first[0] == 200 and first[1]["show"] in ("dance", "cooking", "news")
    assert post("/next", {"visit": "v1", "step": 1}) == first  # a retry gets the same answer
    second = post("/next", {"visit": "v1", "step": 2, "reward": 1})
    assert second[0] == 200
    assert post("/next", {"visit": "v1", "step": 2, "reward": 1}) == second
    assert post("/next", {"visit": "v1", "step": 9})[0] == 409
    assert post("/next", {"visit": "v1", "step": 3, "reward": 7})[0] == 422
    assert post("/next", {"visit": "v2", "step": 2})[0] == 404
    assert post("/leave", {"visit": "v1", "reward": 0}) == (200, {"left": True})
    assert post("/leave", {"visit": "v1"}) == (200, {"left": False})
    status, refusal = post("/next", {"visit": "v1", "step": 3})
    assert status == 410 and "v1" in refusal["error"]

    store = open_store(f"sqlite:///{tmp_path}/live.db", read_only=True)
    assert verify(store, "shorts") == {}
    _, events = conformance.all_of(store, "shorts")
    kinds = ["open", "decide", "resolve", "decide", "resolve", "leave"]
    assert [event.kind for event in events] == kinds
    store.close()


@pytest.mark.parametrize("app", APPS)
def test_the_page_shows_the_apps(app: str) -> None:
    page = (ROOT / "docs" / "embedding.md").read_text()
    source = (EXAMPLES / f"{app}.py").read_text()
    assert f"```python\n{source}```\n" in page


PRELOADED = """
    from functools import partial
    import sojourn as sj
    sj.Experiment = partial(sj.Experiment, compiled=False)
    from flask_app import app, shorts

    @app.get("/writer")
    def writer():
        return {"writer": shorts.journal.store.writer}
"""


def test_gunicorn_with_preload_and_postgresql(tmp_path: Path) -> None:
    """Two workers forked from a master that has opened the experiment: each opens its own."""
    (tmp_path / "preloaded.py").write_text(dedent(PRELOADED))
    socket = tmp_path / "app.sock"
    with postgres.server() as url:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(sj.__file__).parents[1]), str(EXAMPLES)]),
            "SOJOURN_STORE": url,
            "XDG_RUNTIME_DIR": str(tmp_path),
        }
        command = ["-m", "gunicorn", "--preload", "--workers=2", "--threads=4", "preloaded:app"]
        server = subprocess.Popen(
            [sys.executable, *command, f"--bind=unix:{socket}"],
            cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until(socket.exists)
            writers = set()
            for n in range(200):
                for step in (1, 2):
                    body = {"visit": f"v{n}", "step": step, "reward": None if step == 1 else 1}
                    assert call(socket, "POST", "/next", body)["show"]
                writers.add(call(socket, "GET", "/writer")["writer"])
                if n >= 5 and len(writers) == 2:
                    break
            assert len(writers) == 2
        finally:
            server.terminate()
            code = server.wait(30)
        store = open_store(url, read_only=True)
        assert code == 0
        assert verify(store, "shorts") == {}
        _, events = conformance.all_of(store, "shorts")
        assert sum(event.kind == "decide" for event in events) == 2 * (n + 1)
        store.close()


def call(socket: Path, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """On a connection of its own, which any worker may take."""
    transport = httpx.HTTPTransport(uds=str(socket), verify=False)
    with httpx.Client(transport=transport, verify=False, timeout=60) as client:
        answer = client.request(method, f"http://app{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

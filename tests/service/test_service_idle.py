"""Experiments that nobody asks for cost little: they are opened late, rest, and share pages."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from asgi import client
from postgres import database, server

from sojourn.live import Experiment, Journal, open_store
from sojourn.policies import Uniform
from sojourn.service import catalog as catalogs, metrics
from sojourn.service.auth import keys

ARMS = ["a", "b"]
UP = "/v1/experiments"


def until(good: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    end = time.monotonic() + 60.0
    while not good():
        assert time.monotonic() < end
        time.sleep(0.02)


def fill(url: str, names: list[str], **settings: Any) -> None:
    """Experiments of another process, each with an open visit."""
    with Journal(url, upkeep=False) as journal:
        for name in names:
            settings = {"policy": Uniform(), "compiled": False, **settings}
            experiment = Experiment(name, ARMS, store=journal, **settings)
            experiment.visit(id="before").choose()


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'live.db'}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield database(url, "idle")


def test_experiments_are_opened_when_they_are_asked_for(place: str) -> None:
    names = [f"e{n:02d}" for n in range(45)]
    fill(place, names)
    with client(store=place) as http:
        opened = http.app.state.catalog.experiments
        assert not opened
        assert http.get(UP).json()["experiments"] == names and not opened
        assert http.post(f"{UP}/e07/visits/before/step", json={"reward": 1}).status_code == 200
        assert list(opened) == ["e07"]
        first, last = http.get("/").text, http.get("/?page=3").text
        assert len(opened) == 20 + 5
        shown = [re.findall(r'href="/experiments/(e\d\d)"', text) for text in (first, last)]
        assert shown == [names[:20], names[40:]]
        assert "page 1 of 3" in first and 'href="/?page=2" rel="next"' in first
        assert 'href="/?page=2" rel="prev"' in last and 'rel="next"' not in last
        found = http.get("/?q=E4").text
        assert re.findall(r'href="/experiments/(e\d\d)"', found) == names[40:]
        assert "5 of 45 experiments have “E4” in their name" in found
        assert "No arm" not in http.get("/?q=nothing").text


def test_a_key_for_an_experiment_finds_its_variants_after_a_restart(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'live.db'}"
    _, token = keys.make(tmp_path / "keys.json", ["shorts"])
    signed = {"headers": {"authorization": f"Bearer {token}"}}
    variants = {"old": {"share": 0.5}, "new": {"share": 0.5}}
    body = {"arms": ARMS, "variants": variants, "holdout": "old"}
    fill(place, ["other"])
    for _ in range(2):
        with client(store=place, keys=tmp_path / "keys.json") as http:
            answer = http.put(f"{UP}/shorts/variants", json=body, **signed)
            assert answer.status_code in (200, 201)
            listed = http.get(UP, **signed).json()["experiments"]
            assert listed == ["shorts", "shorts:new", "shorts:old"]


def test_overdue_visits_of_what_nobody_asks_for_time_out(place: str) -> None:
    fill(place, ["late"], idle_timeout=0.1)
    fill(place, ["in time"])
    with client(store=place) as http, closing(open_store(place, read_only=True)) as store:
        until(lambda: store.visits("late", ids=["before"])[1][0].status != "open")
        assert list(http.app.state.catalog.experiments) == ["late"]
        assert store.visits("in time", ids=["before"])[1][0].status == "open"


def test_upkeep_asks_once_for_what_is_overdue(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many experiments there are: no query by experiment."""
    fill(place, [f"e{n}" for n in range(20)])
    asked, looked = list[Any](), threading.Event()
    with Journal(place) as journal:
        read = journal.store.read

        def counted(*given: Any, **options: Any) -> Any:
            asked.append((given, options))
            looked.set()
            return read(*given, **options)

        for n in range(20):
            Experiment.open(f"e{n}", journal, compiled=False)
        monkeypatch.setattr(journal.store, "visits", lambda *_, **__: pytest.fail("a sweep"))
        monkeypatch.setattr(journal.store, "read", counted)
        assert looked.wait(60.0)
        assert set(map(str, asked)) == {"((), {'counts': False, 'overdue': True})"}


def test_what_rests_is_refreshed_before_it_is_used(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upkeep reads what is in use only; a call sees what another process has changed meanwhile."""
    names = [f"e{n}" for n in range(6)]
    fill(postgres, names)
    monkeypatch.setattr(catalogs, "ROUND", 0.05)
    with client(store=postgres) as http:
        catalog = http.app.state.catalog
        for name in names:
            assert http.post(f"{UP}/{name}/visits/v/decisions", json={"opening": {}}).is_success
        assert len(catalog.journal._members) == 6
        monkeypatch.setattr(catalogs, "REST", 0.2)
        until(lambda: catalog.resting == set(names))
        assert not catalog.journal._members
        with Experiment("e3", [*ARMS, "c"], Uniform(), store=postgres, compiled=False) as other:
            for arm in ARMS:
                other.retire_arms(arm)
        monkeypatch.setattr(catalogs, "REST", 60.0)
        answer = http.post(f"{UP}/e3/visits/w/decisions", json={"opening": {}})
        assert answer.json()["arm"] == "c"
        assert catalog.resting == {*names} - {"e3"} and len(catalog.journal._members) == 1
        with Experiment.open("e4", postgres, compiled=False) as other:
            other.drop()
        assert http.post(f"{UP}/e4/visits/w/decisions", json={"opening": {}}).status_code == 404
        assert http.get(f"{UP}/e4").status_code == 404
        assert http.delete(f"{UP}/e5").is_success and http.get(f"{UP}/e5").status_code == 404


def test_the_page_of_metrics_has_the_latest_experiments(place: str) -> None:
    fill(place, [f"e{n:03d}" for n in range(metrics.MOST + 20)])
    with client(store=place) as http:
        assert http.put(f"{UP}/none", json={"arms": ARMS}).status_code == 201
        assert http.post(f"{UP}/e000/visits/now/decisions", json={"opening": {}}).is_success
        page = http.get("/metrics").text
        shown = re.findall(r'^sojourn_steps_total\{experiment="(.*)"\}', page, re.MULTILINE)
        assert len(shown) == metrics.MOST and {"e000", "e083"} <= {*shown} and "none" not in shown
        assert len(page) < 100_000
        assert "sojourn_interpreted_experiments 2.0" in page


def test_pages_say_whether_decisions_are_compiled(place: str) -> None:
    with client(store=place) as http:
        assert http.put(f"{UP}/shorts", json={"arms": ARMS}).status_code == 201
        assert "Decisions are interpreted, and slower." in http.get("/experiments/shorts").text
        http.app.state.catalog.experiments["shorts"].operations.learner.runner.mode = "compiled"
        time.sleep(1.1)  # a page is reused for a second
        assert "Decisions are compiled." in http.get("/experiments/shorts").text
        assert "sojourn_interpreted_experiments 0.0" in http.get("/metrics").text

"""What people type first works, or says in one sentence what to type instead."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from asgi import client
from commands import Run

import sojourn as sj
from sojourn.cli.serve import NEEDED
from sojourn.live import NotFound, open_store
from sojourn.service.options import Options

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize("store", ["live.db", Path("live.db"), "/data/live.db"])
def test_the_path_of_a_file_is_no_address_and_the_address_is_told(store: Any) -> None:
    sentence = f"store = '{store}' is not allowed: for a SQLite file it is 'sqlite:///{store}'"
    for attempt in (lambda: sj.Experiment("e", ["a"], store=store), lambda: open_store(store)):
        with pytest.raises(ValueError) as refused:
            attempt()
        assert str(refused.value) == sentence


def test_serve_says_it_too(run: Run) -> None:
    done = run("serve", "--store", "live.db", "--port", "0")
    assert done.code == 2 and "it is 'sqlite:///live.db'" in done.err
    assert done.err.count("\n") == 1 and not Path("live.db.lock").exists()


def test_a_demonstration_is_not_kept_among_real_visits(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores: list[str] = []

    def served(options: Options, say: Any) -> None:
        stores.append(options.store)

    monkeypatch.setattr("sojourn.service.server.run", served)
    monkeypatch.setenv("SOJOURN_STORE", "sqlite:///real.db")
    for words in (["--demo"], ["--demo", "--store", "sqlite:///mine.db"], []):
        assert run("serve", *words).code == 0
    assert stores == ["memory://", "sqlite:///mine.db", "sqlite:///real.db"]


def test_the_extra_for_serving_brings_what_its_first_commands_need() -> None:
    extras = tomllib.loads((HERE / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(extras["client"]) <= set(extras["serve"])
    served = {line.split(">")[0].split("[")[0].replace("-", "_") for line in extras["serve"]}
    assert set(NEEDED) <= served


def test_a_reward_before_the_first_choice_says_what_to_do() -> None:
    sentence = "has no step yet for a reward: choose an arm first"
    with sj.Experiment("e", ["a", "b"], compiled=False) as shorts:
        visit = shorts.visit()
        for attempt in (visit.choose, visit.reward, visit.end):
            with pytest.raises(NotFound, match=sentence):
                attempt(1)
        assert visit.choose() == "a"
    with client() as http:
        http.put("/v1/experiments/e", json={"arms": ["a", "b"]})
        http.put("/v1/experiments/e/visits/v", json={})
        answer = http.post("/v1/experiments/e/visits/v/step", json={"reward": 1})
        assert answer.status_code == 404 and sentence in answer.json()["detail"]

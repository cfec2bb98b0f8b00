"""Operators' routes and commands: drop, erase, archive, and who changed what."""

import json
import time
from pathlib import Path

import pytest
from asgi import Caller, client

import sojourn as sj
from sojourn.cli.main import main
from sojourn.live import Experiment, Part, open_store
from sojourn.service.auth import keys
from sojourn.service.options import Options
from sojourn.service.routes import operations

SHORTS = "/v1/experiments/shorts"
PLAIN = {"arms": ["a", "b"], "policy": {"name": "Uniform"}}


def visit(http: Caller, name: str, user: str = "u42", **options: object) -> None:
    at = f"{SHORTS}/visits/{name}"
    assert http.put(at, json={"user": user}, **options).status_code == 201
    assert http.post(f"{at}/decisions", json={}, **options).status_code == 200
    assert http.put(f"{at}/end", json={"reward": 1}, **options).json() == {"ended": True}


def test_drop_erase_and_the_log_of_changes(tmp_path: Path) -> None:
    operator, _ = keys.make(tmp_path / "keys.json", ["*"], role="operator")
    with client(keys=tmp_path / "keys.json") as http:
        token = keys.make(tmp_path / "keys.json", ["*"], role="operator")[1]
        http.app.state.keyring._due = 0.0
        signed = {"headers": {"authorization": f"Bearer {token}"}}
        assert http.put(SHORTS, json=PLAIN, **signed).status_code == 201
        assert http.post(f"{SHORTS}/arms", json={"arms": ["c"]}, **signed).status_code == 200
        assert http.put(SHORTS, json=PLAIN, **signed).status_code == 200  # changes nothing
        visit(http, "v1", **signed)
        visit(http, "v2", "anna", **signed)
        erased = http.delete("/v1/users/anna", **signed)
        assert (erased.status_code, erased.json()) == (200, {"visits": 1, "archived": 0})
        assert http.get(f"{SHORTS}/visits/v2", **signed).json()["user"] is None
        assert http.get(f"{SHORTS}/visits/v1", **signed).json()["user"] == "u42"
        dropped = http.delete(SHORTS, **signed)
        assert (dropped.status_code, dropped.json()) == (
            200,
            {"dropped": "shorts", "removed_files": 0, "kept_files": 0},
        )
        for method, path, body in (
            ("GET", SHORTS, None), ("DELETE", SHORTS, None),
            ("POST", f"{SHORTS}/visits/v1/decisions", {}),
        ):  # fmt: skip
            answer = http.request(method, path, json=body, **signed)
            assert answer.status_code == 404, (method, path, answer.text)
        changes = http.get("/v1/changes", **signed).json()["changes"]
        who = token.split("_")[1]
        assert [(c["actor"], c["experiment"], c["what"]) for c in changes] == [
            (who, "shorts", "dropped"), (who, "", "erased a user"), (who, "shorts", "changed"),
            (who, "shorts", "created"),
        ]  # fmt: skip
        assert json.loads(changes[2]["detail"]) == {"arms": {"c": {}}}
        assert "anna" not in json.dumps(changes)
        one = http.get("/v1/changes?limit=1&experiment=shorts", **signed).json()["changes"]
        assert one == changes[:1] and operator.id != who
        assert http.put(SHORTS, json=PLAIN, **signed).status_code == 201  # the name is free
        assert http.get(SHORTS, **signed).json()["arms"][0]["pulls"] == 0
        for path in ("/v1/changes?limit=0", "/v1/changes?limit=x"):
            assert http.get(path, **signed).status_code == 422


def test_the_service_archives_what_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also after a time in which the folder could not be written to."""
    monkeypatch.setattr(operations, "ROUND", 0.05)
    folder = tmp_path / "archive"
    folder.touch()
    with client(archive=folder, keep_days=0.0) as http:
        assert http.put(SHORTS, json=PLAIN).status_code == 201
        visit(http, "v1")
        store, end = http.app.state.catalog.journal.store, time.monotonic() + 30.0
        while "archive: " not in caplog.text and time.monotonic() < end:
            time.sleep(0.02)
        folder.unlink()
        while not store.series(Part, None) and time.monotonic() < end:
            time.sleep(0.02)
        assert [part.visits for part in store.series(Part, None)] == [1]
        assert http.delete("/v1/users/u42").json() == {"visits": 0, "archived": 1}
        assert http.get(f"{SHORTS}/visits/v1").status_code == 404
        assert http.get(SHORTS).json()["arms"][0]["pulls"] in (0, 1)
        assert http.delete(SHORTS).status_code == 200
        assert not list(folder.rglob("*.parquet"))


def test_options_of_the_archive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--keep-days 30 needs a folder for older visits"):
        Options(keep_days=30)
    with pytest.raises(ValueError, match="--keep-days"):
        Options(keep_days=-1, archive=tmp_path)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live, to = str(tmp_path / "live.db"), str(tmp_path / "archive")
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{live}", compiled=False
    ) as news:
        for number in range(4):
            shown = news.visit(user=f"u{number % 2}")
            shown.choose()
            shown.end(1)
        for words, instead in {
            ("store", "archive", live): "sojourn serve --archive FOLDER --keep-days DAYS",
            ("store", "drop", live, "news", "--yes"): "DELETE /v1/experiments/news",
            ("store", "erase", live, "u1"): "DELETE /v1/users/u1",
        }.items():
            assert main(words) == 2
            error = capsys.readouterr().err
            assert error == f"error: a server is using the file: use {instead}\n"
    assert main(["store", "archive", live, "--to", live, "--older-than", "0"]) == 2
    assert f"{live} cannot be used (" in capsys.readouterr().err
    assert main(["store", "archive", live, "--to", to, "--older-than", "0", "--shrink"]) == 0
    assert capsys.readouterr().out.split()[4:] == ["news", "4", "16", "1"]
    for words in (["store", "verify", live], ["store", "verify", live, "--archive", to]):
        assert main(words) == 0
        assert "1 experiment: all sums agree with the events" in capsys.readouterr().out
    steps = str(tmp_path / "steps.csv")
    assert main(["store", "export", live, "news", steps, "--archive", to]) == 0
    assert "4 steps of news" in capsys.readouterr().out
    assert main(["store", "erase", live, "u1"]) == 0
    assert "give its folder with --archive" in capsys.readouterr().err
    assert main(["store", "erase", live, "u1", "--archive", to, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"visits": 0, "archived": 2}
    assert main(["store", "drop", live, "news"]) == 2
    assert "add --yes to confirm" in capsys.readouterr().err
    assert main(["store", "drop", live, "news", "--yes", "--archive", to]) == 0
    assert not list((tmp_path / "archive").rglob("*.parquet"))
    said = capsys.readouterr().out
    assert said == "news: dropped\narchive files deleted: 1\n"
    assert main(["store", "audit", live, "--json"]) == 0
    assert [edit["what"] for edit in json.loads(capsys.readouterr().out)] == [
        "dropped", "erased a user", "erased a user", "created",
    ]  # fmt: skip
    assert main(["store", "audit", live, "news"]) == 0
    assert "dropped" in capsys.readouterr().out
    for words, sentence in (
        (
            ["store", "drop", live, "nothing", "--yes"],
            "there is no experiment 'nothing' in the store",
        ),
        (["store", "archive", live, "nothing"], "there is no experiment 'nothing' in the store"),
        (["store", "archive", live, "--older-than", "-1"], "--older-than = -1.0 is not allowed"),
        (["store", "archive", str(tmp_path / "none.db")], "there is no file"),
        (["store", "audit", live, "a", "b"], "expected one experiment or none, but got 2"),
        (["store", "audit", live, "--last", "0"], "--last = 0 is not allowed"),
    ):
        assert main(words) == (1 if "no experiment" in sentence else 2)
        assert sentence in capsys.readouterr().err
    store = open_store(f"sqlite:///{live}", read_only=True)
    assert list(store.read()) == []
    store.close()

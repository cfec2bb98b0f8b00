"""The page about the service: its examples are played, its tables compared with the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from asgi import client

from sojourn.cli.main import app, main
from sojourn.service.app import Options, create
from sojourn.service.errors import WORDS

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
BLOCK = re.compile(r"```http\n(\w+) (\S+)\n(.*?)\n?\n(\d+)\n(.*?)\n```", re.DOTALL)


def shown(part: Any, whole: Any) -> bool:
    """Whether the fields that are shown are as they are."""
    if isinstance(part, dict):
        return all(name in whole and shown(part[name], whole[name]) for name in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(shown, part, whole))
    return bool(part == whole)


def test_examples() -> None:
    examples = BLOCK.findall(PAGE)
    assert len(examples) == PAGE.count("```http")
    with client() as http:
        for method, path, body, status, answer in examples:
            given = {"json": json.loads(body)} if body.strip() else {}
            got = http.request(method, path, **given)
            assert got.status_code == int(status), (path, got.text)
            assert shown(json.loads(answer), got.json()), (path, got.json())
        named = set(re.findall(r"`(sojourn_\w+?)(?:_total)?`", PAGE))
        told = set(re.findall(r"# TYPE (sojourn_\w+?)(?:_total)? ", http.get("/metrics").text))
        assert named == told


def test_every_call_has_an_example() -> None:
    """All but one of the signs of life, which are alike."""
    played = [(method.lower(), path.partition("?")[0]) for method, path, *_ in BLOCK.findall(PAGE)]
    for path, calls in create(Options(store="memory://")).openapi()["paths"].items():
        pattern = re.sub(r"\{\w+\}", "[^/]+", path)
        for method in calls:
            found = any(m == method and re.fullmatch(pattern, p) for m, p in played)
            assert found or path == "/healthz", (method, path)


def test_statuses() -> None:
    table = dict(re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, re.MULTILINE))
    assert table.keys() == {str(status) for status in WORDS}
    for status, word in WORDS.items():
        assert f"`{word}`" in table[str(status)]


def test_variables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table has every option with its variable; a sentence about a wrong value names it."""
    rows = re.findall(r"^\| (`SOJOURN_.*?) \| (`--.*?) \|", PAGE, re.MULTILINE)
    table = {}
    for variables, names in rows:
        table |= dict(zip(variables.split(", "), names.split(", "), strict=True))
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    shown = [o for o in command.params if o.name != "help" and not o.hidden]
    assert table == {f"`{o.envvar}`": f"`{o.opts[0]}`" for o in shown}
    for name, value in {
        "HOST": "0.0.0.0", "PORT": "99999", "WORKERS": "none", "KEYS": "/none.json", "RATE": "0",
        "CONNECTIONS": "0", "PEER_CONNECTIONS": "0", "HEADER_WAIT": "0", "BODY_WAIT": "soon",
        "ALLOW_ORIGIN": "https://a.example b", "DEMO": "perhaps", "LOG_FORMAT": "xml",
        "LOG_LEVEL": "loud", "DEADLINE": "0", "WEBHOOK": "ftp://a", "KEEP_DAYS": "-1", "STORE": "mysql://a",
    }.items():  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setenv(f"SOJOURN_{name}", value)
            more = [] if name == "STORE" else ["--store", "memory://"]
            assert main(["serve", *more]) == 2, name
            said = capsys.readouterr().err
            assert f"SOJOURN_{name}" in said and said.count("\n") == 1

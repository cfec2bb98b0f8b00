"""The container files: they parse, and name commands and options that exist."""

import json
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from sojourn.cli.main import app
from sojourn.live import experiment as experiments

HOME = Path(__file__).parents[2]
CONTAINER = (HOME / "deploy" / "Containerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((HOME / "deploy" / "compose.yaml").read_text())
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options(command: str) -> set[str]:
    return {word for option in COMMANDS[command].params for word in option.opts}


def check_words(words: list[str]) -> None:
    """A command line of ours: the command is known, and so is each option."""
    command, *rest = words
    given = {word for word in rest if word.startswith("--")}
    assert given and given <= options(command)


def lines(keyword: str) -> list[str]:
    text = CONTAINER.replace("\\\n", " ")
    return [m.strip() for m in re.findall(rf"^{keyword} (.*)$", text, re.MULTILINE)]


def test_the_containers_start_what_there_is() -> None:
    (command,) = lines("CMD")
    check_words(json.loads(command))
    check_words(COMPOSE["services"]["sojourn"]["command"])
    assert json.loads(lines("ENTRYPOINT")[0]) == ["sojourn"]


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert lines("USER") == ["sojourn"] and lines("STOPSIGNAL") == ["SIGTERM"]
    for copied in lines("COPY"):
        sources = [word for word in copied.split()[:-1] if not word.startswith("--")]
        assert all((HOME / source).exists() for source in sources)
    (check,) = lines("HEALTHCHECK")
    program = json.loads(check.partition("CMD")[2])
    compile(program[2], "healthcheck", "exec")
    assert program[:2] == ["python", "-c"] and "/readyz" in program[2]


def test_compose_is_complete() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"postgres", "sojourn"}
    for service in services.values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        for volume in service["volumes"]:
            assert volume.split(":")[0] in COMPOSE["volumes"]
    ours = services["sojourn"]
    build = ours["build"]
    assert (HOME / "deploy" / build["context"] / build["dockerfile"]).exists()
    assert ours["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert "healthcheck" in services["postgres"]
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    assert "password" not in json.dumps(ours["environment"]).lower()
    assert ours["environment"]["SOJOURN_STORE"].startswith("postgresql://")
    shell, option, script, name = ours["entrypoint"]
    assert (shell, option, name) == ("sh", "-c", "sojourn")
    subprocess.run(["sh", "-n", "-c", script.replace("$$", "$")], check=True)


def test_warming_goes_through_every_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreted here: what is compiled is compiled by other tests."""
    served = []

    class Quick(experiments.Experiment):
        def __init__(self, name: str, arms: list[str], policy: Any) -> None:
            super().__init__(name, arms, policy, compiled=False)
            served.append(type(policy))

    monkeypatch.setattr("sojourn.live.Experiment", Quick)
    found = runpy.run_path(str(HOME / "deploy" / "warm.py"))
    assert served == list(found["sj"].ALL)

"""The container files and the unit: they parse, and name commands and options that exist."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from sojourn.cli.main import app
from sojourn.live import experiment as experiments
from sojourn.service import telemetry
from sojourn.service.options import Options

HOME = Path(__file__).parents[2]
CONTAINER = (HOME / "deploy" / "Containerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((HOME / "deploy" / "compose.yaml").read_text())
UNIT = HOME / "deploy" / "systemd" / "sojourn.service"
PAGE = (HOME / "docs" / "operations.md").read_text()
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def check_words(words: list[str]) -> None:
    """A command line of ours: the command is known, and so is each option."""
    command, *rest = words
    found = COMMANDS[command]
    if hasattr(found, "commands"):
        found, rest = found.commands[rest[0]], rest[1:]
    given = {word for word in rest if word.startswith("--")}
    assert given <= {word for option in found.params for word in option.opts}


def slowest_end() -> float:
    """Seconds from SIGTERM to the end: calls under way, what is queued, spans."""
    options = Options(store="memory://")
    return options.patience + options.deadline + telemetry.PATIENCE


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
    (environment,) = lines("ENV")
    assert f"SOJOURN_PEER_CONNECTIONS={Options(store='memory://').connections}" in environment
    for copied in lines("COPY"):
        sources = [word for word in copied.split()[:-1] if not word.startswith("--")]
        assert all((HOME / source).exists() for source in sources)
    (check,) = lines("HEALTHCHECK")
    program = json.loads(check.partition("CMD")[2])
    compile(program[2], "healthcheck", "exec")
    assert program[:2] == ["python", "-c"] and "/readyz" in program[2]
    assert COMPOSE["services"]["sojourn"]["healthcheck"]["test"] == ["CMD", *program]


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
    assert ours["read_only"] is True and ours["tmpfs"] == ["/tmp"]  # metrics of workers, .pgpass
    assert ours["ulimits"]["nofile"] >= 65536
    assert int(ours["stop_grace_period"].rstrip("s")) > slowest_end()
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
    assert served == list(found["sj"].policies.ALL)


def commands(tool: str) -> list[list[str]]:
    """The calls of a tool in the page's blocks, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    found = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in found if line.startswith(f"{tool} ")]


def test_the_page_runs_containers_that_can_read_their_keys_and_tell_their_health() -> None:
    (build,) = [words for words in commands("podman") if words[1] == "build"]
    assert build[build.index("--format") + 1] == "docker"  # that of OCI has no health check
    assert (HOME / build[build.index("-f") + 1]).exists()
    (uid,) = re.findall(r"--uid (\d+)", CONTAINER)
    runs = [words for words in commands("podman") if words[1] == "run"]
    served = [words for words in runs if "keys" not in words]
    assert len(served) == 2
    for words in runs:
        image = max(i for i, word in enumerate(words) if word == "sojourn")
        mounted = [words[i + 1] for i, word in enumerate(words) if word == "-v"]
        assert mounted == ["live:/var/lib/sojourn"]  # no file of the host, with its owner and mode
        if words[image + 1 :]:
            check_words(words[image + 1 :])
    for words in served:
        assert "--read-only" in words and words[words.index("--tmpfs") + 1] == "/tmp"
    own, secret = served
    assert own[own.index("--keys") + 1] in runs[0]  # made by the command before, in the volume
    name, *rights = secret[secret.index("--secret") + 1].split(",")
    assert set(rights) == {f"uid={uid}", "mode=0400"}
    (command,) = lines("CMD")
    assert f"/run/secrets/{name}" in json.loads(command)
    (listing,) = [words for words in commands("podman") if words[1] == "exec"]
    check_words(listing[4:])


def unit() -> dict[str, str]:
    text = UNIT.read_text()
    return dict(re.findall(r"^([A-Za-z]+)=(.*)$", text, re.MULTILINE))


def test_the_unit_starts_what_there_is() -> None:
    found = unit()
    program, *words = shlex.split(found["ExecStart"])
    assert Path(program).name == "sojourn"
    check_words(words)
    assert int(found["LimitNOFILE"]) >= 65536
    peers = int(words[words.index("--peer-connections") + 1])
    assert peers == Options(store="memory://").connections  # behind a proxy
    assert int(found["TimeoutStopSec"]) > slowest_end()
    assert "MemoryDenyWriteExecute" not in found  # the compiler needs such pages
    cache = found["Environment"].partition("NUMBA_CACHE_DIR=")[2]
    assert cache == f"/var/cache/{found['CacheDirectory']}"  # writable under ProtectSystem=strict
    keys = Path(words[words.index("--keys") + 1])
    assert str(keys.parent) == f"/var/lib/{found['StateDirectory']}" == found["WorkingDirectory"]
    assert "deploy/systemd/sojourn.service" in PAGE
    (made,) = re.findall(r"sojourn (keys new .*)", UNIT.read_text())
    check_words(shlex.split(made))
    assert str(keys) in made


def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    """By systemd itself where it is installed; a line it does not know is a warning there."""
    sections = re.findall(r"^\[(\w+)\]$", UNIT.read_text(), re.MULTILINE)
    assert sections == ["Unit", "Service", "Install"]
    tool = shutil.which("systemd-analyze")
    if tool is None:
        return
    copy = tmp_path / "sojourn.service"
    copy.write_text(UNIT.read_text().replace("/opt/sojourn/bin/sojourn", sys.executable))
    said = subprocess.run([tool, "verify", str(copy)], capture_output=True, text=True, timeout=60)
    about = [line for line in said.stderr.splitlines() if "sojourn" in line]
    assert about == []

"""Help: every command has an example that it understands, and help loads no engine."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import Run

import sojourn.cli
from sojourn.cli.arguments import DECLARED
from sojourn.cli.main import app, make_app
from sojourn.logs.reading.spec import BAD, RARE, TIES, LogSpec

HEAVY = ("numba", "ibis", "matplotlib", "sojourn.simulation")


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all commands below it, by the words that name them."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


def example(path: tuple[str, ...]) -> list[str]:
    """The words of a command's example, without `sojourn`; of a pipeline, the first part."""
    words = shlex.split(COMMANDS[path].epilog.removeprefix("Example: "))
    assert words[0] == "sojourn"
    return words[1 : words.index("&&") if "&&" in words else None]


def test_all_commands_are_there() -> None:
    assert {" ".join(path) for path in COMMANDS} >= {
        "", "theory", "limit", "simulate", "recommend", "reproduce", "fit",
        "evaluate", "serve", "keys", "keys new", "keys list", "keys revoke", "store",
        "store verify", "store export", "store backup", "store archive", "store drop",
        "store erase", "store audit", "store warm-start", "monitor", "monitor compare",
        "monitor shadow", "monitor drift",
    }  # fmt: skip
    assert 11 <= len(COMMANDS[()].commands) <= 13


def test_help_shows_the_commands_in_panels(run: Run) -> None:
    headings = ["Options", "Your log", "Live", "Simulate and theory", "Operate"]
    assert re.findall(r"─ ([\w ]+?) ─", run("--help").out) == headings
    assert {c.rich_help_panel for c in COMMANDS[()].commands.values()} == set(headings[1:])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_has_an_example_that_the_command_understands(
    run: Run, path: tuple[str, ...]
) -> None:
    shown = run(*path, "--help")
    assert (shown.code, shown.err) == (0, "")
    words = example(path)
    assert f"Example: sojourn {shlex.join(words)}".split() <= shown.out.split()
    assert tuple(words[: len(path)]) == path
    named = max((p for p in COMMANDS if tuple(words[: len(p)]) == p), key=len)
    COMMANDS[named].make_context("sojourn", words[len(named) :])  # parses, or raises


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_says_what_each_option_is_for(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help
    unexplained = [p.name for p in command.params if not getattr(p, "help", None)]
    assert not unexplained


@pytest.mark.parametrize("path", [(), ("theory",), ("simulate",)], ids=" ".join)
def test_examples_run(run: Run, path: tuple[str, ...]) -> None:
    words = example(path)
    outcome = run(*words, *(("--visits", "20", "--runs", "4") if "simulate" in words else ()))
    assert (outcome.code, outcome.err) == (0, "")


def test_words_that_help_repeats_are_those_of_the_specification() -> None:
    metavars = {p.name: p.metavar for p in COMMANDS["fit",].params}
    assert metavars["ties"] == "|".join(TIES)
    assert metavars["rare"] == "|".join(RARE)
    assert metavars["bad"] == "|".join(BAD)


def test_every_field_of_a_log_spec_is_an_option() -> None:
    """Under the same name, with the help of the field; `evaluate` keeps rare arms."""
    said = {f.name: f.metadata["help"] for f in fields(LogSpec)}
    options = {p.name: p.help for p in COMMANDS["fit",].params}
    assert {name: options[name] for name in said} == said
    assert said.keys() - {p.name for p in COMMANDS["evaluate",].params} == {"min_pulls", "rare"}


def test_options_of_a_user_mean_the_same_everywhere() -> None:
    named = ("q", "user", "start", "stays_first")
    of = {path: {p.name: (p.help, p.metavar) for p in COMMANDS[path].params} for path in COMMANDS}
    for command in ("simulate", "recommend", "limit"):
        assert all(of[command,][name] == of["theory",][name] for name in named)


def test_a_module_that_declares_a_command_is_all_that_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hello.py").write_text(
        "from sojourn.cli.arguments import OPERATE, command\n"
        "@command(OPERATE, 'hello', 'sojourn hello')\n"
        "def hello_command() -> None:\n"
        "    'Say hello.'\n"
        "    print('hello')\n"
    )
    monkeypatch.setattr("sojourn.cli.__path__", [*sojourn.cli.__path__, str(tmp_path)])
    try:
        found: Any = typer.main.get_command(make_app())
    finally:
        assert DECLARED.pop().name == "hello"
        del sys.modules["sojourn.cli.hello"]
    assert set(found.commands) == {*COMMANDS[()].commands, "hello"}


def test_help_loads_no_engine() -> None:
    """All commands in one process, which says after each what is loaded."""
    code = (
        "import sys; from sojourn.cli import main\n"
        f"for path in {list(COMMANDS)}:\n"
        "    code = main([*path, '--help'])\n"
        f"    loaded = [name for name in {HEAVY} if name in sys.modules]\n"
        "    print(path, code, loaded, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [f"{path} 0 []" for path in COMMANDS]


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "sojourn", "theory", "Z"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1

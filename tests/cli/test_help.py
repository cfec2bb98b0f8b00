"""Help: every command has an example that it understands, and help loads no engine."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from commands import Run

from sojourn.cli.main import app
from sojourn.logs.reading.spec import BAD, RARE, TIES

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
    assert {" ".join(path) for path in COMMANDS} == {
        "", "theory", "limit", "simulate", "recommend", "reproduce", "fit",
        "evaluate", "serve", "keys", "keys new", "keys list", "keys revoke", "store",
        "store verify", "store export", "store backup", "store archive", "store drop",
        "store erase", "store audit", "store warm-start", "monitor", "monitor compare",
        "monitor shadow", "monitor drift",
    }  # fmt: skip


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


def test_words_that_help_repeats_are_those_of_the_rooms() -> None:
    metavars = {p.name: p.metavar for p in COMMANDS["fit",].params}
    assert metavars["ties"] == "|".join(TIES)
    assert metavars["rare"] == "|".join(RARE)
    assert metavars["bad"] == "|".join(BAD)


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

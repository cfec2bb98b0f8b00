"""Pages of the command line: every command from its own help."""

from collections.abc import Iterator
from typing import Any

import typer

from sojourn.cli.main import app

from .markdown import table

Path = tuple[str, ...]


def _below(command: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _below(inner, (*path, name))


COMMANDS: dict[Path, Any] = dict(_below(typer.main.get_command(app)))
"""Every command by the words after `sojourn`; () is `sojourn` itself."""


def identifier(path: Path) -> str:
    """What links call a command: cli.store.verify."""
    return ".".join(("cli", *path))


def page(path: Path) -> str:
    """A command: what it does, its example, its arguments and options, the commands below it."""
    command = COMMANDS[path]
    parts = [
        f"# {' '.join(('sojourn', *path))} {{#{identifier(path)}}}",
        command.help,
        f"```console\n$ {command.epilog.removeprefix('Example: ')}\n```",
    ]
    parts += filter(None, (_parameters(command, kind) for kind in ("argument", "option")))
    if path:
        parts.append(f"[All commands][{identifier(())}]")
    if below := [inner for inner in COMMANDS if inner and inner[:-1] == path]:
        rows = [(f"[{inner[-1]}][{identifier(inner)}]", _line(inner)) for inner in below]
        parts.append(table(["command", ""], rows))
    return "\n\n".join(parts) + "\n"


def _line(path: Path) -> str:
    """What a command does, in a line."""
    return " ".join(COMMANDS[path].help.partition("\n\n")[0].split())


def _parameters(command: Any, kind: str) -> str:
    """A table of the arguments or the options, if there are any."""
    shown = [p for p in command.params if p.param_type_name == kind and not p.hidden]
    return table([kind, ""], [(_names(p), _what(p)) for p in shown]) if shown else ""


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return names if parameter.is_flag or not parameter.metavar else f"{names} `{parameter.metavar}`"


def _what(parameter: Any) -> str:
    told = [" ".join(parameter.help.split())]
    if parameter.required:
        told.append("Needed.")
    elif parameter.default not in (None, False, (), []) and not callable(parameter.default):
        told.append(f"Default: `{parameter.default}`.")
    if parameter.envvar:
        told.append(f"Variable: `{parameter.envvar}`.")
    return " ".join(told)

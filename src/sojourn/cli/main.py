"""The command `sojourn`: its commands, and what becomes of their errors.

Bad input ends with exit code 2 and one sentence on standard error, a store that fails with 1;
a bug of this package ends with a traceback and 70. Results go to standard output,
as tables or, with --json, as JSON and nothing else; notes and progress go to standard error.
Commands import what they need when they run, so that help is quick.
"""

import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Annotated

import typer

from ..extras import MissingExtra
from ..live.errors import LiveError
from ..validation import InputError, PolicyError
from ..version import __version__
from . import (
    evaluate,
    fit,
    keys,
    limit,
    monitor,
    recommend,
    reproduce,
    serve,
    simulate,
    store,
    theory,
)
from .arguments import option
from .output import FAILED, OUR_BUG, STOPPED, complain, warnings_as_notes

PANELS: dict[str, tuple[ModuleType, ...]] = {
    "Your log": (fit, evaluate),
    "Live": (serve, monitor),
    "Simulate and theory": (theory, limit, simulate, recommend, reproduce),
    "Operate": (store, keys),
}
"""What help shows together. A module has one command, or `app`: a group of them."""


def _add(module: ModuleType, panel: str) -> None:
    name = module.__name__.rpartition(".")[2]
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name, rich_help_panel=panel)
        return
    epilog = f"Example: {module.EXAMPLE}"
    app.command(name, epilog=epilog, rich_help_panel=panel)(getattr(module, f"{name}_command"))


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
for panel, modules in PANELS.items():
    for module in modules:
        _add(module, panel)

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Any mistake in the arguments; where Typer keeps this class depends on its version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process if None); the exit code."""
    return run(app, "sojourn", arguments)


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run an application's command and report its errors; the exit code."""
    try:
        with warnings_as_notes():
            code = app(args=arguments, prog_name=name, standalone_mode=False)
    except UsageError as error:
        return complain(error.format_message())  # type: ignore[attr-defined]
    except (InputError, MissingExtra, PolicyError) as error:
        return complain(str(error))
    except LiveError as error:
        return complain(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        print("stopped", file=sys.stderr)
        return STOPPED
    except Exception:
        traceback.print_exc()
        print("This is a bug in Sojourn. Please report it.", file=sys.stderr)
        return OUR_BUG
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True, epilog="Example: sojourn simulate A --runs 200")
def _root(
    context: typer.Context,
    version: Annotated[bool, option("Print the version and end.", "--version")] = False,
) -> None:
    """Bandits whose users may leave: exact theory and simulation."""
    if version:
        print(f"sojourn {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())

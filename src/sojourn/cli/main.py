"""The command `sojourn`: its commands, and how their errors are reported.

Bad input ends with exit code 2 and one sentence on standard error, a store that fails with 1;
a bug of this package ends with a traceback and 70. Results go to standard output,
as tables or, with --json, as JSON and nothing else; notes and progress go to standard error.
A command is a function with `arguments.command` in any module of this package. Commands import
what they need when they run, so that help is quick.
"""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

from ..extras import MissingExtra
from ..live.errors import LiveError
from ..validation import InputError, PolicyError
from ..version import __version__
from .arguments import DECLARED, PANELS, option
from .output import FAILED, OUR_BUG, STOPPED, complain, warnings_as_notes

FIRST = ("logs", "serve", "simulate", "theory")
"""Modules whose commands come first in their panel of the help."""


def make_app() -> typer.Typer:
    """The application, with the commands of all modules of this package."""
    modules = (module.name for module in iter_modules(sys.modules[__package__].__path__))
    for name in dict.fromkeys((*FIRST, *modules)):
        import_module(f"{__package__}.{name}")
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    for panel, name, run, example in sorted(DECLARED, key=lambda one: PANELS.index(one.panel)):
        if isinstance(run, typer.Typer):
            made.add_typer(run, name=name, rich_help_panel=panel)
        else:
            made.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(run)
    return made


app = make_app()

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Any mistake in the arguments; where Typer keeps this class depends on its version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: those of the process); returns the exit code."""
    return run(app, "sojourn", arguments)


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run an application's command and report its errors; returns the exit code."""
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
    version: Annotated[bool, option("Print the version and exit.", "--version")] = False,
) -> None:
    """Bandits whose users may leave: exact theory and simulation."""
    if version:
        print(f"sojourn {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())

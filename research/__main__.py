"""`python -m research NAME`: conduct a study and write its report.

A study is a module of `research.studies` that has a value `STUDY`.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

import typer

from sojourn.cli.arguments import option, with_options
from sojourn.cli.main import run
from sojourn.cli.reproduce import StudyOptions, conduct, precision_of
from sojourn.validation import one_of

from . import studies
from .study import FULL, REPORT

STUDIES = tuple(module.name.replace("_", "-") for module in iter_modules(studies.__path__))

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example: python -m research drift --quick --out drift")
@with_options("options", StudyOptions)
def research_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(STUDIES)}.")],
    quick: Annotated[bool, option("Few runs: some minutes (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: up to half an hour.", metavar="quick|full")
    ] = None,
    out: Annotated[
        Path | None, option("The folder for results, pictures and report (NAME).", metavar="DIR")
    ] = None,
    only: Annotated[
        list[str] | None,
        option("Only this group of trials, or several; --redraw then has all.", metavar="GROUP"),
    ] = None,
    *,
    options: StudyOptions,
) -> None:
    """Simulate many policies on many problems, check claims, and write a report.

    Finished work is kept in the folder: after Ctrl-C the same command continues from there. The
    first run on a machine also compiles, which takes a few minutes once.
    """
    one_of("name", name, STUDIES)
    found = import_module(f"{studies.__name__}.{name.replace('-', '_')}").STUDY
    if only:
        groups = list(dict.fromkeys(trial.group for trial in found.trials))
        for group in only:
            one_of("only", group, groups)
        found = replace(found, trials=[t for t in found.trials if t.group in only])
    report = (out or Path(name)) / REPORT
    conduct(found, report, options, precision=precision_of(quick, precision, FULL))


def main(arguments: list[str] | None = None) -> int:
    """Run the command with these arguments (None: those of the process); returns the exit code."""
    return run(app, "python -m research", arguments)


if __name__ == "__main__":
    raise SystemExit(main())

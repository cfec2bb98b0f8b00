"""The commands `sojourn study beyond`, `sojourn study by-arm` and `sojourn study limit`."""

from pathlib import Path
from typing import Annotated

import typer

from .arguments import option, with_options
from .studies import Out, StudyOptions, conduct, precision_of

EPILOG = "Example: sojourn study beyond --quick --out study"

app = typer.Typer(epilog=EPILOG)


@app.callback()
def _root() -> None:
    """Studies: many policies on many problems, with a report."""


@app.command("beyond", epilog=EPILOG)
@with_options("options", StudyOptions)
def beyond_command(
    quick: Annotated[bool, option("Few runs: about a minute (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: a quarter of an hour or so.", metavar="quick|full")
    ] = None,
    out: Out = Path("study"),
    *,
    options: StudyOptions,
) -> None:
    """Engagement-aware, learned and plain policies on the paper's problems and many others.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.beyond.study import REPORT, study

    conduct(study, out / REPORT, options, precision=precision_of(quick, precision, "full"))


@app.command("by-arm", epilog="Example: sojourn study by-arm --quick --out by-arm")
@with_options("options", StudyOptions)
def by_arm_command(
    quick: Annotated[bool, option("Few runs: some minutes (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: half an hour or so.", metavar="quick|full")
    ] = None,
    out: Out = Path("by-arm"),
    *,
    options: StudyOptions,
) -> None:
    """Items that drive people away: policies that look at the whole visit beside the others.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.by_arm.study import REPORT, study

    conduct(study, out / REPORT, options, precision=precision_of(quick, precision, "full"))


@app.command("limit", epilog="Example: sojourn study limit --quick --out limit")
@with_options("options", StudyOptions)
def limit_study_command(
    quick: Annotated[bool, option("Few runs: some minutes (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: half an hour or so.", metavar="quick|full")
    ] = None,
    out: Out = Path("limit"),
    *,
    options: StudyOptions,
) -> None:
    """How far from the best possible: every policy as a multiple of the least Bayes regret.

    Finished cases are kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.limit.study import REPORT, study

    conduct(study, out / REPORT, options, precision=precision_of(quick, precision, "full"))

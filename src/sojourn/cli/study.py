"""The commands `sojourn study beyond`, `by-arm`, `drift`, `horizon`, `limit` and `signs`."""

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


@app.command("drift", epilog="Example: sojourn study drift --quick --out drift")
@with_options("options", StudyOptions)
def drift_command(
    quick: Annotated[bool, option("Few runs: a minute or so (default).", "--quick")] = False,
    precision: Annotated[str | None, option("full: some minutes.", metavar="quick|full")] = None,
    out: Out = Path("drift"),
    *,
    options: StudyOptions,
) -> None:
    """Arms that change: policies that forget beside those that do not, and their price otherwise.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.drift.study import REPORT, study

    conduct(study, out / REPORT, options, precision=precision_of(quick, precision, "full"))


@app.command("horizon", epilog="Example: sojourn study horizon --quick --out horizon")
@with_options("options", StudyOptions)
def horizon_command(
    quick: Annotated[bool, option("Few runs: some minutes (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: a quarter of an hour or so.", metavar="quick|full")
    ] = None,
    out: Out = Path("horizon"),
    *,
    options: StudyOptions,
) -> None:
    """Regret up to a million visits, the worst of 10,000 runs, and not knowing the horizon.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.horizon.study import REPORT, study

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


@app.command("signs", epilog="Example: sojourn study signs --quick --out signs")
@with_options("options", StudyOptions)
def signs_command(
    quick: Annotated[bool, option("Few runs: a minute or so (default).", "--quick")] = False,
    precision: Annotated[str | None, option("full: some minutes.", metavar="quick|full")] = None,
    out: Out = Path("signs"),
    *,
    options: StudyOptions,
) -> None:
    """Users whom a success drives away: what it gains to follow that, and what it costs elsewhere.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.signs.study import REPORT, study

    conduct(study, out / REPORT, options, precision=precision_of(quick, precision, "full"))

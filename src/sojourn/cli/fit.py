"""The command `sojourn fit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..logs.reading.spec import LogSpec
from ..show.progress import by_share, progress
from .arguments import AsJson, option, with_options
from .logs import LogSource, log_options
from .output import print_json

if TYPE_CHECKING:
    from ..logs import Advice, Alternative, Fit

EXAMPLE = "sojourn fit events.parquet --user uid --time ts --gap 30min --reward liked"


@with_options("spec", log_options())
def fit_command(
    source: LogSource,
    spec: LogSpec,
    ema: Annotated[bool, option("Fit the moving-average user too.")] = True,
    try_threshold: Annotated[
        list[float] | None, option("Also the case with this threshold. Repeat for more.")
    ] = None,
    try_gap: Annotated[
        list[str] | None, option("Also the case with this gap. Repeat for more.", metavar="10min")
    ] = None,
    deciding: Annotated[
        bool,
        option(
            "Simulate candidate policies on the fitted model, and recommend one or keep the "
            "current one.",
            "--decide",
        ),
    ] = False,
    visits: Annotated[
        int | None, option("With --decide: visits to simulate; default: as in the log.")
    ] = None,
    report: Annotated[
        Path | None, option("Write an .html page; implies --decide.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do users leave when disappointed? What a log says, with intervals and warnings."""
    from .. import validation
    from ..logs import fit, sensitivity
    from ..logs.report.page import check_report
    from ..logs.report.text import alternatives_table

    if visits is not None:
        validation.whole("--visits", visits, 1)
    if report is not None:
        check_report(report)
    found = fit(source, spec, ema=ema)
    tried: dict[str, Any] = {"thresholds": try_threshold or (), "gaps": try_gap or ()}
    others = sensitivity(source, spec, **tried) if any(tried.values()) else ()
    if not as_json:
        print(found)
        if others:
            print(f"\n{alternatives_table(others).text()}")
    advice = None
    if deciding or report is not None or visits is not None:
        advice = _decide(found, visits, report, others)
    if as_json:
        more = {} if advice is None else {"decision": advice.to_dict()}
        print_json({**found.to_dict(), "sensitivity": others, **more})
    elif advice is not None:
        print(f"\n{advice}")


def _decide(
    fit: "Fit", visits: int | None, report: Path | None, others: "tuple[Alternative, ...]"
) -> "Advice":
    from ..logs import decide, report as reports

    with progress() as show:
        advice = decide(fit, visits, progress=by_share(show, "simulating"))
    if report is not None:
        reports.page(fit, advice, report, others)
    return advice

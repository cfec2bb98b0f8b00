"""The command `sojourn theory`."""

from typing import TYPE_CHECKING

from .arguments import AsJson, with_options
from .output import print_json
from .problems import find_problem

if TYPE_CHECKING:
    from ..problem import Problem

EXAMPLE = "sojourn theory --means 0.9,0.8 --q 0.8,0.2,0.2,0.1"


@with_options("problem", find_problem)
def theory_command(problem: "Problem", as_json: AsJson = False) -> None:
    """Exact values, gaps, assumptions and regret bounds of a problem."""
    from .. import theory

    summary = theory.summary(problem)
    print_json(summary.to_dict()) if as_json else print(summary)

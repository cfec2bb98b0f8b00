"""The command `sojourn theory`."""

from .arguments import C6, AsJson, Means, ProblemName, Q, Start, StaysFirst, Theta, find_problem
from .output import print_json

EXAMPLE = "sojourn theory --means 0.9,0.8 --q 0.8,0.2,0.2,0.1"


def theory_command(
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    stays_first: StaysFirst = False,
    as_json: AsJson = False,
) -> None:
    """Exact values, gaps, assumptions and regret bounds of a problem."""
    from .. import theory

    summary = theory.summary(find_problem(problem, means, q, theta, c6, start, stays_first))
    print_json(summary.to_dict()) if as_json else print(summary)

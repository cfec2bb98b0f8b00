"""The command `sojourn recommend`."""

from typing import Annotated

from .arguments import (
    C6,
    AsJson,
    Means,
    ProblemName,
    Q,
    Seed,
    Start,
    StaysFirst,
    Theta,
    find_problem,
    number_or_text,
    option,
)
from .output import print_json
from .progress import by_runs, progress

EXAMPLE = "sojourn recommend --means 0.9,0.8 --q 0.8,0.2,0.2,0.1"


def recommend_command(
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    stays_first: StaysFirst = False,
    visits: Annotated[int, option("Visits that the policy will serve.")] = 20_000,
    certain: Annotated[
        bool, option("The problem is known exactly: take its best policy.", "--certain")
    ] = False,
    precision: Annotated[
        str, option("The 95 % half-width of regrets to simulate to.", metavar="5%")
    ] = "5%",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """The policy to run on a problem, why, and its expected gain over KL-UCB."""
    from ..recommendation import recommend

    chosen = find_problem(problem, means, q, theta, c6, start, stays_first)
    with progress() as show:
        advice = recommend(
            chosen,
            visits=visits,
            certain=certain,
            precision=number_or_text(precision) or "5%",
            seed=seed,
            progress=by_runs(show),
        )
    print_json(advice.to_dict()) if as_json else print(advice)

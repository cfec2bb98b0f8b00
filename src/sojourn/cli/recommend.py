"""The command `sojourn recommend`."""

from typing import TYPE_CHECKING, Annotated

from .arguments import AsJson, Seed, number_or_text, option, with_options
from .output import print_json
from .problems import find_problem

if TYPE_CHECKING:
    from ..problem import Problem

EXAMPLE = "sojourn recommend --means 0.9,0.8 --q 0.8,0.2,0.2,0.1"


@with_options("problem", find_problem)
def recommend_command(
    problem: "Problem",
    visits: Annotated[int, option("Visits that the policy will serve.")] = 20_000,
    incumbent: Annotated[
        str | None,
        option(
            "The current recommender: gains are over it first, and it is kept unless they are "
            "significant. "
            "Uniform, FixedArm:arm=2, KLUCB.",
            metavar="POLICY",
        ),
    ] = None,
    known_problem: Annotated[
        bool, option("The problem is known exactly: take its best policy.", "--known-problem")
    ] = False,
    precision: Annotated[
        str, option("The 95 % half-width of regrets to simulate to.", metavar="5%")
    ] = "5%",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """The policy to run on a problem, why, and what it gains over the current one and KL-UCB."""
    from ..recommendation import recommend

    advice = recommend(
        problem, visits=visits, incumbent=incumbent, known_problem=known_problem,
        precision=number_or_text(precision) or "5%", seed=seed, progress=True,
    )  # fmt: skip
    print_json(advice.to_dict()) if as_json else print(advice)

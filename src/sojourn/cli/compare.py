"""The command `sojourn compare`."""

from typing import TYPE_CHECKING, Annotated

from .arguments import AsJson, option
from .output import print_json
from .stores import reading, store_and, store_words

if TYPE_CHECKING:
    from ..live import Comparison, History

EXAMPLE = "sojourn compare live.db shorts"


def compare_command(
    words: Annotated[list[str], store_words("[STORE] EXPERIMENT")],
    alpha: Annotated[float, option("Intervals hold with 1 - alpha, at all looks together.")] = 0.05,
    planned: Annotated[float, option("Visits at which intervals are narrowest.")] = 10_000.0,
    since: Annotated[int, option("Visits opened from this epoch of the shares on.")] = 1,
    over_time: Annotated[
        bool, option("What the comparison has said over time instead.", "--history")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the variants of an experiment with its holdout: at any time, as often as wanted."""
    from ..live import compare, history

    url, experiment = store_and(words, "EXPERIMENT")
    with reading(url) as store:
        if over_time:
            found: History | Comparison = history(store, experiment)
        else:
            found = compare(store, experiment, alpha=alpha, planned=planned, since=since)
    print_json(found.to_dict()) if as_json else print(found)

"""The command `sojourn compare`."""

from typing import Annotated

from .arguments import AsJson, option
from .output import print_json
from .stores import reading, store_and, store_words

EXAMPLE = "sojourn compare live.db shorts"


def compare_command(
    words: Annotated[list[str], store_words("[STORE] EXPERIMENT")],
    alpha: Annotated[float, option("Intervals hold with 1 - alpha, at all looks together.")] = 0.05,
    planned: Annotated[float, option("Visits at which intervals are narrowest.")] = 10_000.0,
    since: Annotated[int, option("Visits opened from this epoch of the shares on.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare the variants of an experiment with its holdout: at any time, as often as wanted."""
    from ..live import compare

    url, experiment = store_and(words, "EXPERIMENT")
    with reading(url) as store:
        found = compare(store, experiment, alpha=alpha, planned=planned, since=since)
    print_json(found.to_dict()) if as_json else print(found)

"""The command `sojourn shadow`."""

from typing import Annotated

from .arguments import AsJson, option
from .output import print_json
from .stores import reading, store_and, store_words

EXAMPLE = "sojourn shadow live.db shorts:old"


def shadow_command(
    words: Annotated[list[str], store_words("[STORE] EXPERIMENT")],
    margin: Annotated[
        float, option("The share of your rewards per departure that it may earn less.")
    ] = 0.05,
    alpha: Annotated[float, option("Intervals hold with 1 - alpha, at all looks together.")] = 0.05,
    planned: Annotated[float, option("Users at which intervals are narrowest.")] = 10_000.0,
    latest: Annotated[int | None, option("So many of the latest events; default: 100,000.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a policy would have shown where your own recommender decides, and whether to go live."""
    from ..live import shadow
    from ..live.shadowing import LATEST

    url, experiment = store_and(words, "EXPERIMENT")
    how = {"alpha": alpha, "planned": planned, "margin": margin}
    with reading(url) as store:
        found = shadow(store, experiment, latest=LATEST if latest is None else latest, **how)
    print_json(found.to_dict()) if as_json else print(found)

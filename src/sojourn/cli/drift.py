"""The command `sojourn drift`."""

from typing import Annotated

from .arguments import AsJson, option
from .output import print_json
from .stores import reading, store_and, store_words

EXAMPLE = "sojourn drift live.db shorts"


def drift_command(
    words: Annotated[list[str], store_words("[STORE] EXPERIMENT")],
    delta: Annotated[float, option("The chance of any false alarm, at all looks together.")] = 0.05,
    as_json: AsJson = False,
) -> None:
    """Say what has changed: the mean reward of an arm, or how often users leave."""
    from ..live import drift

    url, experiment = store_and(words, "EXPERIMENT")
    with reading(url) as store:
        found = drift(store, experiment, delta=delta)
    print_json(found.to_dict()) if as_json else print(found)

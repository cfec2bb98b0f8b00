"""The command `sojourn drop`."""

from typing import Annotated

from .archive import Folder
from .arguments import AsJson, option
from .output import print_json
from .stores import store_and, store_words, writable

EXAMPLE = "sojourn drop live.db shorts --yes --archive archive"


def drop_command(
    words: Annotated[list[str], store_words("[STORE] EXPERIMENT")],
    yes: Annotated[bool, option("It cannot be undone: say that you mean it.", "--yes")] = False,
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Delete an experiment with all its visits, events and counters; with its archive if given."""
    from ..live import drop_archived

    url, experiment = store_and(words, "EXPERIMENT")
    if not yes:
        raise ValueError(
            f"experiment {experiment!r} would be deleted with all its visits, which cannot be "
            "undone: add --yes if you mean it"
        )
    with writable(url, f"DELETE /v1/experiments/{experiment}") as store:
        store.drop(experiment)
    if archive is not None:
        drop_archived(experiment, archive)
    print_json({"dropped": experiment}) if as_json else print(f"{experiment}: dropped")

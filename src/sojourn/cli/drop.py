"""The command `sojourn drop`."""

from typing import Annotated

from ..validation import InputError
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
    """Delete an experiment with its variants and all they have; with its archive if given."""
    from ..live import drop_archived
    from ..live.variants import drop_with_variants

    url, experiment = store_and(words, "EXPERIMENT")
    if not yes:
        raise InputError(
            f"experiment {experiment!r} would be deleted with all its visits, which cannot be "
            "undone: add --yes if you mean it"
        )
    with writable(url, f"DELETE /v1/experiments/{experiment}") as store:
        dropped = drop_with_variants(store, experiment)
    if archive is not None:
        for name in dropped:
            drop_archived(name, archive)
    print_json({"dropped": experiment}) if as_json else print(f"{experiment}: dropped")

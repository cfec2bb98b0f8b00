"""The command `sojourn export`."""

from typing import Annotated

from .archive import Folder
from .arguments import AsJson
from .output import print_json
from .stores import reading, store_and, store_words

EXAMPLE = "sojourn export live.db shorts steps.parquet && sojourn fit steps.parquet"


def export_command(
    words: Annotated[
        list[str],
        store_words("[STORE] EXPERIMENT FILE", " FILE: a .parquet or .csv file to write."),
    ],
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write the resolved steps of an experiment to a file that `sojourn fit` reads as it is."""
    from ..live import export

    url, experiment, file = store_and(words, "EXPERIMENT", "FILE")
    with reading(url) as store:
        steps = export(store, experiment, file, archive)
    if as_json:
        print_json({"experiment": experiment, "file": file, "steps": steps})
    else:
        print(f"{file}: {steps:,} steps of {experiment}")

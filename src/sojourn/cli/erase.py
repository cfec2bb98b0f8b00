"""The command `sojourn erase`."""

from typing import Annotated

from .archive import Folder
from .arguments import AsJson
from .output import note, print_json
from .stores import store_and, store_words, writable

EXAMPLE = "sojourn erase live.db u42 --archive archive"


def erase_command(
    words: Annotated[list[str], store_words("[STORE] USER")],
    archive: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Forget the id of a user in all visits and events; their visits stay, as nobody's."""
    from ..live import erase_archived

    url, user = store_and(words, "USER")
    with writable(url, f"DELETE /v1/users/{user}") as store:
        found = store.erase(user)
        archived: int | None = 0 if archive is None else erase_archived(store, user, archive)
        if archive is None and store.parts():
            archived = None
            note("there is an archive, which may have this user too: give its folder, --archive")
    if as_json:
        print_json({"visits": found, "archived": archived})
    else:
        print(f"{user}: erased; visits in the store {found:,}, in the archive {archived or 0:,}")

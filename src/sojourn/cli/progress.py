"""The progress of a study on the command line."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..show.progress import Now, Show, progress as progress

if TYPE_CHECKING:
    from ..paper.study import Overall


def by_work(show: Show) -> Callable[["Overall"], None]:
    """Takes the progress of many pieces of work, with the time left that it has."""

    def take(now: "Overall") -> None:
        if now.compiling is None:
            show(Now(now.work, now.share, left=now.left))
        else:
            show(Now(now.work, now.share, f"compiling {now.compiling}, once per machine"))

    return take

"""What a worker serves while its store cannot be opened: 503, and its health."""

import math
from typing import Any

from ..live import Journal, Unavailable


class Absent:
    """Stands in for a store that cannot be opened yet: whatever is asked of it is `Unavailable`."""

    writer, shared, deadline = "", False, math.inf

    def __getattr__(self, name: str) -> Any:
        def unavailable(*args: Any, **options: Any) -> Any:
            raise Unavailable("the store could not be opened yet")

        return unavailable

    def close(self) -> None: ...


def absent() -> Journal:
    """A journal for the time until there is one."""
    store: Any = Absent()
    return Journal(store, upkeep=False)

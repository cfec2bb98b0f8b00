"""What a command did: exit code, standard output, standard error."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]

"""A request: what its method, path and headers say."""

import re
from typing import Any
from urllib.parse import unquote

from . import hot
from .keys import Key

GIVEN_ID = re.compile(rb"[\w.:-]{1,100}")
JSON = (b"content-type", b"application/json")


class Asked:
    """A request, its key once that is known, and the status of its answer."""

    __slots__ = (
        "caller", "headers", "hot", "id", "key", "method", "path", "scope", "status", "words",
    )  # fmt: skip

    def __init__(self, scope: Any, made_id: str) -> None:
        self.scope, self.method, self.path = scope, scope["method"], scope["path"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id")
        good = given is not None and GIVEN_ID.fullmatch(given)
        self.id = given.decode("latin-1") if good and given else made_id
        self.words: list[str] = self.path.split("/") if "/" in self.path else ["", ""]
        if b"%2" in (raw := scope.get("raw_path") or b""):
            self._keep_slashes(raw)
        self.key: Key | None = None
        self.caller = ""
        self.status = 0
        self.hot = hot.find(self.method, self.words)

    def _keep_slashes(self, raw: bytes) -> None:
        """Split the path at its slashes, but not within a name (%2F)."""
        parts = raw.partition(b"?")[0].decode("latin-1").split("/")
        self.words = [unquote(part) for part in parts]
        self.scope["path"] = "/".join(word.replace("/", hot.SLASH) for word in self.words)

    @property
    def is_json(self) -> bool:
        """Whether the content type is JSON, for which browsers send a preflight request first."""
        kind = self.headers.get(b"content-type", b"")
        return kind == JSON[1] or kind.partition(b";")[0].strip().lower() == JSON[1]

    @property
    def experiment(self) -> str | None:
        words = self.words
        if len(words) > 3 and words[1] == "v1" and words[2] == "experiments":
            return words[3]
        if len(words) > 2 and words[1] in ("events", "experiments"):
            return words[2]
        return None

"""A request: what its method, path and headers say.

The path is parsed once, here, from the bytes that were sent. Who may call, which call it is and
what FastAPI routes are all decided by the words that come out, so that no two of them can differ.
"""

import re
from typing import Any
from urllib.parse import quote, unquote

from ..live.names import DOTS
from ..validation import InputError
from . import hot
from .keys import Key

GIVEN_ID = re.compile(rb"[\w.:-]{1,100}")
JSON = (b"content-type", b"application/json")
ORIGIN = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)  # before the path, in requests to proxies


class Asked:
    """A request, its key once that is known, and the status of its answer."""

    __slots__ = (
        "caller", "headers", "hot", "id", "key", "method", "path", "scope", "status", "words",
        "wrong",
    )  # fmt: skip

    def __init__(self, scope: Any, made_id: str) -> None:
        self.scope, self.method = scope, scope["method"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id")
        good = given is not None and GIVEN_ID.fullmatch(given)
        self.id = given.decode("latin-1") if good and given else made_id
        self.wrong = ""  # what is wrong with the path, if something is
        try:
            self.words = split_path(scope.get("raw_path") or quote(scope["path"]).encode())
        except InputError as error:
            self.wrong, self.words = str(error), ["", ""]
        self.path = scope["path"] = hot.join(self.words)
        self.key: Key | None = None
        self.caller = ""
        self.status = 0
        self.hot = hot.find(self.method, self.words)

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


def split_path(raw: bytes) -> list[str]:
    """The words between the slashes of a path as it was sent; a slash within one is %2F.

    >>> split_path(b"/v1/experiments/a%2Fb")
    ['', 'v1', 'experiments', 'a/b']
    >>> split_path(b"/v1/../metrics")
    Traceback (most recent call last):
    sojourn.InputError: the path /v1/../metrics is not allowed: . and .. are no names
    """
    if not raw.startswith(b"/"):
        raw = ORIGIN.sub(b"", raw, count=1) or b"/"
    text = raw.decode("latin-1")
    words = text.split("/")
    if "%" in text:
        try:
            words = [unquote(word, errors="strict") for word in words]
        except UnicodeDecodeError:
            raise _not_allowed(text, "it must be UTF-8") from None
    if words[0] or not text.isascii() or not "".join(words).isprintable():
        allowed = "it must begin with a slash, and names are 1 to 200 printable characters"
        raise _not_allowed(text, allowed)
    if not DOTS.isdisjoint(words):
        raise _not_allowed(text, ". and .. are no names")
    return words


def _not_allowed(text: str, why: str) -> InputError:
    shown = text[:60].encode("unicode_escape").decode("ascii")
    return InputError(f"the path {shown} is not allowed: {why}")

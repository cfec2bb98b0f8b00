"""Refused requests: a status, an error code, one sentence."""

from collections.abc import Callable, Iterable
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from ..live import Broken, Busy, Conflict, Ended, NotFound, Unavailable
from ..validation import InputError
from .answers import Error

WORDS = {
    400: "not_http", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "not_allowed",
    408: "too_slow", 409: "conflict", 410: "ended", 413: "too_large", 415: "not_json",
    422: "invalid", 429: "rate_limited", 431: "too_large", 500: "failed", 503: "unavailable",
}  # fmt: skip
"""The error code of every status; a full queue has 503 `busy`, and an experiment that cannot be
served 409 `broken`."""

RETRY_AFTER = 1  # seconds after which to retry when the store was busy or unavailable
LONGEST_VALUE = 60


class Refusal(Exception):
    """A request that is refused."""

    def __init__(
        self, status: int, detail: str, *, word: str | None = None, **headers: str | int
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.word = word or WORDS.get(status, "invalid")
        self.headers = {k.replace("_", "-"): str(v) for k, v in headers.items()}

    @property
    def body(self) -> Error:
        return Error(self.word, self.detail)


AWAY = "the store is unavailable: repeat the call with the same `request`"
"""The log says what failed in the store; the answer does not."""

REFUSALS: dict[type[Exception], Callable[[Any], Refusal]] = {
    Refusal: lambda error: error,
    NotFound: lambda error: Refusal(404, str(error)),
    Broken: lambda error: Refusal(409, str(error), word="broken"),
    Conflict: lambda error: Refusal(409, str(error)),
    Ended: lambda error: Refusal(410, str(error)),
    ValidationError: lambda error: Refusal(422, sentence(error.errors(include_url=False))),
    RequestValidationError: lambda error: Refusal(422, sentence(error.errors())),
    InputError: lambda error: Refusal(422, " ".join(str(error).split())),
    Busy: lambda error: Refusal(503, str(error), word="busy", retry_after=RETRY_AFTER),
    Unavailable: lambda error: Refusal(503, AWAY, retry_after=RETRY_AFTER),
}


def refusal_of(error: Exception) -> Refusal | None:
    """The refusal for an error; None: it is a bug of this service."""
    for cls in type(error).__mro__:
        if cls in REFUSALS:
            return REFUSALS[cls](error)
    return None


def documented(answer: Any, statuses: Iterable[int] = ()) -> dict[int | str, Any]:
    """The responses in the schema: of these statuses, and refusals that any request may meet."""
    good: dict[int | str, Any] = {s: {"model": answer} for s in statuses if s < 300}
    bad = sorted({*statuses, 401, 403, 413, 415, 422, 429, 503} - {*good})
    return {**good, **{s: {"model": Error, "description": WORDS[s]} for s in bad}}


def not_json() -> Refusal:
    """The refusal of a body of another content type."""
    return Refusal(415, "the body must be JSON, with content-type: application/json")


def broken(request: str) -> Refusal:
    """The answer to a bug of this service."""
    return Refusal(500, f"internal error: the log has the traceback, with request {request}")


def sentence(errors: Iterable[Any]) -> str:
    """The first validation error, in one sentence."""
    first = next(iter(errors))
    kind, message = first["type"], str(first["msg"])
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "path", "query"))
    if kind == "json_invalid":
        return f"the body is not JSON: {first.get('ctx', {}).get('error', message)}"
    if kind == "missing":
        return f"{where or 'the body'} is missing"
    if kind == "extra_forbidden":
        return f"{where} is not known here"
    value = repr(first.get("input"))
    if len(value) > LONGEST_VALUE:
        value = f"{value[:LONGEST_VALUE]}..."
    message = message.removeprefix("Value error, ")
    return f"{where or 'the body'} = {value} is not allowed: {message[:1].lower()}{message[1:]}"

"""How the client's calls travel: a `Carrier`, and what all of them say and hear."""

from typing import Protocol

from .calls import Answer, Call


class Carrier(Protocol):
    """Takes calls to the service from asyncio; `Lost` where no answer comes."""

    async def send(self, call: Call) -> Answer:
        """The answer to a call."""

    async def close(self) -> None:
        """Let go of the connections."""


def headers(key: str | None) -> dict[str, str]:
    """What goes along with every call."""
    said = {"content-type": "application/json", "accept": "application/json"}
    return said if key is None else {**said, "authorization": f"Bearer {key}"}


def seconds(retry_after: str | None) -> float | None:
    """The Retry-After of an answer, if it is a number of seconds (a date is not heeded).

    >>> seconds("2"), seconds("Wed, 21 Oct 2026 07:28:00 GMT"), seconds(None)
    (2.0, None, None)
    """
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None

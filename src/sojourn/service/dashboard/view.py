"""What a reader of the dashboard wants to see of an experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

ARMS = 20  # rows on one page of arms
LONGEST_SEARCH = 200


class Span(NamedTuple):
    """A time span of the charts: its length, and the time between two points, in seconds."""

    words: str
    seconds: float
    width: float

    def since(self, now: float) -> float:
        """Where the charts begin: at a whole multiple of the width."""
        return (now - self.seconds) // self.width * self.width + self.width


SPANS = {
    "10m": Span("10 minutes", 600.0, 10.0),
    "1h": Span("hour", 3600.0, 60.0),
    "1d": Span("day", 86_400.0, 1_200.0),
    "1w": Span("week", 604_800.0, 7_200.0),
}


@dataclass(frozen=True)
class View:
    """The span of the charts, and which arms are listed.

    >>> View.of({"q": "dance", "page": "2"})
    View(span=None, search='dance', page=2)
    >>> View.of({"page": "x"}).query
    ''
    """

    span: str | None = None
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "View":
        """From the query of an address; invalid values are ignored."""
        span, page = query.get("span", ""), query.get("page", "")
        return cls(
            span if span in SPANS else None,
            query.get("q", "").strip()[:LONGEST_SEARCH],
            min(max(int(page), 1), 1_000_000) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def query(self) -> str:
        """The query of an address that shows this view, with its question mark."""
        parts: dict[str, Any] = {"span": self.span, "q": self.search, "page": self.page}
        given = {k: v for k, v in parts.items() if v and (k, v) != ("page", 1)}
        return f"?{urlencode(given)}" if given else ""

    def but(self, **changes: Any) -> "View":
        return replace(self, **changes)

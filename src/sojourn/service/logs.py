"""Log lines: JSON or text on standard error, one for each event, without secrets.

What callers send cannot forge a line: all that is not printable is escaped, and lines of a trace
begin with a bar, which no event does.
"""

import json
import logging
import re
from typing import Any
from urllib.parse import unquote

PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""Attributes of every record; others were given with `extra`."""

TOKENS = re.compile(r"\bsj_[0-9a-zA-Z]+_[\w-]+|(?<=://)([^/\s:@]*):[^\s]*@|(?i:password=)\S+")
HIDDEN = "***"


class Hiding(logging.Formatter):
    """Redacts secrets: keys, passwords in URLs, and the words given."""

    def __init__(self, *, words: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(**options)
        longest_first = sorted((re.escape(word) for word in words), key=len, reverse=True)
        self._words = re.compile("|".join(longest_first)) if words else None

    def hide(self, text: str) -> str:
        if self._words is not None:
            text = self._words.sub(HIDDEN, text)
        return TOKENS.sub(HIDDEN, text)


def escaped(text: str) -> str:
    r"""The text on one line: line breaks, control and direction characters are escaped.

    >>> print(escaped("a\nb\u2028c é"))
    a\nb\u2028c é
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


class JsonLines(Hiding):
    """One JSON object a line: time, level, logger, message, and what was given with `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{record.msecs:03.0f}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in PLAIN}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return escaped(self.hide(json.dumps(line, ensure_ascii=False, default=str)))


class TextLines(Hiding):
    """The same for people; a trace follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        given = {name: value for name, value in vars(record).items() if name not in PLAIN}
        more = "".join(f" {name}={_value(value)}" for name, value in given.items())
        record.message, record.asctime = record.getMessage(), self.formatTime(record)
        line = escaped(self.formatMessage(record) + more)
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return self.hide("\n  | ".join([line, *map(escaped, trace.splitlines())]))


def _value(value: object) -> str:
    """A value that cannot be taken for several."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if set(text) & set(' ="') else text


def secrets_of(url: str) -> tuple[str, ...]:
    """The password in a database URL: as it is, decoded, and the parts between reserved characters.

    >>> secrets_of("postgresql://ann:s%40cret@host/db")
    ('s%40cret', 's@cret')
    """
    _, _, rest = url.partition("://")
    login, found, _ = rest.rpartition("@")
    _, colon, password = login.partition(":")
    query = re.findall(r"password=([^&\s]+)", url)
    whole = [*([password] if found and colon and password else []), *query]
    parts = [part for word in whole for part in re.split(r"[@/:?#]", word) if len(part) >= 4]
    return tuple(dict.fromkeys([*whole, *map(unquote, whole), *parts]))


def configuration(form: str, level: str, words: tuple[str, ...]) -> dict[str, Any]:
    """For `logging.config.dictConfig`: all loggers to standard error in one format."""
    lines: dict[str, Any] = {"()": JsonLines, "words": words}
    if form == "text":
        text = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        lines = {"()": TextLines, "words": words, "fmt": text}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": lines},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stderr",
                "formatter": "lines",
            }
        },
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            "uvicorn": {"level": level.upper(), "handlers": [], "propagate": True},
            "numba": {"level": "WARNING"},  # at debug level it prints all it compiles
        },
    }

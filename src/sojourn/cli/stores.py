"""The store of a command: its address among the arguments, or in the environment.

STORE is an address, like sqlite:///live.db or postgresql://..., or the path of a SQLite file. It
may be left out if the environment variable SOJOURN_STORE has it, so that no password has to be in
a command line.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..validation import InputError

if TYPE_CHECKING:
    from ..live import Store

VARIABLE = "SOJOURN_STORE"


def store_words(metavar: str, more: str = "") -> Any:
    """The arguments of a command: optionally a store, then the others."""
    where = f"STORE: an address, or the path of a SQLite file; default: ${VARIABLE}."
    return typer.Argument(metavar=metavar, help=f"{where}{more}")


def store_first(words: Sequence[str]) -> tuple[str, list[str]]:
    """The address of the store, and the other arguments."""
    if words and (_is_store(words[0]) or VARIABLE not in os.environ):
        return _address(words[0]), list(words[1:])
    if VARIABLE not in os.environ:
        raise InputError(f"STORE is missing: give an address or a file, or set {VARIABLE}")
    return _address(os.environ[VARIABLE]), list(words)


def store_and(words: Sequence[str], *names: str) -> tuple[str, ...]:
    """The address of the store, and one argument for each of the names."""
    rest = list(words)
    url = os.environ.get(VARIABLE, "")
    if len(rest) > len(names) or not url:
        url = rest.pop(0)
    if len(rest) != len(names):
        wanted = ", ".join(("STORE", *names))
        raise InputError(f"expected {wanted}, but got {len(words)} arguments")
    return _address(url), *rest


@contextmanager
def file_errors_as_input() -> Iterator[None]:
    """A file that cannot be used is bad input: one sentence."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has gone
        raise
    except OSError as error:  # of a file that is written or read
        raise InputError(
            f"{error.filename or 'a file'} cannot be used ({error.strerror})"
        ) from None


@contextmanager
def reading(url: str) -> Iterator["Store"]:
    """Open the store at an address for reading only."""
    from ..live import open_store

    with file_errors_as_input(), closing(open_store(url, read_only=True)) as store:
        yield store


@contextmanager
def writable(url: str, instead: str) -> Iterator["Store"]:
    """Open the store at an address for writing; `instead` says how if a server has it open."""
    from ..live import InUse, open_store

    with reading(url):  # a store that is not there is a mistake: do not make one
        pass
    with file_errors_as_input():
        try:
            store = open_store(url)
        except InUse:
            raise InputError(f"a server is using the file: use {instead}") from None
        with closing(store):
            yield store


def _is_store(word: str) -> bool:
    return "://" in word or Path(word).exists()


def _address(word: str) -> str:
    return word if "://" in word else f"sqlite:///{word}"

"""A few connections to read with, so that a slow reader does not keep the others waiting."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from ..errors import Unavailable


class Connection(Protocol):
    """The interface of a connection for a pool."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Connection)


@contextmanager
def closed_on_error(connection: Connection) -> Iterator[None]:
    """A connection that cannot be made ready is closed."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


class Pool(Generic[C]):
    """At most `size` connections, made when they are needed.

    One that failed is not used again, nor are those that were idle then: the server may be away.
    """

    def __init__(self, connect: Callable[[], C], size: int) -> None:
        self._connect, self._size = connect, size
        self._places = threading.BoundedSemaphore(size)
        self._idle: list[C] = []
        self._closed = False

    @contextmanager
    def one(self, seconds: float) -> Iterator[C]:
        """A connection of its own; `Unavailable` if none is free after this many seconds."""
        if not self._places.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            raise Unavailable(f"all {self._size} connections that read are in use")
        try:
            db = self._take()
            try:
                yield db
            except BaseException:
                db.close()
                self._drop_idle()
                raise
            self._idle.append(db)
            if self._closed:
                self._drop_idle()
        finally:
            self._places.release()

    def close(self) -> None:
        """Close those that are idle now, and the others when they are."""
        self._closed = True
        self._drop_idle()

    def _take(self) -> C:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _drop_idle(self) -> None:
        with suppress(IndexError):  # others may take them at the same time
            while True:
                self._idle.pop().close()

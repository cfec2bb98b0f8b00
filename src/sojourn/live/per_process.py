"""What is opened before a fork, and used after it.

A fork copies neither the threads of a process nor the meaning of its connections: the child's are
those of the parent, whose answers it would read and whose session it would end.
"""

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Something that every process opens for itself, when it first uses it.

    Those of other processes are kept, because to discard them might close them; they are not used.

    >>> numbers = PerProcess(1, lambda: 2)
    >>> numbers.get(), numbers.opened
    (1, 1)
    """

    def __init__(self, opened: T, reopen: Callable[[], T]) -> None:
        self._opened, self._reopen = {os.getpid(): opened}, reopen

    @property
    def opened(self) -> T | None:
        """That of this process, if it has been opened."""
        return self._opened.get(os.getpid())

    def get(self) -> T:
        """That of this process."""
        process = os.getpid()  # a hook after forks would not do: uWSGI forks without Python
        if process not in self._opened:
            with _reopening:
                if process not in self._opened:
                    self._opened[process] = self._reopen()
        return self._opened[process]


_reopening = threading.RLock()


def _renew() -> None:
    """A lock that was held when the process was forked would be held for ever."""
    global _reopening
    _reopening = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

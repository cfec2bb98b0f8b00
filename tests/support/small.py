"""Small things that tests of several parts need: a clock, a refusal, a module, a free port."""

import importlib.util
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest


@dataclass
class Clock:
    """A clock that stands still until a test moves it."""

    now: float = 1e9

    def __call__(self) -> float:
        return self.now


def refused(make: Callable[[], object]) -> str:
    """The one sentence with which bad input is refused."""
    with pytest.raises(ValueError) as refusal:
        make()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def module_of(path: Path, name: str) -> ModuleType:
    """The module that a file has, as a new process would have it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

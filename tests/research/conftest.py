"""The command of the studies."""

import pytest
from commands import Outcome, Run

from research.__main__ import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """run(*arguments): `python -m research` with these arguments, in this process."""

    def call(*arguments: str) -> Outcome:
        code = main([*arguments])
        return Outcome(code, *capsys.readouterr())

    return call

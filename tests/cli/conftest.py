"""Commands run in this process."""

import pytest
from commands import Outcome, Run

from sojourn.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `sojourn` with these arguments."""

    def call(*arguments: str) -> Outcome:
        code = main(arguments)
        return Outcome(code, *capsys.readouterr())

    return call

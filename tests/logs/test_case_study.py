"""The case study in the docs, run on the log itself where that is present."""

import os
import re
import shlex
from pathlib import Path

import pytest

from sojourn.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "case-study.md"
LOG = "oulad_assessments.csv.gz"
DATA = Path(os.environ.get("SOJOURN_DATA", ROOT.parent / "shared" / "data"))
WITHOUT = "the real logs are not here: set SOJOURN_DATA to their folder"


def sessions() -> list[tuple[str, list[str]]]:
    """The commands of the page, and what it says that they print."""
    blocks = re.findall(r"^```shell-session\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    found = re.split(r"^\$ sojourn ", "".join(blocks), flags=re.M)[1:]
    parts = (text.partition("\n") for text in found)
    return [(command, printed.rstrip().splitlines()) for command, _, printed in parts]


def test_the_page_has_commands_and_credit() -> None:
    (command, printed), *_ = sessions()
    assert command.startswith(f"fit {LOG}") and len(printed) > 40
    for words in ("Kuzilek", "Hlosta", "Zdrahal", "4:170171", "CC BY 4.0"):
        assert words in PAGE.read_text()


@pytest.mark.release  # a minute, and tests/docs plays another case, docs/case-feed.md, as it is
@pytest.mark.skipif(not (DATA / LOG).exists(), reason=WITHOUT)
def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / LOG).symlink_to(DATA.resolve() / LOG)
    monkeypatch.chdir(tmp_path)
    for command, expected in sessions():
        assert main(shlex.split(command)) == 0
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == expected
    assert (tmp_path / "oulad.html").read_text(encoding="utf-8").count("<svg") == 7

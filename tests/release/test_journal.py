"""The paper for JOSS: its numbers are those of the package, its form is the journal's."""

import re

import pytest
import yaml
from environments import ROOT
from small import module_of

FOLDER = ROOT / "paper"
TEXT = (FOLDER / "paper.md").read_text(encoding="utf-8")
SECTIONS = [
    "Summary", "Statement of need", "State of the field", "Software design",
    "Research impact statement", "AI usage disclosure", "Acknowledgements", "References",
]  # fmt: skip
KNOWN = {"95", "1,000"}
"""Numbers that are no results: the level of intervals, and the size of a batch in the benchmark."""


@pytest.fixture(scope="module")
def filled() -> str:
    made: str = module_of(FOLDER / "__main__.py", "paper_main").paper()
    return made


def test_its_numbers_are_those_of_the_package(filled: str) -> None:
    assert TEXT == filled, "run python -m paper"


def test_it_has_no_number_of_its_own() -> None:
    _, _, text = (FOLDER / "paper.in.md").read_text(encoding="utf-8").split("---", 2)
    text = re.sub(r"@\w+|\{\{\w+\}\}", "", text)
    assert set(re.findall(r"\d[\d,.]*\d|\d", text)) <= KNOWN


def test_it_has_the_form_that_the_journal_asks_for() -> None:
    _, head, text = TEXT.split("---", 2)
    said = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(said)
    assert re.findall(r"^# (.+)$", text, re.MULTILINE) == SECTIONS
    assert 750 <= len(text.split()) <= 1750
    pictures = re.findall(r"^!\[.+?\]\((\S+)\)$", text, re.MULTILINE | re.DOTALL)
    assert pictures and all((FOLDER / picture).exists() for picture in pictures)


def test_what_it_cites_is_listed_and_what_is_listed_is_cited() -> None:
    cited = set(re.findall(r"@(\w+)", TEXT))
    entries = (FOLDER / "paper.bib").read_text(encoding="utf-8")
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE))
    for entry in entries.split("\n@"):
        assert "doi = " in entry or "url = " in entry

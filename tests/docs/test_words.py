"""One concept, one word, and it is the field's: retired words stay out of what people read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from blocks import ROOT

RETIRED = {
    r"surely": "significantly",
    r"dear(er|est)?": "costly, costlier, costliest",
    r"what is there now": "current recommender",
    r"at worst": "in the worst case",
    r"(drives?|driven|driving) (people |users |them |somebody )?away": "raises the exit rate",
    r"clickbait factor": "effect on leaving",
    r"whoever": "anyone who, or the people who",
    r"whomever": "anyone whom",
    r"shall": "will, must",
    r"strangers?": "newcomer",
    r"rooms|machine room": "subpackage, engine",
    r"stances?": "optimism by state",
    r"agenda": "next refit",
    r"quirks?": "interaction",
    r"pupil": "base policy",
    r"temper": "effect on leaving of a user",
    r"weighted replay|normalised replay|robust replay": "PDIS, SN-PDIS, DR",
    r"safe IMED|safe Thompson": "gated",
    r"(rewards?|steps?|visits?|calls?|requests?|runs|times|one) a (visit|day|second|run|minute)": (
        "per visit, per day"
    ),
    r"one a processor": "one per processor",
    r"at (every|all|each) looks?": "at all times, or always valid",
    r"with (spaces|commas) between": "separated by spaces, by commas",
    r"(goes|go|going) on from (here|there)": "continues from here",
    r"as nobody's": "without a user",
    r"for want of": "because it is missing",
    r"whose it is|whose they are": "its user, or its owner",
    r"(?<=[\s(\[])\.\d+(?!\d*(rem|em|px))": "0.82, with its zero",
}
"""Patterns of whole words, and what to write instead (REVIEW's and DESIGN's words)."""

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
SHIPPED = [
    page
    for kind in ("html", "md", "toml")
    for page in sorted(ROOT.glob(f"src/sojourn/**/*.{kind}"))
]
MODULES = sorted(ROOT.glob("src/sojourn/**/*.py"))


def retired(text: str) -> Iterator[str]:
    """Each retired word with what is around it, also where a line ends within a phrase."""
    flat = " ".join(text.split())
    for pattern, instead in RETIRED.items():
        whole = pattern if pattern.startswith("(?<=") else rf"\b({pattern})\b"
        for found in re.finditer(whole, flat, re.IGNORECASE):
            around = flat[max(0, found.start() - 30) : found.end() + 30]
            yield f"{around!r}: for {found.group()!r} write {instead}"


def prose(page: Path) -> str:
    """A page without its code: examples have numbers and names of their own."""
    return re.sub(r"```.*?```|`[^`\n]*`|<style>.*?</style>", "", page.read_text(), flags=re.S)


def strings(module: Path) -> Iterator[str]:
    """Docstrings, messages, labels: every string of a module."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def path_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [*PAGES, *SHIPPED], ids=path_of)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert list(retired(prose(page))) == []


@pytest.mark.parametrize("module", MODULES, ids=path_of)
def test_docstrings_and_messages_use_the_words_of_the_field(module: Path) -> None:
    assert [found for text in strings(module) for found in retired(text)] == []


def test_a_retired_word_is_found() -> None:
    found = list(retired("It costs .82\nand is surely a dear one."))
    assert [line.rpartition(" for ")[2] for line in found] == [
        "'surely' write significantly",
        "'dear' write costly, costlier, costliest",
        "'.82' write 0.82, with its zero",
    ]

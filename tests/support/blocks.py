"""The fenced blocks of the documentation, and what a reader does with them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every fenced code block of a page."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.M | re.S)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that it is shown to print."""
    typed = re.split(r"^\$ ", text, flags=re.M)[1:]
    parts = (command.partition("\n") for command in typed)
    return [(line, output.rstrip().splitlines()) for line, _, output in parts]


def same(shown: list[str], printed: list[str]) -> bool:
    """Whether that is what was printed; a line of three dots stands for any lines."""
    if "..." not in shown:
        return shown == printed
    cut = shown.index("...")
    rest = printed[cut:]
    return shown[:cut] == printed[:cut] and any(
        same(shown[cut + 1 :], rest[skipped:]) for skipped in range(len(rest) + 1)
    )

"""README.md as a package index shows it: relative links and pictures do not work there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

README = "README.md"
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?!https?:|#)[^)]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Hatchling calls it when it builds; `readme` is dynamic in pyproject.toml for it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the package."""
        text = (Path(self.root) / README).read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}


def absolute(text: str, repository: str | None) -> str:
    """The text with links and pictures in the repository; without one, only with their words.

    >>> absolute("See [the docs](docs/a.md), ![a picture](a.svg).", "https://host/us/it")
    'See [the docs](https://host/us/it/blob/HEAD/docs/a.md), ![a picture](https://host/us/it/raw/HEAD/a.svg).'
    >>> absolute("See [the docs](docs/a.md) or [it](https://it.org). ![a picture](a.svg)", None)
    'See the docs or [it](https://it.org). '
    """

    def link(found: re.Match[str]) -> str:
        picture, words, path = found.group("picture", "text", "path")
        if repository is None:
            return "" if picture else words
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/HEAD/{path})"

    return LINK.sub(link, text)

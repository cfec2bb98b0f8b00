"""The reference: a page for every public name, tables of them, the command line, the HTTP API."""

import re
from pathlib import Path
from typing import Any

from . import calls, commands, names
from .markdown import table

NAMED = """---
title: "{short}"
---

::: {home}
    options:
      heading: "{public}"
"""
HTTP, CLI = "reference/http.md", "reference/cli"


def pages() -> dict[str, str]:
    """Every generated page by its path."""
    found = {
        path: NAMED.format(short=name.short, public=name.public, home=name.home)
        for path, name in names.pages().items()
    }
    found |= {f"{names.folder(section)}/index.md": _section(section) for section in names.SECTIONS}
    found |= {_command(path): commands.page(path) for path in commands.COMMANDS}
    return found | {HTTP: calls.page()}


def navigation() -> list[Any]:
    """The same for MkDocs, in the order of reading."""
    nav: list[Any] = []
    for section in names.SECTIONS:
        folder = names.folder(section)
        below = sorted((p for p in names.pages() if p.startswith(f"{folder}/")), key=str.lower)
        nav.append({section: [f"{folder}/index.md", *below]})
    lines = [{" ".join(path): _command(path)} for path in commands.COMMANDS if path]
    nav.append({"Command line": [f"{CLI}/index.md", *lines]})
    return [*nav, {"HTTP API": HTTP}]


def missing(site: Path) -> list[str]:
    """Public names that no page of a built site documents."""
    documented: set[str] = set()
    for page in (site / "reference").rglob("*.html"):
        documented |= set(re.findall(r'<h1 id="([\w.]+)" class="doc ', page.read_text()))
    return sorted({n.public for n in names.public().values() if n.home not in documented})


def _section(section: str) -> str:
    """Its names, with a line each."""
    below = [name for name in names.pages().values() if name.section == section]
    rows = [(f"[`{name.public}`][{name.home}]", name.line) for name in below]
    title = f"# {section} {{#{names.identifier(section)}}}"
    return f"{title}\n\n{table(['name', 'what it is'], rows)}\n"


def _command(path: commands.Path) -> str:
    return f"{CLI}/{'-'.join(path) or 'index'}.md"

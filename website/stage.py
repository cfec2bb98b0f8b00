"""The sources of the site: the folder docs as it reads on GitHub, made ready for MkDocs.

Pages that are generated are added, files outside of docs to which a page links get a page of their
own, and names of the package become links to the reference.
"""

import re
import shutil
from dataclasses import fields
from pathlib import Path
from posixpath import dirname, normpath, relpath

import yaml

from sojourn.logs import LogSpec

from . import gallery, policies, reference
from .markdown import outside_code, parts, table, title
from .prose import linked

ROOT = Path(__file__).parents[1]
HOME = "docs/README.md"
ICON = "src/sojourn/service/dashboard/static/icon.svg"
LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(?=(?:#[^)\s]*)?\))")
FILE_NAME = re.compile(r"\[[\w/.-]+\.md\](?=\(([^)\s:#]+))")
FILE = """---
search:
  exclude: true
---

# {path}

A file that goes with {back}.

````{language}
{text}
````
"""
ALL_POLICIES, ALL_PICTURES = "<!-- all policies -->", "<!-- all pictures -->"
LOG_FIELDS = "<!-- all fields of a LogSpec -->"
AS_THEY_ARE = ".ipynb"
"""Files that the site has to download, not as pages."""
LANGUAGES = {".json": "json", ".py": "python", ".service": "ini", ".ts": "ts", ".yaml": "yaml"}


def stage(folder: Path) -> Path:
    """Write all that MkDocs needs into an empty folder; the path of its configuration."""
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs)
    shutil.copy(ROOT / ICON, docs / "assets")
    for path, source in _sources().items():
        text = (ROOT / path).read_text() if path.endswith(AS_THEY_ARE) else _page(path, source)
        _write(docs / place(path), text)
    for page, text in reference.pages().items():
        if (docs / page).exists():
            raise ValueError(f"docs/{page} is in the way of the page that is generated there")
        _write(docs / page, text)
    return _configuration(folder)


def place(path: str) -> str:
    """Where in the site's sources a file of the project is.

    >>> place("docs/start/fit.md"), place("CONTRIBUTING.md"), place("examples/own_user.py")
    ('start/fit.md', 'files/CONTRIBUTING.md', 'files/examples/own_user.py.md')
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(AS_THEY_ARE):
        return f"files/{path}"
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def _sources() -> dict[str, str]:
    """The pages in docs, the files they link to, the files these link to if they are pages, ...

    Each with a page that links to it; those in docs with themselves.
    """
    pages = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/**/*.md"))]
    todo = [(page, page) for page in pages]
    found: dict[str, str] = {}
    while todo:
        path, source = todo.pop()
        if path not in found and (path.endswith(".md") or not path.startswith("docs/")):
            found[path] = source
            todo += [(target, path) for target in _targets(path)] if path.endswith(".md") else []
    return found


def _targets(path: str) -> list[str]:
    """The files of the project to which a page links."""
    text = "".join(part for part, alone in parts((ROOT / path).read_text()) if not alone)
    targets = [_target(path, link) for link in LINK.findall(text)]
    return [target for target in targets if (ROOT / target).is_file()]


def _target(path: str, link: str) -> str:
    return normpath(f"{dirname(path) or '.'}/{link}")


def _page(path: str, source: str) -> str:
    """A file as a page of the site; if it is none, it leads back to a page that links to it."""
    text, here = (ROOT / path).read_text(), dirname(place(path))
    if not path.endswith(".md"):
        language = LANGUAGES.get(Path(path).suffix, "text")
        back = f"[{title(ROOT / source)}]({relpath(place(source), here)})"
        return FILE.format(path=path, language=language, text=text, back=back)

    def titled(link: re.Match[str]) -> str:
        return f"[{title(ROOT / _target(path, link[1]))}]"

    def moved(link: re.Match[str]) -> str:
        return relpath(place(_target(path, link[0])), here or ".")

    text = outside_code(text, lambda part: LINK.sub(moved, FILE_NAME.sub(titled, part)))
    if path == HOME:
        text = f"---\nhide: [navigation]\n---\n\n{text}"
    if ALL_POLICIES in text:
        text = text.replace(ALL_POLICIES, policies.tables())
    if LOG_FIELDS in text:
        text = text.replace(LOG_FIELDS, _log_fields())
    if ALL_PICTURES in text:
        text = text.replace(ALL_PICTURES, gallery.pictures(ROOT / "docs", _in_order()))
    return linked(text.replace("```python\n>>>", "```pycon\n>>>"))


def _log_fields() -> str:
    """A table of the fields, with what the command line says of each."""
    rows = [
        [f"`{f.name}`", f.metadata["help"], "" if f.default in (None, ()) else f"`{f.default!r}`"]
        for f in fields(LogSpec)
    ]
    return table(["field", "what it says", "default"], rows)


def _in_order() -> list[str]:
    """The pages of docs as the navigation has them."""
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    return [page for page in re.findall(r"[\w/-]+\.md", nav) if not page.startswith("files/")]


def _configuration(folder: Path) -> Path:
    """The project's, with the pages of the reference in its navigation."""
    head, nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")
    entries = yaml.safe_load(nav)
    (section,) = (entry for entry in entries if "Reference" in entry)
    section["Reference"] += reference.navigation()
    path = folder / "mkdocs.yml"
    path.write_text(f"{head}\n{yaml.safe_dump({'nav': entries})}")
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

"""Tutorials: scripts of examples/tutorials, run from top to bottom, become pages of docs/tutorials.

    python -m website.tutorials                      # all of them
    python -m website.tutorials when_to_explore

A script is in cells (`# %%` begins code, `# %% [markdown]` text), as editors and Jupyter know them.
Its docstring is the beginning of the page. It takes its size as arguments, so that the tests run it
small; the page has what it prints, and draws, without any.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "tutorials").glob("*.py"))
FIGURES = ROOT / "docs" / "tutorials" / "figures"
MARK = re.compile(r"^# %%(| \[markdown\])\n", re.MULTILINE)
OUTPUT = re.compile(r"^(?:```text\n.*?^```|!\[.*?\]\(.*?\))\n\n", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r'^([\w, ]+) = .*\bsys\.argv\b.*?(["\d][\d", ]*)\)*$', re.MULTILINE)
FOOT = """
This page is what [examples/tutorials/{name}.py](../../examples/tutorials/{name}.py) prints and
draws; it takes its size as arguments. For Jupyter there is [the same
notebook](../../examples/notebooks/{name}.ipynb). `python -m website.tutorials` runs both and writes
them.
"""


class Cell(NamedTuple):
    """A part of a script: its text, whether that is code, and the line where it begins."""

    text: str
    code: bool
    line: int


def cells(script: Path) -> list[Cell]:
    """The docstring, as text, and all cells."""
    source = script.read_text()
    marks = list(MARK.finditer(source))
    head, _, rest = source[: marks[0].start()].strip().strip('"').partition("\n")
    found = [Cell(f"# {head.rstrip('.')}\n{rest.rstrip()}", False, 1)]
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    for mark, end in zip(marks, ends, strict=True):
        text, line = source[mark.end() : end].strip("\n"), source.count("\n", 0, mark.end()) + 1
        plain = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        found.append(Cell(plain if mark[1] else text, not mark[1], line))
    return found


def run(script: Path, arguments: Sequence[str] = ()) -> Iterator[tuple[Cell, str, ModuleType]]:
    """Every cell with what it prints, as a module of its own in the present folder."""
    module = ModuleType(script.stem)
    module.__file__ = str(script)
    sys.modules[script.stem] = module  # what is pickled or compiled is looked up there
    before, sys.argv = sys.argv, [str(script), *arguments]
    try:
        for cell in cells(script):
            printed = io.StringIO()
            if cell.code:
                padded = "\n" * (cell.line - 1) + cell.text
                with contextlib.redirect_stdout(printed):
                    exec(compile(padded, str(script), "exec"), vars(module))
            yield cell, printed.getvalue(), module
    finally:
        sys.argv = before
        del sys.modules[script.stem]


def page(script: Path, results: Sequence[tuple[str, Sequence[str]]] = ()) -> str:
    """The page, with what each cell printed and drew; without results, its skeleton."""
    parts = []
    for i, cell in enumerate(cells(script)):
        parts.append(f"```python\n{sized(cell.text)}\n```" if cell.code else cell.text)
        printed, drawn = results[i] if results else ("", ())
        if printed.strip():
            parts.append(f"```text\n{printed.rstrip()}\n```")
        parts += [f"![{Path(p).stem.replace('-', ' ')}](figures/{p})" for p in drawn]
    return "\n\n".join(parts) + "\n" + FOOT.format(name=script.stem)


def sized(text: str, sizes: Sequence[str] = ()) -> str:
    r"""A cell whose sizes are numbers, these or its own, instead of arguments.

    >>> sized("import sys\n\na, b = (int(w) for w in sys.argv[1:3] or (\"2000\", \"256\"))")
    'a, b = 2000, 256'
    >>> sized("import sys\n\na = int(sys.argv[1]) if len(sys.argv) > 1 else 1500", ["30"])
    'a = 30'
    """
    if not SIZE.search(text):
        return text
    text = re.sub(r"^import sys\n+", "", text, flags=re.MULTILINE)
    return SIZE.sub(lambda m: f"{m[1]} = {', '.join(sizes) or m[2].replace(chr(34), '')}", text)


def skeleton(text: str) -> str:
    """A page without what its cells printed and drew."""
    return OUTPUT.sub("", text)


def write(script: Path) -> Path:
    """Run a tutorial in full and write its page and pictures."""
    results: list[tuple[str, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        known: set[str] = set()
        for _, printed, _ in run(script):
            pictures = {path.name for path in Path(folder).glob("*.svg")}
            results.append((printed, sorted(pictures - known)))
            known |= pictures
        for name in known:
            shutil.copy(Path(folder) / name, FIGURES / name)
    target = ROOT / "docs" / "tutorials" / f"{script.stem.replace('_', '-')}.md"
    target.write_text(page(script, results))
    return target


def main(names: Sequence[str]) -> None:
    """Write the pages and the notebooks of these tutorials, or of all."""
    from . import notebooks

    for script in SCRIPTS:
        if not names or script.stem in names:
            for written in (write(script), notebooks.write(script)):
                print(written.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main(sys.argv[1:])

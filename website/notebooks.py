"""Notebooks: the scripts of examples/tutorials as files that Jupyter opens, with what they show.

`python -m website.tutorials` writes them too. A notebook has the cells of its script, with three
changes: sizes are numbers instead of arguments, a cell that ends by printing a value or drawing a
figure shows it, and links lead from another folder.
"""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from .tutorials import ROOT, cells, sized

FOLDER = ROOT / "examples" / "notebooks"
SHOWN = re.compile(r"^print\((\w+)\)\Z|^(\w+)( = \w+\.plot\(.*\))\Z", re.MULTILINE)
UP = re.compile(r"(?<=\]\()\.\./")  # of links, from docs/tutorials
PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}
PATIENCE = 600
"""Seconds for a cell."""


def notebook(script: Path, sizes: Sequence[str] = ()) -> Any:
    """The script as a notebook that was not run yet, of its own size unless sizes are given."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": PYTHON})
    for number, cell in enumerate(cells(script)):
        make = nbformat.v4.new_code_cell if cell.code else nbformat.v4.new_markdown_cell
        text = as_code(cell.text, sizes) if cell.code else UP.sub("../../docs/", cell.text)
        made.cells.append(make(text, id=f"cell-{number}"))
    return made


def as_code(text: str, sizes: Sequence[str] = ()) -> str:
    r"""A cell of a script as one of a notebook.

    >>> as_code("print(result)"), as_code("figure = result.plot()")
    ('result', 'figure = result.plot()\nfigure')
    """
    return SHOWN.sub(lambda m: m[1] or f"{m[2]}{m[3]}\n{m[2]}", sized(text, sizes))


def run(made: Any, folder: Path) -> None:
    """Run a notebook in this folder; what its cells show becomes part of it."""
    where = {"metadata": {"path": str(folder)}}
    how = {"timeout": PATIENCE, "record_timing": False, "coalesce_streams": True}
    NotebookClient(made, resources=where, **how).execute()
    for cell in made.cells:
        if "outputs" in cell:  # of bars that were shown nothing is left
            cell.outputs = [out for out in cell.outputs if any(out.get("data", {"": 1}).values())]


def path_of(script: Path) -> Path:
    """Where the notebook of a script is."""
    return FOLDER / f"{script.stem}.ipynb"


def write(script: Path) -> Path:
    """Run the notebook in full, in a folder that goes away, and write it."""
    made = notebook(script)
    with tempfile.TemporaryDirectory() as folder:
        run(made, Path(folder))
    made.metadata.pop("language_info", None)  # which version of Python it was
    FOLDER.mkdir(exist_ok=True)
    nbformat.write(made, path_of(script))
    return path_of(script)

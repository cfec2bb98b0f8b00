"""Build the documentation: `make docs`, which is `python -m website`."""

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ["NO_MKDOCS_2_WARNING"] = "1"  # a banner of Material's; see CONTRIBUTING.md

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

from . import reference
from .stage import ROOT, stage

MARK = ".sojourn-site"
"""A file in folders that were written by this: MkDocs empties the folder it writes to."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Stage, build, and look whether every public name has its page; the exit code.

    What MkDocs warns of, a link that leads nowhere or a page that is not in the navigation, fails
    the build, and so does a public name without a docstring.
    """
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the folder to write")
    site: Path = parser.parse_args(arguments).site.resolve()
    if site.exists() and any(site.iterdir()) and not (site / MARK).exists():
        parser.error(f"--site {site} is not allowed: it has files, which the build would delete")
    site.mkdir(parents=True, exist_ok=True)
    (site / MARK).touch()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    try:
        with tempfile.TemporaryDirectory() as folder:
            build(load_config(str(stage(Path(folder))), site_dir=str(site), strict=True))
    except (LookupError, ValueError, MkDocsException) as error:
        print(error, file=sys.stderr)
        return 1
    if missing := reference.missing(site):
        print(f"public names without a page: {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"{site / 'index.html'}: {sum(1 for _ in site.rglob('*.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

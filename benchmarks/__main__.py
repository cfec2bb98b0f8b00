"""``python -m benchmarks``: measure, print tables, and write them down if asked to."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import deciding, many, policies, precision, rivals, serving
from .machine import cores, describe
from .plans import FULL, QUICK, Plan
from .report import heading, tables
from .timing import one_core

SCHEMA = 1
MARK = "<!-- figures: written by python -m benchmarks --markdown -->"
END = "<!-- end of figures -->"

PARTS: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "policies": lambda plan: policies.measure(plan),
    "many": lambda plan: {"many": many.measure(plan)},
    "precision": lambda plan: {"precision": precision.measure(plan)},
    "peers": lambda plan: rivals.measure(plan),
    "deciding": lambda plan: {"deciding": deciding.measure(plan)},
    "serving": lambda plan: {"serving": serving.measure(plan)},
}

LIVE = {"serving": serving, "deciding": deciding}
"""Parts that bring their own table."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ratios to bare loops, to other packages, and to the paper's precision.",
        epilog="example: python -m benchmarks --quick --only policies --json figures.json",
    )
    made.add_argument("--quick", action="store_true", help="rough figures in a few minutes")
    made.add_argument("--no-peers", action="store_true", help="install and run no other package")
    made.add_argument("--only", nargs="+", choices=PARTS, help="only these parts", metavar="PART")
    made.add_argument(
        "--markdown",
        type=Path,
        help="write the tables here, between the marks if it has them",
        metavar="FILE",
    )
    made.add_argument("--json", type=Path, help="write the figures here", metavar="FILE")
    return made


def collect(plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """All figures of these parts, measured on one core."""
    found: dict[str, Any] = {"schema": SCHEMA, "machine": describe(cores())}
    with one_core() as found["pinned"]:
        for part in parts:
            print(f"measuring: {part} ...", flush=True)
            found.update(PARTS[part](plan))
    return found


def write_between(page: Path, sections: Sequence[str]) -> None:
    """Write the sections to a file; if it has the marks, what is above and below them stays."""
    above, mark, rest = page.read_text().partition(MARK) if page.exists() else ("", "", "")
    _, end, below = rest.partition(END)
    if mark:
        sections = [above + mark, *sections, *([end + below.rstrip()] if end else [])]
    page.write_text("\n\n".join(sections) + "\n")


def main(arguments: Sequence[str] | None = None, plan: Plan | None = None) -> dict[str, Any]:
    """Measure and report; `plan` overrules --quick."""
    options = parser().parse_args(arguments)
    parts = [p for p in options.only or PARTS if not (p == "peers" and options.no_peers)]
    found = collect(plan or (QUICK if options.quick else FULL), parts)
    found["quick"] = options.quick
    made = tables(found, [part.table(found[n]) for n, part in LIVE.items() if n in found])
    print("\n\n".join(["", heading(found), *(table.text() for table in made)]))
    if options.markdown:
        write_between(options.markdown, [heading(found), *(table.markdown() for table in made)])
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return found


if __name__ == "__main__":
    main()

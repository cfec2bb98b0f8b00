"""``python -m attack``: attack the service in all ways, print a table, and say what fell."""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import (
    access,
    databases,
    disks,
    erasures,
    extremes,
    floods,
    fuzz,
    kills,
    monitors,
    operators,
    ramps,
    variants,
)
from .ground import Ground, kill
from .tally import Tally, stands, table

BUDGET = 540.0
"""Seconds for all scenarios; with `OVERTIME` it is ten minutes."""

GRACE, OVERTIME = 150.0, 60.0
"""Seconds after its time by which a scenario must have come to an end, and all of them."""

Run = Callable[[Ground, Tally, float], None]

FAMILIES = (
    access, fuzz, extremes, monitors, operators, erasures, floods, disks, kills, variants, ramps,
    databases,
)  # fmt: skip
SCENARIOS: dict[str, tuple[Run, float]] = {
    name: scenario for family in FAMILIES for name, scenario in family.SCENARIOS.items()
}
"""What is run, and its part of the time; those that take longer than theirs are last."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m attack",
        description="Kill, stop, fill, flood and fuzz the service; nothing acknowledged may fall.",
        epilog="example: python -m attack --only kill-sqlite fuzz --seconds 60",
    )
    made.add_argument(
        "--only", nargs="+", metavar="NAME", help="scenarios, or how their names begin"
    )
    made.add_argument(
        "--seconds", type=float, default=BUDGET, metavar="BUDGET",
        help="for all scenarios together (default: %(default)g)",
    )  # fmt: skip
    made.add_argument("--list", action="store_true", help="print the names of scenarios")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    return made


def chosen(only: Sequence[str] | None) -> dict[str, tuple[Run, float]]:
    """The scenarios with these names, or beginnings of names."""
    for name in only or ():
        if not any(known.startswith(name) for known in SCENARIOS):
            raise ValueError(f"--only {name} is not known: it must be of {', '.join(SCENARIOS)}")
    return {
        name: scenario
        for name, scenario in SCENARIOS.items()
        if only is None or any(name.startswith(one) for one in only)
    }


def attack(scenarios: Mapping[str, tuple[Run, float]], budget: float, tallies: list[Tally]) -> None:
    """Run them one after another, each with its part of the time that is left."""
    end = time.monotonic() + budget
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="sojourn-attack", ignore_cleanup_errors=True)
        )
        ground = Ground(Path(folder), stack)
        stack.callback(lambda: kill(ground.left_over()))
        weights = [weight for _, weight in scenarios.values()]
        for number, (name, (run, weight)) in enumerate(scenarios.items()):
            left = end - time.monotonic()
            seconds = max(0.0, left) * weight / sum(weights[number:])
            print(f"{name} ({seconds:.0f} s) ...", end=" ", flush=True)
            tallies.append(Tally(name))
            once(run, ground, tallies[-1], seconds, min(seconds + GRACE, left + OVERTIME))
            print("stands" if tallies[-1].stands else "FELL", flush=True)


def once(run: Run, ground: Ground, tally: Tally, seconds: float, most: float) -> None:
    """One scenario; whatever it raises is noted as what fell."""
    began = time.monotonic()
    try:
        with at_most(most):
            run(ground, tally, seconds)
        tally.expect(tally.calls > 0, "nothing was called: give it more time with --seconds")
    except Exception as error:
        sentence = " ".join(str(error).split())
        tally.expect(False, f"{type(error).__name__}: {sentence[-400:]}")
    finally:
        ground.clean(tally)
        tally.seconds = time.monotonic() - began


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block if it takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"it did not end within {seconds:.0f} s")

    if seconds <= 0.0:
        raise TimeoutError("no time was left for it: give it more with --seconds")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack; 0 if all stands, 1 if something fell, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    if options.list:
        print("\n".join(SCENARIOS))
        return 0
    try:
        scenarios = chosen(options.only)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tallies: list[Tally] = []
    interrupted = False
    try:
        attack(scenarios, options.seconds, tallies)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted")
    print(f"\n{table(tallies)}\n")
    print("It stands." if stands(tallies) else "It fell.")
    if options.json:
        options.json.write_text(json.dumps([asdict(tally) for tally in tallies], indent=1) + "\n")
    if interrupted:
        return 130
    return 0 if stands(tallies) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())

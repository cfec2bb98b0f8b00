"""What the figures were measured on."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("sojourn", "numpy", "numba", "llvmlite")


def cpu_model() -> str:
    """The processor's own name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Python and the packages that matter."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe(cores: int) -> dict[str, object]:
    """Processor, cores (those given: pinning hides the others), system, versions and date."""
    return {
        "cpu": cpu_model(),
        "cores": cores,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

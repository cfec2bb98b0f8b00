"""Other packages at the same job: what they need, and how their scripts are run.

A script is a file of this folder, run by an interpreter of its own, that prints one line of JSON:

    {"version": ..., "rows": [{"policy": ..., "ns": ..., "note": ...}],
     "checks": [{"policy": ..., "visits": ..., "runs": ..., "regret": ..., "std_error": ...}]}
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".venv-peers"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


class Unavailable(Exception):
    """A peer that cannot be run here, with the reason."""


@dataclass(frozen=True)
class Peer:
    """A package, the script that times it, and what pip needs to install it.

    A peer without requirements runs in the environment of the benchmarks.
    """

    name: str
    script: str
    requirements: tuple[str, ...] = ()


PEERS = (
    Peer("NumPy, in lockstep", "lockstep_numpy.py"),
    Peer("JAX, vmap", "lockstep_jax.py", ("jax>=0.4.30",)),
    Peer("river", "loop_river.py", ("river==0.26.1",)),
    Peer("SMPyBandits", "loop_smpybandits.py", ("SMPyBandits==0.9.7", "scipy<1.13", "numpy<2")),
    Peer("mabwiser", "loop_mabwiser.py", ("mabwiser==2.7.4",)),
)


def _call(command: list[str], seconds: float) -> str:
    """The output of a command; raises Unavailable with the last thing it said if it fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, **ONE_THREAD},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{type(error).__name__} after at most {seconds:g} s") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        raise Unavailable(errors[-1].strip() if errors else f"exit code {done.returncode}")
    return done.stdout


def interpreter(peer: Peer) -> str:
    """The interpreter to run a peer with; makes its environment if there is none yet."""
    if not peer.requirements:
        return sys.executable
    folder = HOME / peer.script.removesuffix(".py")
    wanted, ready = "\n".join(peer.requirements), folder / "ready"
    python = str(folder / "bin" / "python")
    if ready.exists() and ready.read_text() == wanted:
        return python
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n")
    _call([sys.executable, "-m", "venv", "--clear", str(folder)], 300)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([*pip, *peer.requirements], 1200)
    ready.write_text(wanted)
    return python


def ask(peer: Peer, seconds: float, rounds: int) -> dict[str, Any]:
    """What a peer's script says, with `seconds` for every repetition of a measurement."""
    script = str(HERE / peer.script)
    said = _call([interpreter(peer), script, str(seconds), str(rounds)], 900)
    answer: dict[str, Any] = json.loads(said.splitlines()[-1])
    return answer

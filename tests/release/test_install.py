"""The wheel in environments that have what it asks for and no more: core alone, and each extra.

`make release` makes them from the package index instead, and for every Python that is there.
"""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from environments import ROOT, Built, build, environment

SIMULATE = """
import sojourn as sj
problem = sj.Problem([0.9, 0.8], sj.TwoState(1, 0, 0, 0))
sj.simulate(problem, [sj.policies.FixedArm(1)], visits=50, runs=2).save("r.csv")
print(sj.Result.load("r.csv").regret.mean[0, -1] > 0)
"""

MISSING = {
    "sj.Result.load('r.csv').plot()": "a plot needs matplotlib: pip install 'sojourn[plot]'",
    "sj.Result.load('r.csv').to_frame()": "to_frame needs pandas: pip install 'sojourn[frame]'",
    "sj.simulate(sj.Problem([0.9, 0.8], sj.TwoState(1, 0, 0, 0)), 'UCB', client=1)": (
        "client needs distributed: pip install 'sojourn[cluster]'"
    ),
    "sj.gym": "sojourn.gym needs gymnasium: pip install 'sojourn[gym]'",
    "sj.fit('log.csv')": "a log needs ibis, duckdb: pip install 'sojourn[logs]'",
    "sj.client.Client('http://x')": "the client needs httpx: pip install 'sojourn[client]'",
    "sj.Experiment('e', ['a'], store='postgresql://x')": (
        "a store in PostgreSQL needs psycopg: pip install 'sojourn[postgres]'"
    ),
}  # fmt: skip
"""What an ImportError says in Python where an extra is missing."""

COMMANDS = {
    "simulate A --plot a.pdf": "--plot needs matplotlib: pip install 'sojourn[plot]'",
    "reproduce --quick": "a report needs matplotlib, jinja2: pip install 'sojourn[plot]'",
    "serve": (
        "serving needs fastapi, uvicorn, prometheus_client, jinja2: pip install 'sojourn[serve]'"
    ),
}
"""What a command says."""

RESULT = "import sojourn as sj; r = sj.Result.load('r.csv'); "
USES = {
    "plot": (RESULT + "r.plot('r.pdf'); print(open('r.pdf', 'rb').read()[:4])", "b'%PDF'"),
    "frame": (RESULT + "print(len(r.to_frame()) > 0)", "True"),
    "cluster": (
        "import sojourn as sj;"
        "sj.simulate(sj.Problem([0.9, 0.8], sj.TwoState(1, 0, 0, 0)), 'UCB', client=1)",
        "sojourn.InputError: client = 1 is not allowed: it must be a dask.distributed.Client",
    ),
    "gym": (
        "import gymnasium as g; e = g.make('sojourn.gym:sojourn/TwoState-v0', means=[0.7, 0.4]);"
        "e.reset(seed=1); print(round(e.step(1)[4]['gap'], 6))",
        "1.0",
    ),
    "logs": (
        "import sojourn as sj; log = {'visit': [1, 1, 1, 1, 1, 2, 2, 2, 2, 2],"
        "'arm': ['a', 'b'] * 5, 'reward': [0, 0, 1, 1, 0] * 2};"
        "print([arm.name for arm in sj.fit(log, ema=False).arms])",
        "['a', 'b']",
    ),
    "client": ("from sojourn.client import Client; print(bool(Client('http://x')))", "True"),
    "serve": (
        "from sojourn.service.app import create; from sojourn.service.options import Options;"
        "app = create(Options(store='memory://', compiled=False));"
        "print('/v1/experiments' in app.openapi()['paths'])",
        "True",
    ),
    "postgres": (
        "import sojourn as sj; sj.Experiment('e', ['a'], store='postgresql://127.0.0.1:9/x')",
        "accepting TCP/IP connections?)",
    ),
    "telemetry": (
        "from sojourn.service import telemetry; telemetry.Traces(telemetry._exporter('console'));"
        "print('traced')",
        "traced",
    ),
}  # fmt: skip
"""A use of each extra, and how what it prints ends."""

OF_A_RESULT = ("plot", "frame")
WITH = {"telemetry": ("serve",)}
"""Extras that mean something only together with others."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


def test_core_alone(built: Built, tmp_path: Path) -> None:
    """It simulates without writing to its own folder, says what is missing, and goes whole."""
    core = environment(tmp_path / "core", built.wheel)
    own = core.packages / "sojourn"
    installed = set(own.rglob("*"))
    assert core.says(SIMULATE) == "True"
    assert list(core.home.rglob("*.nbi")), "the compiled code is kept"
    assert set(own.rglob("*")) == installed, "and not where only installers may write"

    calls = "\n".join(f"try: {c}\nexcept ImportError as error: print(error)" for c in MISSING)
    assert core.says(f"import sojourn as sj\n{calls}").splitlines() == [*MISSING.values()]
    for command, sentence in COMMANDS.items():
        done = core.run("sojourn", *command.split())
        assert done.returncode == 2 and done.stderr.endswith(f"error: {sentence}\n")
    assert core.run("sojourn", "theory", "A").returncode == 0

    for extra in OF_A_RESULT:
        code, end = USES[extra]
        other = environment(tmp_path / extra, built.wheel, extra)
        shutil.copy(core.home / "r.csv", other.home)
        assert other.says(code) == end

    core.pip("uninstall", "--yes", "sojourn")
    assert core.says("import sojourn").endswith("ModuleNotFoundError: No module named 'sojourn'")
    assert not own.exists()


@pytest.mark.parametrize("extra", [extra for extra in USES if extra not in OF_A_RESULT])
def test_an_extra_brings_all_it_takes(extra: str, built: Built, tmp_path: Path) -> None:
    code, end = USES[extra]
    made = environment(tmp_path / extra, built.wheel, extra, *WITH.get(extra, ()))
    assert made.says(code).endswith(end)


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*USES} == {*project["optional-dependencies"]} - {"all", "dev"}


@pytest.mark.release
@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_every_python(minor: int, built: Built, tmp_path: Path) -> None:
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-V"], check=False).returncode:
        pytest.skip(f"no Python 3.{minor} here")
    made = environment(tmp_path / "env", built.wheel, "all", python=python)
    assert made.says(SIMULATE) == "True"
    code, end = USES["logs"]
    assert made.says(code) == end

"""What is in the wheel and the source distribution, and what they say of themselves."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from environments import ROOT, Built, build, environment

import sojourn

DOWNSTREAM = """\
import sojourn as sj
from sojourn.client import Client

problem = sj.Problem(means=[0.9, 0.8], user=sj.TwoState(q00=1, q01=0, q10=0, q11=0))
value: float = problem.value(1)
result: sj.Result = sj.simulate(problem, [sj.policies.UCB(), sj.policies.KLULCB()], visits=100)
wrong: str = problem.value(1)
wrong = Client("http://x")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


def files_of(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_index_would_take_them(built: Built) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_the_wheel_says_of_itself(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
        (metadata,) = [n for n in names if n.endswith(".dist-info/METADATA")]
        said = message_from_bytes(archive.read(metadata))
    assert said["Version"] == sojourn.__version__
    assert said["License-Expression"] == "MIT AND 0BSD"
    folder = metadata.rpartition("/")[0]
    for licence in said.get_all("License-File", []):
        assert f"{folder}/licenses/{licence}" in names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"sojourn", folder} and "sojourn/py.typed" in names
    pythons = {c.rpartition(" ")[2] for c in said.get_all("Classifier", []) if "Python :: 3." in c}
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}


def test_the_wheel_has_the_templates(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    for file in (ROOT / "src" / "sojourn").rglob("templates/**/*"):
        if file.is_file():
            assert file.relative_to(ROOT / "src").as_posix() in names, file
    assert "sojourn/paper/templates/report.html" in names


def test_the_source_distribution_has_all_that_is_kept(built: Built) -> None:
    """Whoever has it can run the tests and build the site."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = files_of(built.sdist)
    assert {name for name in listed.stdout.splitlines() if (ROOT / name).exists()} <= files
    assert not {name for name in files if name.endswith((".pyc", ".nbi", ".nbc", ".db"))}


def test_a_type_checker_downstream_sees_the_types(built: Built, tmp_path: Path) -> None:
    made = environment(tmp_path / "env", built.wheel)
    (tmp_path / "own.py").write_text(DOWNSTREAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
         "--python-executable", made.python, "own.py"],
        cwd=tmp_path, env={"PATH": "/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[:2] == [
        'own.py:7: error: Incompatible types in assignment (expression has type "float", '
        'variable has type "str")  [assignment]',
        'own.py:8: error: Incompatible types in assignment (expression has type "Client", '
        'variable has type "str")  [assignment]',
    ] and done.stdout.splitlines()[2].startswith("Found 2 errors")


@pytest.mark.release
def test_the_tests_can_be_collected_from_the_source_distribution(
    built: Built, tmp_path: Path
) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only"]
    variables = {"PYTHONPATH": str(folder / "src"), "PATH": "/bin"}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]

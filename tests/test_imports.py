"""What a process loads: no more than it uses."""

import subprocess
import sys

import pytest

HEAVY = ("numba", "numpy", "matplotlib", "ibis", "fastapi", "rich", "typer", "pandas", "polars")


def loaded(code: str) -> set[str]:
    """The modules of a fresh process after this."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def rooms(modules: set[str]) -> set[str]:
    return {name.split(".")[1] for name in modules if name.startswith("sojourn.")}


def test_the_package_alone_loads_nothing() -> None:
    modules = loaded("import sojourn")
    assert not modules.intersection(HEAVY)
    assert rooms(modules) == {"lazy", "version"}


def test_files_of_keys_need_neither_the_compiler_nor_the_server() -> None:
    modules = loaded("from sojourn.service.auth import keys")
    assert not modules.intersection(HEAVY)


def test_a_client_of_the_api_needs_neither_the_compiler_nor_the_server() -> None:
    modules = loaded("from sojourn.client import Client, AsyncClient")
    assert not modules.intersection(HEAVY)
    assert not rooms(modules) & {"engine", "policies", "users", "service", "simulation"}


@pytest.mark.parametrize(
    "code",
    [
        "from sojourn.service.app import create; from sojourn.service.options import Options; "
        "create(Options(store='memory://', compiled=False))",
        "import sojourn as sj; sj.Experiment('e', ['a'], compiled=False).visit().choose()",
    ],
    ids=["service", "in process"],
)
def test_a_process_that_serves_loads_no_simulation_logs_or_lab(code: str) -> None:
    modules = loaded(code)
    assert "sojourn.live.experiment" in modules
    assert not rooms(modules) & {"simulation", "logs", "paper", "cli", "recommendation", "gym"}
    assert not modules & {"ibis", "matplotlib", "pandas", "polars", "typer"}


def test_simulating_loads_no_service_and_no_logs() -> None:
    modules = loaded("import sojourn as sj; sj.simulate")
    assert not rooms(modules) & {"service", "live", "logs", "paper", "cli", "client"}
    assert not modules & {"dask", "distributed", "matplotlib", "pandas", "polars", "ibis"}


def test_public_names_are_listed_and_found() -> None:
    """One explicit list of at most 25 names, each of which is found; the rest is one level down."""
    import sojourn as sj

    assert dir(sj) == sorted(sj.__all__) and len(sj.__all__) <= 24
    for name in sj.__all__:
        assert getattr(sj, name) is not None
    assert {"Chain", "Experiment", "Policy", "fit", "simulate"} <= set(sj.__all__)
    assert {"policies", "users", "rewards", "theory", "live", "logs"} <= set(sj.__all__)
    for name in ("Bandit", "KLULCB", "Levels"):
        with pytest.raises(AttributeError, match=f"module 'sojourn' has no attribute '{name}'"):
            getattr(sj, name)

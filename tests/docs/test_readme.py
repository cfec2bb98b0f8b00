"""README.md: short, true to the benchmarks, and readable on a package index."""

import re
from pathlib import Path
from types import ModuleType

import pytest
from small import module_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?:|#)")


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The module that hatchling loads; it is no part of the package."""
    pytest.importorskip("hatchling")
    return module_of(ROOT / "hatch_build.py", "hatch_build")


def test_it_is_short_and_has_one_picture() -> None:
    assert len(README.splitlines()) <= 120
    assert README.count("![") == 1


def test_on_an_index_every_link_leads_somewhere(hook: ModuleType) -> None:
    assert RELATIVE.search(README)
    made = hook.absolute(README, "https://host/us/it")
    assert not RELATIVE.search(made)
    kinds = re.findall(r"\]\(https://host/us/it/(blob|raw)/HEAD/([^)#]+)", made)
    assert {kind for kind, _ in kinds} == {"blob", "raw"}
    assert all((ROOT / path).exists() for _, path in kinds)
    unhosted = hook.absolute(README, None)
    assert not RELATIVE.search(unhosted) and "![" not in unhosted
    assert "docs/benchmarks.md" in unhosted and "https://jmlr.org/" in unhosted


def test_the_hook_sets_the_description(hook: ModuleType) -> None:
    metadata: dict[str, object] = {"urls": {"Repository": "https://host/us/it"}}
    hook.CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert metadata["readme"] == {
        "content-type": "text/markdown",
        "text": hook.absolute(README, "https://host/us/it"),
    }


@pytest.mark.parametrize("package", ["Sojourn", "SMPyBandits", "MABWiser", "river"])
def test_its_table_has_the_figures_of_the_benchmarks(package: str) -> None:
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    (measured,) = re.findall(
        rf"^\| {package} \| UCB \|.*\| ([\d,.]+) \| [\d,.]+ \|$", benchmarks, re.M | re.I
    )
    (told,) = re.findall(rf"^\| \[?{package}\b.* ([\d,.]+) \|$", README, re.M)
    value, said = (float(x.replace(",", "")) for x in (measured, told))
    assert said == pytest.approx(value, rel=0.03)

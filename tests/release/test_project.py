"""The files around the package: citation, licences of others, templates and workflows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from environments import ROOT

import sojourn

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(file for file in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if file.stem != "config")
SCHEMAS = {
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": [GITHUB / "workflows" / "test.yml"],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
}
VENDORED = {
    ROOT / "src/sojourn/service/dashboard/static/vendor": "VERSIONS.md",
    ROOT / "docs/assets/vendor": "VERSIONS.txt",
}
LICENCES = {
    "MIT": "Permission is hereby granted, free of charge, to any person obtaining a copy",
    "0BSD": "any purpose with or without fee is hereby granted",
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_the_host_are_what_it_reads(schema: str) -> None:
    assert SCHEMAS[schema]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run(
        [*command, *map(str, SCHEMAS[schema])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_workflows_are_safe() -> None:
    """zizmor: actions pinned, no credentials kept, no more rights than needed, nothing injected."""
    command = [Path(sys.executable).with_name("zizmor"), "--offline", str(GITHUB)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_workflows_run_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    runs = [
        step["run"]
        for file in WORKFLOWS
        for job in yaml.safe_load(file.read_text())["jobs"].values()
        for step in job.get("steps", ())
        if "run" in step
    ]
    made = {run.split()[1] for run in runs if run.startswith("make ")}
    assert made == {"test", "coverage", "docs", "release"} and made < targets


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == sojourn.__version__
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Yang", "Liu", "Ying"]
    assert (paper["year"], paper["volume"], paper["issue"]) == (2024, 25, "9")
    assert (paper["start"], paper["end"]) == (1, 55)
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None and first[1] == sojourn.__version__


@pytest.mark.parametrize("folder", VENDORED, ids=lambda folder: folder.parent.name)
def test_scripts_of_others_have_their_licence_beside_them(folder: Path) -> None:
    """Each file is listed with package, version and licence, and the licence is what it says."""
    listed = (folder / VENDORED[folder]).read_text()
    scripts = [file for file in folder.iterdir() if file.suffix in (".js", ".css")]
    assert scripts
    for script in scripts:
        (line,) = [line for line in listed.splitlines() if script.name in line]
        assert re.search(r"\d+\.\d+\.\d+", line)
        (licence,) = [name for name in LICENCES if re.search(rf"\b{name}\b", line)]
        text = (folder / f"{script.name.split('.')[0]}.LICENSE.txt").read_text()
        assert LICENCES[licence] in " ".join(text.split())


def test_no_script_of_others_is_anywhere_else() -> None:
    scripts = {path for suffix in ("js", "css") for path in ROOT.glob(f"src/**/*.min.{suffix}")}
    assert {path.parent for path in scripts} == {next(iter(VENDORED))}


def test_the_checklists_name_files_that_exist() -> None:
    """A box is ticked with what shows it, or left open with the reason."""
    text = (ROOT / "docs/checklists.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!box|---)(.+?) \| (.*?) \| ?(.*?) ?\|$", text, re.MULTILINE)
    assert len(rows) > 80 and {mark for _, mark, _ in rows} == {"✓", "**open**", "*reviewer*"}
    assert all(why for _, mark, why in rows if mark == "**open**")
    for file in re.findall(r"`([\w./]*[\w/]\.\w+|LICENSE|docs|tests|examples)`", text):
        assert (ROOT / file).exists(), file

"""`ValueError` is what others raise: a caller's mistake is an `InputError`, anything else a bug."""

import ast
from pathlib import Path

import sojourn

SOURCE = Path(sojourn.__file__).parent


def raised(node: ast.Raise) -> str:
    """The name of what is raised, with or without arguments."""
    error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return error.id if isinstance(error, ast.Name) else ""


def test_the_package_never_raises_value_error() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and raised(node) == "ValueError"
    ]
    assert not found, f"raise InputError (bad input) or another error: {found}"

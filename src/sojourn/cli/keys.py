"""The command `sojourn keys`: make, list and revoke API keys."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from .. import validation
from ..validation import InputError
from .arguments import OPERATE, AsJson, group, option
from .output import print_json

command = group(
    OPERATE,
    "keys",
    "API keys of the service.",
    "sojourn keys new keys.json --experiment shorts --expires 90",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of keys (hashes only).")]


@command("new", "sojourn keys new keys.json --experiment shorts --expires 90")
def new_command(
    file: File,
    experiment: Annotated[
        list[str] | None,
        option("An experiment it may use; '*': all. Repeat for more.", metavar="NAME"),
    ] = None,
    role: Annotated[
        str,
        option(
            "decide: visits only, for front ends; read: reading only; owner: everything in its "
            "experiments; operator: everything in all experiments.",
            metavar="decide|read|owner|operator",
        ),
    ] = "owner",
    expires: Annotated[
        float | None, option("Days until it expires; default: never.", metavar="DAYS")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key. It is printed once; the file stores only its hash."""
    from ..service.auth import keys

    validation.one_of("--role", role, keys.ROLES)
    if not experiment and role == keys.OPERATOR:
        experiment = [keys.ALL]
    if not experiment:
        raise InputError("--experiment is missing: give a name, or '*' for all experiments")
    if expires is not None and not 0.0 < expires <= 36_500.0:
        raise InputError(f"--expires {expires:g} is not allowed: it must be from 0 to 36500 days")
    key, token = keys.make(file, experiment, expires, role)
    print_json({"id": key.id, "key": token}) if as_json else print(token)


@command("list", "sojourn keys list keys.json")
def list_command(file: File, as_json: AsJson = False) -> None:
    """List the keys in a file: id, role, experiments and expiry."""
    from ..service.auth import keys

    found = list(keys.read(file).values())
    if as_json:
        names = ("id", "role", "experiments", "made", "expires")
        print_json([{name: getattr(key, name) for name in names} for key in found])
        return
    width = max((len(", ".join(key.experiments)) for key in found), default=0)
    for key in found:
        until = "for ever" if key.expires is None else f"until {_day(key.expires)}"
        of = ", ".join(key.experiments)
        print(f"{key.id}  {key.role:8}  {of:{width}}  since {_day(key.made)}  {until}")


@command("revoke", "sojourn keys revoke keys.json 1f2e3d4c")
def revoke_command(
    file: File, id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key.")]
) -> None:
    """Remove a key from the file; a running service notices within a second."""
    from ..service.auth import keys

    keys.revoke(file, id)


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"

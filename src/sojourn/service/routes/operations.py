"""What operators do: drop experiments, erase users, see who changed what; and the archive."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query, Request

from ...live import LiveError, Store, archive, drop_archived, erase_archived
from ...live.stores.base import all_of_their_own
from ...validation import InputError
from .. import bodies
from ..answers import ChangesOut, Dropped, Erased
from ..catalog import Catalog
from ..options import Options
from .base import EXPERIMENT, Call, Named

DAY, ROUND = 86_400.0, 3600.0  # seconds of a day, and between two rounds of archiving
MOST_CHANGES = 1000

log = logging.getLogger("sojourn.service")


async def drop_experiment(request: Request, experiment: Named) -> Dropped:
    """Delete an experiment with its variants and all they have, and what is archived of them."""
    state = request.app.state
    for name in await state.catalog.drop(experiment):
        if state.options.archive is not None:
            await asyncio.to_thread(drop_archived, name, state.options.archive)
    return Dropped(experiment)


async def erase_user(request: Request, user: Named) -> Erased:
    """Forget the id of a user everywhere; their visits stay, as nobody's."""
    store, folder = request.app.state.catalog.journal.store, request.app.state.options.archive

    def work() -> Erased:
        found = store.erase(user)
        if folder is None:
            return Erased(found, None if store.parts() else 0)
        return Erased(found, erase_archived(store, user, folder))

    return await asyncio.to_thread(work)


async def list_changes(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MOST_CHANGES)] = 100,
    experiment: bodies.Name | None = None,
) -> dict[str, Any]:
    """Who changed what: the audit log, the latest first."""
    journal = request.app.state.catalog.journal
    found = await journal.show(partial(journal.store.edits, limit, experiment))
    return {"changes": [edit._asdict() for edit in found]}


async def keep_archiving(catalog: Catalog, options: Options) -> None:
    """Move old visits to the archive, once an hour, until cancelled, whatever fails meanwhile."""
    folder, days, store = options.archive, options.keep_days, catalog.journal.store
    assert folder is not None
    assert days is not None
    while True:
        try:
            before = await asyncio.to_thread(store.now) - DAY * days
            for name in await asyncio.to_thread(all_of_their_own, store):
                await _archive(store, name, before, folder)
        except LiveError as error:
            log.warning("archive: %s", error)
        except Exception:
            log.exception("archive: tried again in an hour")
        await asyncio.sleep(ROUND)


async def _archive(store: Store, name: str, before: float, folder: Path) -> None:
    try:
        done = await asyncio.to_thread(archive, store, name, before, folder)
    except (OSError, InputError) as error:
        log.warning("archive: %s", error, extra={"experiment": name})
        return
    if done.visits:
        log.info("archived", extra={"experiment": name, **done._asdict()})


CALLS = (
    Call("DELETE", EXPERIMENT, drop_experiment, Dropped, statuses=(404, 409)),
    Call("DELETE", "/v1/users/{user}", erase_user, Erased),
    Call("GET", "/v1/changes", list_changes, ChangesOut),
)

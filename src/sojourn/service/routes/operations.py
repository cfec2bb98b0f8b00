"""The routes of operators: drop experiments, erase users, read the audit log; and the archive."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import Query, Request, Response

from ...live import Busy, Edit, LiveError, NotFound, Store, archive, drop_archived, erase
from ...live.archiving import Erased, dropped_parts, finish_erasing
from ...live.stores.base import LEASE, all_of_their_own
from ...validation import InputError
from .. import bodies
from ..answers import Changes, Dropped
from ..catalog import Catalog
from ..options import Options
from .base import EXPERIMENT, Call, Named

DAY, ROUND = 86_400.0, 3600.0  # seconds of a day, and between two rounds of archiving
MOST_CHANGES = 1000

log = logging.getLogger("sojourn.service")


async def drop_experiment(request: Request, experiment: Named) -> Dropped:
    """Delete an experiment, its variants and all their data, archived files included."""
    state = request.app.state
    store, folder = state.catalog.journal.store, state.options.archive
    removed, kept = 0, 0
    for name in await state.catalog.drop(experiment):
        if folder is not None:
            try:
                removed += await asyncio.to_thread(drop_archived, store, name, folder)
            except LiveError as error:  # the experiment is gone all the same
                log.warning("the archive of the dropped experiment stays: %s", error)
        kept += len(await asyncio.to_thread(dropped_parts, store, name))
    return Dropped(experiment, removed, kept)


async def erase_user(request: Request, response: Response, user: Named) -> Erased:
    """Erase a user's id everywhere; the visits stay, without a user.

    202 if the archive is not done yet: another call is using it, or the service does not know its
    folder.
    """
    state = request.app.state
    store, folder = state.catalog.journal.store, state.options.archive
    found = await asyncio.to_thread(erase, store, user, folder)
    if found.archived is None:
        response.status_code = 202
    return found


async def list_changes(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MOST_CHANGES)] = 100,
    experiment: bodies.Name | None = None,
) -> Changes:
    """Get the audit log, the latest changes first."""
    journal = request.app.state.catalog.journal
    found = await journal.show(partial(journal.store.series, Edit, experiment, limit=limit))
    return Changes(found)


async def keep_up(catalog: Catalog, options: Options) -> None:
    """Once an hour, until cancelled: move old visits to the archive, and finish erasures."""
    store = catalog.journal.store
    while True:
        pause = ROUND
        try:
            await asyncio.to_thread(_finish, store, options.archive)
            if options.archive is not None and options.keep_days is not None:
                before = await asyncio.to_thread(store.ping) - DAY * options.keep_days
                for name in await asyncio.to_thread(all_of_their_own, store):
                    await _archive(store, name, before, options.archive)
        except Busy as error:  # another process is at it, or has died and still has the lease
            log.info("archive: %s", error)
            pause = min(LEASE, ROUND)
        except LiveError as error:
            log.warning("archive: %s", error)
        except Exception:
            log.exception("archive: tried again in an hour")
        await asyncio.sleep(pause)


def _finish(store: Store, folder: Path | None) -> None:
    with store.upkeep() as upkeep:
        finish_erasing(store, upkeep, folder)


async def _archive(store: Store, name: str, before: float, folder: Path) -> None:
    try:
        done = await asyncio.to_thread(archive, store, name, before, folder)
    except NotFound:
        return  # it was dropped just now
    except (OSError, InputError) as error:
        log.warning("archive: %s", error, extra={"experiment": name})
        return
    if done.visits:
        log.info("archived", extra={"experiment": name, **done._asdict()})


CALLS = (
    Call("DELETE", EXPERIMENT, drop_experiment, Dropped, statuses=(404, 409)),
    Call("DELETE", "/v1/users/{user}", erase_user, Erased, statuses=(202,)),
    Call("GET", "/v1/changes", list_changes, Changes),
)

"""A visit as the store has it."""

from sojourn.live import Visit
from sojourn.live.records import Row
from sojourn.live.stores.base import find_visit


def row_of(visit: Visit) -> Row:
    """The row of a visit, in whichever branch of its experiment it is."""
    for branch in visit.experiment.variants.values():
        row = find_visit(branch.journal.store, branch.name, visit.id)
        if row is not None:
            return row
    raise LookupError(visit.id)

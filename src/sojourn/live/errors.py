"""The errors of live visits."""

from ..validation import InputError


class LiveError(Exception):
    """Base of the errors of live visits; bad arguments raise InputError."""


class Busy(LiveError):
    """Nothing was done, try again in a moment: the queue is full, or others have the lease."""


class Damaged(LiveError):
    """A file of the archive is missing, or it is not the file that was written."""


class Unavailable(LiveError):
    """The store failed: whether the call was committed is unknown, so retry with its request id."""


class Broken(LiveError):
    """An experiment whose settings cannot be served: give it others, or drop it."""


class Conflict(LiveError):
    """The call contradicts what is stored, such as another reward for the same step."""


class Ended(LiveError):
    """The visit is over: open another one."""


class InUse(InputError):
    """A SQLite file is open in another process."""


class Forked(LiveError):
    """The experiment was opened before a fork, and its store cannot be opened again here."""


class NotFound(LiveError):
    """There is no such experiment, visit or step."""

"""What can go wrong while serving, each with a class of its own and one sentence."""


class LiveError(Exception):
    """Base of the errors below; bad arguments are ValueErrors as everywhere."""


class Busy(LiveError):
    """The queue to the store is full: nothing was done, try again in a moment."""


class Unavailable(LiveError):
    """The store failed: whether the call was kept is not known, so repeat it with its request id.

    What the policy has learned is read from the store again before the next decision.
    """


class Conflict(LiveError):
    """The call contradicts what was kept before, such as another reward for the same step."""


class Ended(LiveError):
    """The visit is over: open another one."""


class InUse(ValueError):
    """A file that serves one process at a time is open in another one."""


class NotFound(LiveError):
    """There is no such experiment, visit or step."""

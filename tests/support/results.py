"""When two results are the same: in every bit of every moment."""

import numpy as np

from sojourn import Result


def assert_same(one: Result, other: Result) -> None:
    assert one.runs == other.runs
    assert one.streams == other.streams
    assert one.policies == other.policies
    assert one.problem == other.problem
    np.testing.assert_array_equal(one.checkpoints, other.checkpoints)
    for mine, theirs in zip(one.moments + one.pairs, other.moments + other.pairs, strict=True):
        assert mine.runs == theirs.runs
        assert mine.mean.tobytes() == theirs.mean.tobytes()
        assert mine.squares.tobytes() == theirs.squares.tobytes()

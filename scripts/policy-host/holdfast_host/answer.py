"""Judges what `act` answered, before any of it is sent: rows of finite floats of the promised
shape. What is wrong is told in one line, with what was expected and found."""

from __future__ import annotations

import numpy as np


class BadAnswer(Exception):
    """What `act` answered is no chunk. The text is for a person."""


def rows_of(answer: object, shape: tuple[int, int]) -> np.ndarray:
    """The answer as float32 rows. Raises BadAnswer."""
    if answer is None:
        raise BadAnswer("act decided nothing: expected rows, found None (is a return missing?)")
    try:
        rows = np.asarray(answer)
    except Exception as error:  # whatever the policy answered has its own ways to fail
        raise BadAnswer(f"act answered no array: {type(error).__name__}: {error}") from error
    if rows.dtype.kind != "f":
        raise BadAnswer(f"act answered the wrong type: expected floats, found {rows.dtype}")
    if rows.shape != shape:
        horizon, width = shape
        expected = f"{shape}, {horizon} rows of {width}"
        raise BadAnswer(f"act answered the wrong shape: expected {expected}, found {rows.shape}")
    with np.errstate(over="ignore"):  # too large becomes infinite, which is told below
        narrow = rows.astype(np.float32)
    bad = np.argwhere(~np.isfinite(narrow))
    if len(bad) > 0:
        row, column = bad[0]
        place = f"row {row}, column {column}"
        found = rows[row, column]
        raise BadAnswer(f"act answered no number at {place}: expected finite ones, found {found}")
    return narrow

"""Runs of row numbers: which rows of a row group, or of a file, are wanted.

Pure. Start at `Ranges`.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Ranges", "joined", "rows_count", "rows_in", "runs_near", "runs_where"]

Ranges: TypeAlias = npt.NDArray[np.int64]
"""Shape (n, 2): the first row of each run and the one behind its last; ascending, none empty, none touching."""


def rows_count(ranges: Ranges) -> int:
    """Count the rows.

    Shape: of all runs.
    """
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def rows_in(ranges: Ranges) -> npt.NDArray[np.int64]:
    """Number every row.

    Shape: one number a row, ascending.
    """
    counts = ranges[:, 1] - ranges[:, 0]
    rows: npt.NDArray[np.int64] = np.repeat(ranges[:, 0] - (np.cumsum(counts) - counts), counts)
    rows += np.arange(counts.sum())
    return rows


def runs_where(flags: npt.NDArray[np.bool_], ends: npt.NDArray[np.int64]) -> Ranges:
    """Return the rows of those segments that are flagged.

    Shape: one flag a segment, and the row behind its last; a segment begins where the one before ends.
    """
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    starts = np.concatenate(([0], ends[:-1]))
    return np.stack((starts[edges[:-1] == 1], ends[edges[1:] == -1]), axis=1).astype(np.int64)


def runs_near(rows: npt.NDArray[np.int64], most_apart: int) -> Ranges:
    """Return runs that hold all of some rows, with those between two that are not far from each other.

    Shape: rows ascending, each once.
    """
    breaks = np.flatnonzero(np.diff(rows) > most_apart)
    starts = rows[np.concatenate(([0], breaks + 1))] if len(rows) else rows
    ends = rows[np.concatenate((breaks, [-1]))] + 1 if len(rows) else rows
    return np.stack((starts, ends), axis=1).astype(np.int64)


def joined(one: Ranges, other: Ranges) -> Ranges:
    """Return the rows that are in either.

    Shape: rows of one row group, or of one file, in all three.
    """
    every = np.concatenate((one, other))
    every = every[np.argsort(every[:, 0], kind="stable")]
    reached = np.maximum.accumulate(every[:, 1])
    begins = np.concatenate(([True], every[1:, 0] > reached[:-1]))[: len(every)]
    last = np.concatenate((begins[1:], [True]))[: len(every)]
    return np.stack((every[begins, 0], reached[last]), axis=1)

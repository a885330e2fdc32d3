"""Visible data files, with a number for each file group and instant, so that slicing compares whole numbers.

Pure. Start at `numbered`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.filegroup.name_columns import base_files, log_files

__all__ = ["Flags", "Ints", "NumberedFiles", "at_or_before", "numbered"]

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
_COMMON = ("partition", "file_id", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedFiles:
    """Visible base and log files. A key is a group's number and behind it an instant's: by group, then by time."""

    bases: pa.Table
    """`filegroup.name_columns.BASES`."""
    logs: pa.Table
    """`filegroup.name_columns.LOGS`."""
    times: Sequence[str]
    """The distinct instants in names, in order; the place of one is its number."""
    base_keys: Ints
    log_keys: Ints

    @property
    def span(self) -> int:
        """Return by how much the keys of neighbouring groups differ."""
        return max(1, len(self.times))


def numbered(
    files: pa.Table, is_base_visible: Callable[[str], bool], is_log_visible: Callable[[str], bool]
) -> NumberedFiles:
    """Read the names of files whose instants are visible; each instant is asked once.

    Shape:  `filegroup.file_index.FILES`.
    Raises: Unsupported for native log files.
    """
    bases = _visible(base_files(files), is_base_visible)
    logs = _visible(log_files(files), is_log_visible)
    both = pa.concat_tables([bases.select(_COMMON), logs.select(_COMMON)])
    partitions, file_ids, times = (both.column(name).combine_chunks().dictionary_encode() for name in _COMMON)
    groups = _codes(partitions) * max(1, len(file_ids.dictionary)) + _codes(file_ids)
    found = times.dictionary.to_pylist()
    order = sorted(found)
    numbers = {time: number for number, time in enumerate(order)}
    ranks = np.array([numbers[time] for time in found], np.int64)[_codes(times)]
    keys = _codes(pa.array(groups).dictionary_encode()) * max(1, len(order)) + ranks
    return NumberedFiles(bases=bases, logs=logs, times=order, base_keys=keys[: len(bases)], log_keys=keys[len(bases) :])


def at_or_before(sorted_keys: Ints, keys: Ints, span: int) -> Ints:
    """Find the last of some keys that is not behind a key, in its group: its place; -1 where none is."""
    at = np.searchsorted(sorted_keys, keys, side="right") - 1
    if len(sorted_keys) == 0:
        return at
    return np.where((at >= 0) & (sorted_keys[at] // span == keys // span), at, -1)


def _visible(files: pa.Table, is_visible: Callable[[str], bool]) -> pa.Table:
    times = files.column("time").combine_chunks().dictionary_encode()
    answers = [is_visible(time) for time in times.dictionary.to_pylist()]
    if all(answers):
        return files
    return files.filter(pa.array(answers, pa.bool_()).take(times.indices))


def _codes(encoded: pa.DictionaryArray) -> Ints:
    codes: Ints = encoded.indices.to_numpy().astype(np.int64)
    return codes

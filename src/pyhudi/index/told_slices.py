"""Leave out file slices that have none of some keys, by statistics and the record index, whatever index a write has.

A merge knows the keys of its source before it looks for them; most files of a large table have none of them. Start at
`slices_told`.

Spec: format/metadata-table 8.6, 8.8.
"""

import logging
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import FileSlice
from pyhudi.index.bloom import told_key_ranges
from pyhudi.metadata.names import MetadataPartition

__all__ = ["MOST_KEYS", "slices_told"]

MOST_KEYS: Final = 100_000
"""More keys than these are looked for in the files."""
_BLOCK_BYTES: Final = 64 << 10
"""What a look-up of one key in the record index reads at most, roughly."""
_log = logging.getLogger("pyhudi.index")


def slices_told(files: FileIndex, keys: pa.Array | pa.ChunkedArray, slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Return the slices that may have one of the keys; those with logs, which may have any, are among them.

    `slices` are all that are visible of their partitions.

    Cost: the statistics of record keys; of the record index the blocks that may have the keys, where they are fewer
          bytes than the files that are left. Nothing for more than `MOST_KEYS` keys, or where each slice has logs.
    """
    bases = [one for one in slices if one.base is not None and not one.logs]
    if len(bases) < 2 or len(keys) > MOST_KEYS:
        return list(slices)
    near = _by_range(files, keys, bases)
    stored_bytes = sum(one.base.size_bytes for one in near if one.base is not None)
    if len(near) > 1 and len(keys) * _BLOCK_BYTES <= stored_bytes:
        near = _by_places(files, keys, near, slices)
    left = {one.group for one in near}
    return [one for one in slices if one.base is None or one.logs or one.group in left]


def _by_range(files: FileIndex, keys: pa.Array | pa.ChunkedArray, slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Keep the slices between whose least and greatest key there is one of the keys, or whose bounds are not known."""
    ranges = told_key_ranges(files, [one.base for one in slices if one.base is not None])
    known = [one for one in slices if one.base is not None and one.base.name in ranges]
    bounds = [ranges[one.base.name] for one in known if one.base is not None]
    has_key = _reach(keys, pa.array([low for low, _ in bounds], pa.string()), [high for _, high in bounds])
    gone = {one.group for one, holds in zip(known, has_key, strict=True) if not holds}
    return [one for one in slices if one.group not in gone]


def _reach(keys: pa.Array | pa.ChunkedArray, lows: pa.Array, highs: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which closed ranges have a key.   Shape: any number of keys, n lows and highs -> n booleans."""
    distinct = pc.unique(keys)
    everything = pa.concat_arrays([lows, distinct, pa.array(highs, pa.string())])
    order = pc.array_sort_indices(everything).to_numpy()  # stable: a bound that is a key is on the right side of it
    first_high = len(lows) + len(distinct)
    keys_before = np.empty(len(everything), np.int64)
    keys_before[order] = np.cumsum((order >= len(lows)) & (order < first_high))
    reached: npt.NDArray[np.bool_] = keys_before[first_high:] > keys_before[: len(lows)]
    return reached


def _by_places(
    files: FileIndex, keys: pa.Array | pa.ChunkedArray, near: Sequence[FileSlice], slices: Sequence[FileSlice]
) -> list[FileSlice]:
    """Keep the slices that the record index names; all, where it names one of their partitions that is not there."""
    partitions = sorted({one.group.partition for one in slices})
    places = files.places_of_keys(pc.unique(keys), partitions, len(near))
    if places is None:
        return list(near)
    ours = places.filter(pc.is_in(places.column("partition"), value_set=pa.array(partitions, pa.string())))
    pairs = pc.unique(pc.binary_join_element_wise(ours.column("partition"), ours.column("file_id"), "/"))
    named = set(pairs.to_pylist())  # a file group each, never a key
    if named - {f"{one.group.partition}/{one.group.file_id}" for one in slices}:
        _log.warning(
            "the index %s of %s is behind and is not used; `table.repair(%r)` builds it anew",
            MetadataPartition.RECORD_INDEX,
            files.state.config.name,
            str(MetadataPartition.RECORD_INDEX),
        )
        return list(near)
    return [one for one in near if f"{one.group.partition}/{one.group.file_id}" in named]

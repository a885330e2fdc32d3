"""Which keys are looked for in which file: what both engines send to the tasks that read key columns.

No files are opened here but through `engine.scanning`. Start at `WantedKeys` and `find_wanted`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, ScanFile
from pyhudi.engine.scanning import Lookup, find_in_file
from pyhudi.kernels.keys import KeySpec
from pyhudi.storage.api import Storage

__all__ = ["WantedKeys", "find_wanted"]

_NO_KEYS = pa.nulls(0, pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedKeys:
    """The distinct keys of a frame; a file is asked for those of its partition, or for all."""

    everywhere: pa.Array | None = None
    by_partition: Mapping[str, pa.Array]

    @staticmethod
    def of(keyed: pa.Table, *, by_partition: bool) -> "WantedKeys":
        """Gather the keys of rows.   Shape: KEY and PARTITION, any other column."""
        if by_partition:
            return WantedKeys(by_partition=_keys_by_partition(keyed))
        return WantedKeys(by_partition={}, everywhere=pc.unique(keyed[KEY]))

    def in_file(self, file: ScanFile) -> pa.Array:
        """Return the keys that a file may hold."""
        return self.by_partition.get(file.partition, _NO_KEYS) if self.everywhere is None else self.everywhere


def find_wanted(
    numbered: tuple[int, ScanFile], *, keys: WantedKeys, storage: Storage, spec: KeySpec, stored: pa.Schema
) -> pa.Table:
    """Look into one file, given its place in the list.   Shape, Cost, Raises: as `find_in_file`."""
    index, file = numbered
    lookup = Lookup(index=index, file=file, keys=keys.in_file(file))
    return find_in_file(lookup, storage=storage, spec=spec, stored=stored)


def _keys_by_partition(keyed: pa.Table) -> dict[str, pa.Array]:
    """Split the distinct keys by partition: sort once, then slice."""
    encoded = keyed[PARTITION].combine_chunks().dictionary_encode()
    partitions = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
    if len(partitions) <= 1:
        return {partition: pc.unique(keyed[KEY]) for partition in partitions}
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    keys = keyed[KEY].take(pa.array(order))
    starts = np.searchsorted(codes[order], np.arange(len(partitions) + 1))
    return {
        partition: pc.unique(keys.slice(start, end - start))
        for partition, start, end in zip(partitions, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }

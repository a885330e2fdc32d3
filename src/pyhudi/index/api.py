"""What a kind of index says of itself: where a key is or how that is found, and which files a filter leaves.

A new kind is one file beside this one, with an `IndexKind`, and its line in `choice`; nothing outside this room asks
which kind an index is. Start at `IndexKind`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.engine.api import Engine, KeyedRows, Moves
from pyhudi.filegroup.model import FileSlice
from pyhudi.index.asking import Leaves
from pyhudi.kernels.bucket import BucketHash
from pyhudi.options import Settings
from pyhudi.storage.api import Storage

__all__ = ["Hashing", "Index", "IndexKind", "MakeIndex", "Narrow", "Place", "Recheck", "keep_all"]


class Place(StrEnum):
    """Where an index looks for a key; kinds that look in the same place may take turns on a table."""

    PARTITION = "partition"
    TABLE = "table"
    BUCKET = "bucket"


class Recheck(StrEnum):
    """What must be true of file groups that another commit rewrote, for rows to be written there again."""

    NOTHING = "nothing"
    """Rows go where the plan says, whatever is stored."""
    NO_KEY_MOVED = "no_key_moved"
    """No key of ours came to another file group than the plan sends it to."""
    SAME_KEYS = "same_keys"
    """The same keys of ours are stored, with the same ordering values: by them rows were left out or moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashing:
    """How the key alone names one of so many file groups of its partition."""

    buckets_count: int
    key_hash: BucketHash

    def place_of(self, keys: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Return the number of each key's file group in its partition.   Shape, Raises: as `bucket_of`."""
        return self.key_hash.place_of(keys, self.buckets_count)


Narrow = Callable[[Engine, Storage, KeyedRows, Sequence[FileSlice], bool], tuple[KeyedRows, list[FileSlice]]]
"""Leaves out slices that surely hold none of the rows' keys; the last argument says that a slice answers only for keys
of its own partition. Returns the rows, too, with their keys where it brought them here."""


def keep_all(
    engine: Engine, storage: Storage, rows: KeyedRows, slices: Sequence[FileSlice], by_partition: bool
) -> tuple[KeyedRows, list[FileSlice]]:
    """Leave no slice out."""
    return rows, list(slices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The index of a table, or one that a look-up uses in its place."""

    name: str
    """The value of `hoodie.index.type`."""
    place: Place
    moves: Moves = Moves.IMPOSSIBLE
    """What becomes of a stored row whose key comes with another partition."""
    hashing: Hashing | None = None
    """How a key's place is computed; None for an index that looks for keys."""
    narrow: Narrow = keep_all
    """What is done before base files are read for their keys."""
    is_told: bool = False
    """The metadata table says where each key is, so that no file of the table is looked into."""
    asks_metadata: bool = False
    """Files are left out by what the metadata table has of them, where it has it: see `index.bloom.by_metadata`."""
    begins_with_log: bool = False
    """No base file has to be read to find a key, so that a file group may begin with a log."""

    @property
    def is_global(self) -> bool:
        """Return whether a key is looked for in all partitions."""
        return self.place is Place.TABLE

    @property
    def is_computed(self) -> bool:
        """Return whether the key alone names its file group: two writers may then begin the same one."""
        return self.hashing is not None

    @property
    def is_binding(self) -> bool:
        """Return whether a table keeps it from the first write on that names it.

        A write with the default index would put a key where this one does not look, or it needs the record index.
        """
        return self.place is not Place.PARTITION or self.is_told

    @property
    def sees_all_logs(self) -> bool:
        """Return whether a look-up has to merge each slice with its logs.

        Rows of one key may be in several file groups, or keys in logs alone.
        """
        return self.is_global or self.begins_with_log

    @property
    def recheck(self) -> Recheck:
        """Return what a retry in place of an upsert has to look at.

        Where a row goes by what was stored of its key, the same has to be stored there now. Elsewhere a row goes by its
        key alone, so only keys that came are in the way.
        """
        return Recheck.SAME_KEYS if self.is_global else Recheck.NO_KEY_MOVED

    def everywhere(self) -> "Index":
        """Return the index, but looking for every key in all partitions."""
        return replace(self, place=Place.TABLE)

    def moving(self, *, follows: bool) -> "Index":
        """Return a global index under which a row follows its key to another partition, or stays where it is."""
        return replace(self, moves=Moves.DELETE_AND_INSERT if follows else Moves.KEEP_PARTITION)


MakeIndex = Callable[[Settings, Sequence[str]], Index]
"""Makes an index of its kind from options and the fields of the record key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKind:
    """A kind of index: what writes look keys up by, what filters leave files out by, or both."""

    types: Mapping[str, MakeIndex] = field(default_factory=dict)
    """The values of `hoodie.index.type` by which a table has it."""
    leaves: Leaves | None = None
    """Asked by each filter; None: it knows nothing of values."""

"""The record keys of the metadata table.

A column and a partition show in a key by their XXH64, a file by its MD5, each in Base64. Pure. Start at `stats_keys`.

Spec: format/metadata-table 4.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.hashing import name_hash

__all__ = [
    "ALL_PARTITIONS",
    "WITHOUT_PARTITIONS",
    "bounds_keys",
    "file_keys",
    "partition_id",
    "partition_path",
    "stats_keys",
    "stats_prefix",
]

ALL_PARTITIONS: Final = "__all_partitions__"
"""The key of the record that lists a table's partitions."""
WITHOUT_PARTITIONS: Final = "."
"""How the one partition of a table without partitions is called."""


_BOUNDS: Final = "__partition_stat__"
"""Stands in the keys of an expression index before the partitions whose bounds it has."""


def partition_id(path: str) -> str:
    """Return how the metadata table spells a partition path."""
    return path or WITHOUT_PARTITIONS


def partition_path(identifier: str) -> str:
    """Return the partition path that the metadata table spells so."""
    return "" if identifier == WITHOUT_PARTITIONS else identifier


def stats_keys(columns: pa.Array, partitions: pa.Array, files: pa.Array | None = None) -> pa.Array:
    """Return the keys of column statistics, or of partition statistics where there are no files.

    Shape: n column names, n partition paths, n file names -> n keys of 48 or 24 characters.
    """
    parts = [_spelled(columns, _index_id), _spelled(partitions, lambda path: _index_id(partition_id(path)))]
    if files is not None:
        parts.append(_spelled(files, _file_index_id))
    return pc.binary_join_element_wise(*parts, "")


def bounds_keys(columns: pa.Array, partitions: pa.Array) -> pa.Array:
    """Return the keys of the bounds of partitions in an expression index.

    Shape: n column names, n partition paths -> n keys of 36 characters.
    """
    between = pa.repeat(_index_id(_BOUNDS), len(columns))
    paths = _spelled(partitions, lambda path: _index_id(partition_id(path)))
    return pc.binary_join_element_wise(_spelled(columns, _index_id), between, paths, "")


def file_keys(partitions: pa.Array, files: pa.Array) -> pa.Array:
    """Return the keys of the bloom filters of files.   Shape: n partition paths, n file names -> n of 36 characters."""
    paths = _spelled(partitions, lambda path: _index_id(partition_id(path)))
    return pc.binary_join_element_wise(paths, _spelled(files, _file_index_id), "")


def stats_prefix(column: str, partition: str | None = None) -> str:
    """Return how the keys of a column's statistics begin, in one partition or in all."""
    return _index_id(column) + ("" if partition is None else _index_id(partition_id(partition)))


def _spelled(names: pa.Array, spell: Callable[[str], str]) -> pa.Array:
    """Spell each distinct name once."""
    encoded = names.dictionary_encode()
    return pa.array(map(spell, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def _index_id(name: str) -> str:
    return b64encode(name_hash(name)).decode()


def _file_index_id(name: str) -> str:
    return b64encode(hashlib.md5(name.encode(), usedforsecurity=False).digest()).decode()

"""Data blocks that stay decoded between look-ups, known by what is in them.

A block is found again by a digest of its stored bytes, and of how they are read: not by where it lies, as a file that
was made anew may have the name and the size of another. What is kept is the keys and the values, the values once each
where they repeat, as those of a record index do. Start at `KeptBlocks`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData
from pyhudi.formats.hfile.block import HFileCodec
from pyhudi.formats.hfile.entries import ENTRIES, decode_entries

__all__ = ["KeptBlock", "KeptBlocks", "KeptEntries", "block_digest", "decode_to_keep"]

_Index: TypeAlias = npt.NDArray[np.int64]

_OWN_BYTES = 1 << 10
"""What a block takes as objects, beside its keys and values."""
_REPEATS = 4
"""So often do values repeat that are worth to be kept once."""
_LOOKED_AT = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptBlock:
    """The entries of one data block, whose keys rise."""

    keys: pa.Array
    values: pa.Array
    """One an entry, or each distinct one once."""
    codes: npt.NDArray[np.int32] | None
    """Which of the values each entry has; None: its own."""
    size_bytes: int
    """What it takes in memory."""

    @classmethod
    def of(cls, keys: pa.Array, values: pa.Array, codes: npt.NDArray[np.int32] | None = None) -> "KeptBlock":
        """Make a block that says what it takes; values that blocks share count for each."""
        taken = int(keys.nbytes + values.nbytes) + (0 if codes is None else codes.nbytes)
        return cls(keys=keys, values=values, codes=codes, size_bytes=taken + _OWN_BYTES)


class KeptBlocks(Protocol):
    """Where blocks stay: as many as it has room for."""

    def get(self, key: bytes, /) -> KeptBlock | None:
        """Return a block by its digest; None where it is not there."""
        ...

    def add(self, key: bytes, value: KeptBlock, weight: int, /) -> KeptBlock:
        """Keep a block of so many bytes, and return it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptEntries:
    """Entries of blocks that follow each other."""

    keys: pa.Array
    _blocks: Sequence[KeptBlock]
    _begins: _Index

    @classmethod
    def of(cls, blocks: Sequence[KeptBlock]) -> "KeptEntries":
        """Put blocks together.

        Raises: CorruptData where the keys of one do not follow those of the one before.
        """
        keys = pa.concat_arrays([pa.array([], pa.binary()), *(block.keys for block in blocks)])
        ends = np.cumsum([len(block.keys) for block in blocks], dtype=np.int64)
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        inner = begins[(begins > 0) & (begins < len(keys))]
        lasts, firsts = keys.take(pa.array(inner - 1)), keys.take(pa.array(inner))
        if pc.any(pc.greater(lasts, firsts)) == pa.scalar(True):
            raise CorruptData("keys of an HFile are not sorted", entries=len(keys))
        return cls(keys=keys, _blocks=blocks, _begins=begins)

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> pa.RecordBatch:
        """Return some entries: columns `key` and `value`."""
        places = np.flatnonzero(is_chosen)
        bounds = np.append(np.searchsorted(places, self._begins), len(places)).tolist()
        values = _Values()
        for block, begin, (first, end) in zip(self._blocks, self._begins.tolist(), pairwise(bounds), strict=True):
            if end > first:
                values.add(block, places[first:end] - begin)
        return pa.RecordBatch.from_arrays([self.keys.take(pa.array(places)), values.all()], schema=ENTRIES)


class _Values:
    """Gathers values of blocks, of which many may have the same distinct ones."""

    def __init__(self) -> None:
        self._arrays: list[pa.Array] = [pa.array([], pa.binary())]
        self._begins: dict[int, int] = {}
        self._size = 0
        self._places: list[_Index] = [np.zeros(0, np.int64)]

    def add(self, block: KeptBlock, entries: _Index) -> None:
        if id(block.values) not in self._begins:
            self._begins[id(block.values)] = self._size
            self._arrays.append(block.values)
            self._size += len(block.values)
        places = entries if block.codes is None else block.codes[entries].astype(np.int64)
        self._places.append(places + self._begins[id(block.values)])

    def all(self) -> pa.Array:
        return pa.concat_arrays(self._arrays).take(pa.array(np.concatenate(self._places)))


def block_digest(stored: memoryview, codec: HFileCodec, *, has_version: bool) -> bytes:
    """Return what a data block is known by: all of its bytes, and what else decides how they are read.

    Cost: 1 ns a byte.
    """
    return sha256(stored).digest() + bytes([codec, has_version])


def decode_to_keep(payloads: Sequence[bytes], *, has_version: bool = True) -> list[KeptBlock]:
    """Read data blocks, each into memory of its own.

    Shape:  n payloads -> n blocks.
    Cost:   as `decode_entries`, and 0.1 us an entry for all values.
    Raises: as `decode_entries`.
    Spec:   format/files 5.3.
    """
    if not payloads:
        return []
    entries = decode_entries(payloads, has_version=has_version)
    values = entries.values()
    distinct, codes = _distinct(values)
    found = []
    for first, end in pairwise(entries.bounds.tolist()):
        keys = _own(entries.keys.slice(first, end - first))
        own = values.slice(first, end - first)
        if codes is not None and 2 * distinct.nbytes <= own.nbytes:
            found.append(KeptBlock.of(keys, distinct, codes[first:end].copy()))
        else:
            found.append(KeptBlock.of(keys, _own(own)))
    return found


def _distinct(values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int32] | None]:
    """Return the distinct values and which of them each is; without these the values where few repeat."""
    some = values.slice(0, _LOOKED_AT)
    if len(pc.unique(some)) * _REPEATS > len(some):
        return values, None
    encoded = values.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()


def _own(values: pa.Array) -> pa.Array:
    """Return values in memory that holds nothing else."""
    return pa.concat_arrays([values])

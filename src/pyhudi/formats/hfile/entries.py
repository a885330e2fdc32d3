"""What a data block holds: keys with their values, as Arrow columns.

    entry  key length, value length, key, value, [version 0]
    key    row length, row, family length 0, time 7FFFFFFFFFFFFFFF, type 4

The row is the key that Hudi speaks of. Where an entry begins is known only from the one before. Where all keys have one
length, as UUIDs have, the ends of keys are looked for, and the lengths tell whether these are the entries. Else many
blocks are walked through in step, one numpy operation for the n-th entry of all; of few blocks a plain loop reads the
lengths, 0.15 us an entry, which is still sooner than numpy is. Start at `decode_entries` and `encode_entries`.
"""

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, Unsupported

__all__ = [
    "ENTRIES",
    "KEY_SUFFIX",
    "BlockEntries",
    "binary_lengths",
    "decode_entries",
    "encode_entries",
    "entry_sizes",
    "offsets_and_bytes",
]

ENTRIES = pa.schema([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])
KEY_SUFFIX = b"\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04"
"""What follows the row in a key: no family, the latest time, a put."""

_Index: TypeAlias = npt.NDArray[np.int64]

_LENGTHS = struct.Struct(">II")
_HEAD = np.dtype([("key", ">i4"), ("value", ">i4"), ("row", ">i2")])
_HEAD_BYTES = _HEAD.itemsize
_LENGTHS_BYTES, _ROW_LENGTH_BYTES = 8, 2
_KEY_OVERHEAD = _ROW_LENGTH_BYTES + len(KEY_SUFFIX)
_VERSION = b"\x00"
_OVERHEAD = _HEAD_BYTES + len(KEY_SUFFIX) + len(_VERSION)
_PUT = KEY_SUFFIX[-1]
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_FEW_BLOCKS = 64
_PIECES, _VALUE_PIECE = 4, 2
_WORD_BYTES, _FULL_WORD = 4, np.uint32(0xFFFFFFFF)
_SUFFIX_FULL_AT = len(KEY_SUFFIX) - KEY_SUFFIX.index(b"\xff")
"""So far before the end of a key is the first of its bytes FF."""
_ROOM = bytes(_HEAD_BYTES)
"""Behind the last block, so that a head may be read wherever a block claims to have one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockEntries:
    """Entries of data blocks, of which values are copied only where they are wanted."""

    keys: pa.Array
    pieces: pa.Array
    """The bytes of the blocks, cut into key, what is between, value, what is between, of each entry."""
    bounds: _Index
    """Which entry is the first of each block, and how many there are."""

    def all(self) -> pa.RecordBatch:
        """Return columns `key` and `value`."""
        return pa.RecordBatch.from_arrays([self.keys, self.values()], schema=ENTRIES)

    def values(self) -> pa.Array:
        """Return the values of all entries."""
        return self._values(np.arange(len(self.keys)))

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> pa.RecordBatch:
        """Return some entries: columns `key` and `value`."""
        places = np.flatnonzero(is_chosen)
        return pa.RecordBatch.from_arrays([self.keys.take(pa.array(places)), self._values(places)], schema=ENTRIES)

    def _values(self, places: _Index) -> pa.Array:
        return self.pieces.take(pa.array(_PIECES * places + _VALUE_PIECE))


def decode_entries(payloads: Sequence[bytes], *, has_version: bool = True) -> BlockEntries:
    """Read data blocks that follow each other.

    Cost:   0.1 us an entry of 100 bytes, 0.15 us in few blocks, and 0.05 us a value that is wanted.
    Raises: CorruptData where lengths do not add up, or keys do not rise; Unsupported for what is not a put.
    Spec:   format/files 5.3.
    """
    data = b"".join((*payloads, _ROOM))
    ends = np.cumsum([len(payload) for payload in payloads], dtype=np.int64)
    starts = _even_starts(data, ends, len(_VERSION) if has_version else 0)
    if starts is None:
        starts = _starts(data, ends, len(_VERSION) if has_version else 0)
    entries = _entries(data, starts, ends, len(_VERSION) if has_version else 0)
    keys = entries.keys
    if len(keys) > 1 and pc.any(pc.greater(keys[:-1], keys[1:])) == pa.scalar(True):
        raise CorruptData("keys of an HFile are not sorted", entries=len(keys))
    return entries


def encode_entries(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Write entries, each as one element: the array's bytes are payloads of data blocks.

    Shape: n keys and n values -> n entries; together less than 2 GiB.
    Nulls: none.
    Bytes: as the module says, with a version.
    Spec:  format/files 5.3.
    """
    rows, sizes = binary_lengths(keys), binary_lengths(values)
    heads = np.empty(len(keys), _HEAD)
    heads["key"], heads["value"], heads["row"] = rows + _KEY_OVERHEAD, sizes, rows
    head = _binary(np.arange(len(keys) + 1, dtype=np.int32) * _HEAD_BYTES, heads)
    parts = (head, keys, pa.scalar(KEY_SUFFIX), values, pa.scalar(_VERSION))
    return pc.binary_join_element_wise(*parts, pa.scalar(b""))


def entry_sizes(keys: _Index, values: _Index) -> _Index:
    """Return the bytes that each entry takes in a block.

    Shape: n lengths of keys and n of values -> n sizes.
    """
    return keys + values + _OVERHEAD


def offsets_and_bytes(values: pa.Array) -> tuple[_Index, npt.NDArray[np.uint8]]:
    """Return where the values of a binary array begin and end, and the bytes.

    Shape: n values -> n + 1 offsets.
    """
    _, offsets, data = values.buffers()
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    if not len(values):
        return np.zeros(1, np.int64), content
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    places = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1]
    return places.astype(np.int64), content


def binary_lengths(values: pa.Array) -> _Index:
    """Return the bytes of each value.   Shape: n strings or bytes -> n."""
    lengths: _Index = pc.binary_length(values).to_numpy().astype(np.int64)
    return lengths


def _even_starts(data: bytes, ends: _Index, version_bytes: int) -> _Index | None:
    """Return where entries begin if all keys have the length of the first; None where the lengths say otherwise.

    A key ends with seven bytes FF among others, of which four are one word of the data. What is found so elsewhere does
    not go on from entry to entry, and then nothing is returned.
    """
    if not len(ends) or ends[-1] <= _HEAD_BYTES:
        return None
    key, value = _LENGTHS.unpack_from(data)
    second = key + value + _LENGTHS_BYTES + version_bytes
    if key < _KEY_OVERHEAD or (second < ends[-1] and _LENGTHS.unpack_from(data, second)[0] != key):
        return None
    words = np.frombuffer(data, "<u4", int(ends[-1]) // _WORD_BYTES)
    full = np.flatnonzero(words == _FULL_WORD)
    before = words[full - 1]
    further = (before >= _FULL_WORD << np.uint32(24)).astype(np.int64)  # bytes FF that the word before ends with
    for shift in (np.uint32(16), np.uint32(8)):
        further += before >= _FULL_WORD << shift
    starts = full * _WORD_BYTES - further + (_SUFFIX_FULL_AT - _LENGTHS_BYTES - key)
    if not len(starts) or starts[0] != 0:
        return None
    keys, values = _lengths_at(_heads(data), starts)
    behind = starts + keys + values + (_LENGTHS_BYTES + version_bytes)
    if behind[-1] != ends[-1] or not np.array_equal(behind[:-1], starts[1:]) or (keys != key).any():
        return None
    return starts if np.array_equal(behind[np.searchsorted(behind, ends)], ends) else None


def _starts(data: bytes, ends: _Index, version_bytes: int) -> _Index:
    """Return where entries begin, block by block, as far as the lengths say; what comes of them is not checked."""
    between = _LENGTHS_BYTES + version_bytes
    heads = _heads(data)
    counts = np.zeros(len(ends), np.int64)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    blocks = np.flatnonzero(begins < ends)
    at, limits = begins[blocks], ends[blocks]
    steps: list[tuple[_Index, _Index]] = []
    while len(blocks) >= _FEW_BLOCKS:
        steps.append((blocks, at))
        counts[blocks] = len(steps)
        keys, values = _lengths_at(heads, at)
        at = at + keys + values + between
        goes_on = at < limits
        if not goes_on.all():
            blocks, at, limits = blocks[goes_on], at[goes_on], limits[goes_on]
    tails = [_walk(data, *bounds, between) for bounds in zip(at.tolist(), limits.tolist(), strict=True)]
    counts[blocks] = [len(steps) + len(tail) for tail in tails]
    first = np.cumsum(counts) - counts
    found = np.empty(int(counts.sum()), np.int64)
    for step, (these, places) in enumerate(steps):
        found[first[these] + step] = places
    for block, tail in zip(blocks.tolist(), tails, strict=True):
        place = int(first[block]) + len(steps)
        found[place : place + len(tail)] = tail
    return found


def _walk(data: bytes, at: int, end: int, between: int) -> _Index:
    """Return where the entries of one block begin, from one of them on."""
    found = array("q")
    while at < end:
        found.append(at)
        key, value = _LENGTHS.unpack_from(data, at)
        if key < _KEY_OVERHEAD:  # else a block of zeros would have many entries
            break
        at += key + value + between
    return np.frombuffer(found, np.int64)


def _entries(data: bytes, starts: _Index, ends: _Index, version_bytes: int) -> BlockEntries:
    content, end = np.frombuffer(data, np.uint8), ends.max(initial=0)
    keys, values = _lengths_at(_heads(data), starts)
    rows: _Index = _integers(data, "<u2")[starts + _LENGTHS_BYTES].byteswap().astype(np.int64)
    rows_at = starts + _HEAD_BYTES
    values_at = starts + _LENGTHS_BYTES + keys
    after = values_at + values + version_bytes
    if not np.array_equal(after, np.append(starts[1:], end)) or (rows + _KEY_OVERHEAD > keys).any():
        raise CorruptData("lengths in an HFile's data block do not add up", entries=len(starts))
    if (content[values_at - 1] != _PUT).any():
        raise Unsupported("only puts are read from HFiles", entries=len(starts))
    if version_bytes and content[after - 1].any():
        raise CorruptData("versions in an HFile that has none", entries=len(starts))
    edges = np.empty((len(starts), _PIECES), np.int32)
    edges[:, 0], edges[:, 1], edges[:, 2], edges[:, 3] = rows_at, rows_at + rows, values_at, values_at + values
    # the file's bytes as one array of keys, values and what is between them, of which Arrow takes each fourth
    pieces = _binary(np.append(edges.reshape(-1), np.int32(end)), data)
    bounds = np.append(0, np.searchsorted(starts, ends))
    return BlockEntries(keys=pieces.take(pa.array(_PIECES * np.arange(len(starts)))), pieces=pieces, bounds=bounds)


def _lengths_at(heads: npt.NDArray[Any], places: _Index) -> tuple[_Index, _Index]:
    """Read the lengths of the keys and values that begin at these places."""
    both = heads[places].byteswap()
    return (both >> _HALF).view(np.int64), (both & _LOW_HALF).view(np.int64)


def _heads(data: bytes) -> npt.NDArray[Any]:
    return _integers(data, "<u8")


def _integers(data: bytes, kind: str) -> npt.NDArray[Any]:
    """Return the integer that begins at every byte."""
    return np.ndarray((len(data) - np.dtype(kind).itemsize + 1,), kind, buffer=data, strides=(1,))


def _binary(offsets: npt.NDArray[np.int32], data: Any) -> pa.Array:  # noqa: ANN401 - whatever has a buffer
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])

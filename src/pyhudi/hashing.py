"""The hashes of Hudi's formats, over whole Arrow arrays.

Murmur (bloom filters) and Java's `hashCode` of strings and lists (buckets, index shards); XXH64 of names (locks, keys
of the metadata table). A hash by which a key names a place is a `KeyHash`.

Pure functions of the bytes: nothing here may depend on the process, the platform or the order of the rows. Keys are
laid out in blocks, longest first, so that one numpy operation serves a whole block. Start at `murmur_blocks`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from pyhudi.errors import InvalidInput

__all__ = [
    "SHARD_HASH",
    "U32",
    "Index",
    "KeyHash",
    "MurmurBlock",
    "ShardHash",
    "java_hash",
    "java_list_hash",
    "murmur_blocks",
    "name_hash",
    "path_hash",
    "places_among",
]

_U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
Index: TypeAlias = npt.NDArray[np.int64]

_BLOCK_ROWS = 8192
_MURMUR_ROWS = 65_536  # fewer take longer to probe, where most keys leave after two hashes
_BLOCK_BYTES = 1 << 20
_FEW_KEYS = 12
_MOST_OF_TWO_BYTES = 0xFFFF
_M = np.uint32(0x5BD1E995)
_U32_BITS = 0xFFFFFFFF
_NAME_SEED = 0xFFFFFFFFDABADABA  # an int of Java, widened with its sign


@dataclass(frozen=True, slots=True, kw_only=True)
class MurmurBlock:
    """Some keys of an array, prepared so that hashing them again with another seed is cheap."""

    rows: Index
    """Where the keys stand in the array."""
    lengths: U32
    """Units: bytes; never rising."""
    words: tuple[U32, ...]
    """Mixed 4-byte words: the i-th of every key that has one."""
    tail: U32
    tail_factor: U32

    def hash(self, seeds: U32) -> U32:
        """Hash every key with its own seed.

        Shape: n seeds -> n hashes, in the order of `rows`.
        """
        state = seeds ^ self.lengths
        for word in self.words:
            part = state[: len(word)]
            part *= _M
            part ^= word
        state ^= self.tail
        state *= self.tail_factor
        state ^= state >> np.uint32(13)
        state *= _M
        state ^= state >> np.uint32(15)
        return state

    def chain(self, count: int) -> Iterator[U32]:
        """Hash every key `count` times, each hash the seed of the next, the first seed 0.

        Shape: `count` arrays of n hashes, in the order of `rows`.
        Cost:  of few keys, plain arithmetic: an operation of numpy takes as long as it does for dozens of keys.
        """
        if len(self.rows) <= _FEW_KEYS:
            chains = [self._chain_of(place, count) for place in range(len(self.rows))]
            yield from np.array(chains, np.uint32).reshape(len(chains), count).T
            return
        hashes = np.zeros(len(self.rows), np.uint32)
        for _ in range(count):
            hashes = self.hash(hashes)
            yield hashes

    def _chain_of(self, place: int, count: int) -> list[int]:
        """Hash one key `count` times, as `hash` does."""
        length, tail, factor = (int(one[place]) for one in (self.lengths, self.tail, self.tail_factor))
        words, multiplier = [int(word[place]) for word in self.words if place < len(word)], int(_M)
        state, found = 0, []
        for _ in range(count):
            state ^= length
            for word in words:
                state = state * multiplier & _U32_BITS ^ word
            state = (state ^ tail) * factor & _U32_BITS
            state = (state ^ state >> 13) * multiplier & _U32_BITS
            state ^= state >> 15
            found.append(state)
        return found

    def take(self, index: Index) -> "MurmurBlock":
        """Keep the keys at these places of the block; the index must rise."""
        return MurmurBlock(
            rows=self.rows[index],
            lengths=self.lengths[index],
            words=tuple(word[index[: np.searchsorted(index, len(word))]] for word in self.words),
            tail=self.tail[index],
            tail_factor=self.tail_factor[index],
        )


def murmur_blocks(keys: pa.Array | pa.ChunkedArray) -> Iterator[MurmurBlock]:
    """Prepare keys for Hadoop's murmur hash, block by block.

    It differs from MurmurHash2 in the bytes behind the last whole word: they are signed, and count from the end.

    Nulls:  refused.
    Cost:   one pass over the bytes; a block is at most about 1 MiB.
    Raises: InvalidInput for a null key.
    Spec:   format/files 4.3.
    """
    data, offsets = _bytes_and_offsets(_without_nulls(keys))
    for rows, cells, lengths in _blocks(data, offsets, _MURMUR_ROWS):
        yield _murmur_block(rows, cells, lengths)


def java_hash(strings: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Return Java's `String.hashCode` of every string.

    Shape: n strings -> n hashes.
    Nulls: 0.
    Spec:  format/files 9.1.
    """
    array = _plain(strings)
    hashes = np.zeros(len(array), np.uint32)
    data, offsets = _bytes_and_offsets(array)
    units, starts = _utf16(data, offsets)
    for rows, cells, lengths in _blocks(units, starts):
        state = np.zeros(len(rows), np.uint32)
        columns = np.ascontiguousarray(cells.T)
        for position, count in enumerate(_counts(lengths, columns.shape[0])):
            part = state[:count]
            part *= np.uint32(31)
            part += columns[position, :count]
        hashes[rows] = state
    if array.null_count:
        hashes[_null_mask(array)] = 0
    return hashes.view(np.int32)


def java_list_hash(columns: Sequence[pa.Array | pa.ChunkedArray]) -> npt.NDArray[np.int32]:
    """Return Java's `List<String>.hashCode` of every row, one list element a column.

    Shape:  k columns of n strings -> n hashes.
    Nulls:  an element that counts as 0.
    Raises: InvalidInput without columns.
    Spec:   format/files 9.1.
    """
    if not columns:
        raise InvalidInput("give at least one column to hash")
    state = np.ones(len(columns[0]), np.uint32)
    for column in columns:
        state = state * np.uint32(31) + java_hash(column).view(np.uint32)
    return state.view(np.int32)


def path_hash(path: str) -> str:
    """Return the 16 hex digits by which Apache Hudi names the locks that a base path implies."""
    return name_hash(path).hex().upper()


def name_hash(name: str) -> bytes:
    """Return the 8 bytes by which keys of the metadata table name a column or a partition: XXH64, big-endian.

    Spec: format/metadata-table 4.1.
    """
    return xxhash.xxh64_digest(name.encode(), seed=_NAME_SEED)


class KeyHash(Protocol):
    """A hash by which a key alone names one of several places: the buckets of a partition, the shards of an index.

    A plain value, which both engines send to tasks. Other writers compute the same.
    """

    def place_of(self, keys: pa.Array | pa.ChunkedArray, places_count: int) -> Index:
        """Return the place of each key.   Shape: n keys -> n numbers below `places_count`."""


@dataclass(frozen=True, slots=True)
class ShardHash:
    """File groups of the metadata table: Java's hash of the whole key."""

    def place_of(self, keys: pa.Array | pa.ChunkedArray, places_count: int) -> Index:
        """Return the file group of each key in its partition of the metadata table."""
        places: Index = np.abs(java_hash(keys).astype(np.int64)) % places_count
        return places


SHARD_HASH: Final = ShardHash()


def places_among(key_hash: KeyHash, keys: pa.Array, places_counts: npt.NDArray[np.integer]) -> Index:
    """Return the place of each key among as many as stand beside it: partitions may have different numbers of them.

    Shape: n keys, n counts -> n numbers.
    Cost:  a pass over the keys of each distinct count.
    """
    places = np.zeros(len(keys), np.int64)
    for count in np.unique(places_counts).tolist():
        rows = np.flatnonzero(places_counts == count)
        some = keys if len(rows) == len(keys) else keys.take(pa.array(rows))
        places[rows] = key_hash.place_of(some, count)
    return places


def _murmur_block(rows: Index, cells: _U8, lengths: Index) -> MurmurBlock:
    width = cells.shape[1] // 4 * 4
    columns = np.ascontiguousarray(cells[:, :width]).view("<u4").T.astype(np.uint32)
    words = []
    for position, count in enumerate(_counts(lengths // 4, width // 4)):
        word = columns[position, :count] * _M
        word ^= word >> np.uint32(24)
        word *= _M
        words.append(word)
    left = lengths % 4
    tail = np.zeros(len(rows), np.uint32)
    bounds = np.flatnonzero(np.diff(lengths)) + 1  # keys of one length lie together
    for first, end in pairwise([0, *bounds.tolist(), len(rows)]):
        for back in range(1, int(left[first]) + 1):
            signed = cells[first:end, int(lengths[first]) - back].view(np.int8).astype(np.int32)
            tail[first:end] ^= (signed << np.int32(8 * (back - 1))).view(np.uint32)
    factor = np.where(left > 0, _M, np.uint32(1))
    return MurmurBlock(rows=rows, lengths=lengths.astype(np.uint32), words=tuple(words), tail=tail, tail_factor=factor)


def _blocks(
    data: npt.NDArray[Any], offsets: Index, most_rows: int = _BLOCK_ROWS
) -> Iterator[tuple[Index, npt.NDArray[Any], Index]]:
    """Cut values into padded matrices of rows, longest first: (rows, cells, lengths)."""
    lengths = np.diff(offsets)
    if not len(lengths):
        return
    if lengths.min() == lengths.max():  # fixed-width keys need neither sorting nor gathering
        yield from _fixed_blocks(data, offsets, int(lengths[0]), most_rows)
        return
    order = _longest_first(lengths)
    start = 0
    while start < len(order):
        width = int(lengths[order[start]])
        stop = start + max(1, min(most_rows, _BLOCK_BYTES // max(width, 1)))
        rows = order[start:stop]
        yield rows, _cells(data, offsets[rows], width), lengths[rows]
        start += len(rows)


def _longest_first(lengths: Index) -> Index:
    longest = int(lengths.max())
    # Of integers of two bytes numpy's stable sort takes a fifth of the time.
    return np.argsort(
        (longest - lengths).astype(np.uint16 if longest <= _MOST_OF_TWO_BYTES else np.int64), kind="stable"
    )


def _cells(data: npt.NDArray[Any], begins: Index, width: int) -> npt.NDArray[Any]:
    """Return so many items from each of these places on, a row each; what is behind the data is 0."""
    if not width:
        return np.empty((len(begins), 0), data.dtype)
    last = len(data) - width
    is_behind = begins > last
    if is_behind.any():
        end = max(last, 0)
        padded = np.concatenate([data[end:], np.zeros(width, data.dtype)])
        cells = np.empty((len(begins), width), data.dtype)
        cells[is_behind] = _cells(padded, begins[is_behind] - end, width)
        cells[~is_behind] = _cells(data, begins[~is_behind], width) if last >= 0 else 0
        return cells
    # A row is copied at once where numpy takes it for one item.
    step = data.itemsize
    wide = np.ndarray((last + 1,), np.dtype((np.void, width * step)), buffer=data, strides=(step,))
    return wide[begins].view(data.dtype).reshape(len(begins), width)


def _fixed_blocks(
    data: npt.NDArray[Any], offsets: Index, width: int, most_rows: int
) -> Iterator[tuple[Index, npt.NDArray[Any], Index]]:
    count = len(offsets) - 1
    cells = data[int(offsets[0]) : int(offsets[-1])].reshape(count, width)
    step = max(1, min(most_rows, _BLOCK_BYTES // max(width, 1)))
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        yield rows, cells[start : start + step], np.full(len(rows), width, np.int64)


def _counts(lengths: Index, width: int) -> Index:
    """Count, for every position, the values that reach it; lengths never rise."""
    return len(lengths) - np.searchsorted(lengths[::-1], np.arange(width), side="right")


def _utf16(data: _U8, offsets: Index) -> tuple[npt.NDArray[np.uint16], Index]:
    """Turn UTF-8 bytes and offsets into UTF-16 units and their offsets."""
    first, last = int(offsets[0]), int(offsets[-1])
    used = data[first:last]
    if not len(used) or used.max() < 0x80:
        return used.astype(np.uint16), offsets - first
    # a character counts at its leading byte: one unit, beyond the basic plane two
    per_byte = ((used & 0xC0) != 0x80).astype(np.int64) + (used >= 0xF0)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_byte)])
    units = np.frombuffer(used.tobytes().decode("utf-8").encode("utf-16-le"), "<u2")
    return units, ends[offsets - first]


def _bytes_and_offsets(array: pa.Array) -> tuple[_U8, Index]:
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    kind = np.int64 if pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type) else np.int32
    places = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content, places.astype(np.int64)


def _without_nulls(keys: pa.Array | pa.ChunkedArray) -> pa.Array:
    array = _plain(keys)
    if array.null_count:
        raise InvalidInput("a null key cannot be hashed; check keys before", nulls=array.null_count)
    return array


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array of strings or bytes with offsets."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_string_view(kind) or isinstance(values, pa.ChunkedArray):
        kind = pa.large_string() if pa.types.is_string_view(kind) or pa.types.is_string(kind) else kind
        kind = pa.large_binary() if pa.types.is_binary(kind) else kind
    if pa.types.is_binary_view(kind):
        kind = pa.large_binary()
    known = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    if kind not in known:
        raise InvalidInput("only strings and bytes can be hashed", type=str(values.type))
    array = values.cast(kind) if values.type != kind else values
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    return array


def _null_mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return mask

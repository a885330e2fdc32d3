"""Hudi's bloom filters of record keys: SIMPLE and DYNAMIC_V0, to the byte.

A filter is an immutable value; `build` and `add` hash keys as whole columns. Same keys, order and parameters give the
same text as Hudi's own. Start at `build`; `decode_bloom` reads what a base file's footer holds.
"""

import base64
import binascii
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded, Unsupported
from pyhudi.hashing import U32, Index, MurmurBlock, murmur_blocks

__all__ = ["BloomFilter", "BloomType", "add", "build", "decode_bloom", "encode_bloom", "might_contain", "union"]

Bits: TypeAlias = npt.NDArray[np.uint8]

_HEADER = struct.Struct(">iibi")
_GROWTH = struct.Struct(">iii")
_VERSION = -1
_MURMUR = 1
_MAX_BYTES = 512 << 20
_MAX_HASHES = 1024
_LN2 = math.log(2)


class BloomType(StrEnum):
    """The text that `hoodie_bloom_filter_type_code` stores."""

    SIMPLE = "SIMPLE"
    DYNAMIC_V0 = "DYNAMIC_V0"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BloomFilter:
    """Bits that most likely tell keys apart.   Spec: format/files 4.3."""

    type_code: BloomType
    bits_count: int
    hash_count: int
    rows: tuple[Bits, ...]
    """Packed bits, lowest first; SIMPLE has one row."""
    entries: int = 0
    """DYNAMIC_V0: keys that fill a row."""
    active_count: int = 0
    """DYNAMIC_V0: keys added to the last row, or since the filter stopped growing."""
    max_entries: int = 0
    """DYNAMIC_V0: keys at which it stops growing; not stored."""


def build(
    keys: pa.Array | pa.ChunkedArray,
    type_code: BloomType | str,
    entries: int = 60_000,
    fpp: float = 1e-9,
    max_entries: int = 100_000,
) -> BloomFilter:
    """Make a filter of these keys.

    Nulls:  refused.
    Cost:   30 hashes a key with the defaults, about 2.5 million keys a second.
    Raises: InvalidInput for a null key or parameters that make no filter.
    Spec:   format/files 4.3.
    """
    if entries <= 0 or not 0 < fpp < 1:
        raise InvalidInput("a bloom filter needs positive entries and a rate between 0 and 1", entries=entries, fpp=fpp)
    bits_count = math.ceil(entries * (-math.log(fpp) / (_LN2 * _LN2)))
    if bits_count > 0x7FFFFFFF:
        raise InvalidInput("bloom filter too large; lower entries or raise the rate", entries=entries, fpp=fpp)
    dynamic = BloomType(type_code) is BloomType.DYNAMIC_V0
    empty = BloomFilter(
        type_code=BloomType(type_code),
        bits_count=bits_count,
        hash_count=math.ceil(_LN2 * bits_count / entries),
        rows=(np.zeros((bits_count + 7) // 8, np.uint8),),
        entries=entries if dynamic else 0,
        max_entries=max_entries if dynamic else 0,
    )
    return add(empty, keys)


def add(bloom: BloomFilter, keys: pa.Array | pa.ChunkedArray) -> BloomFilter:
    """Return a filter that holds these keys too; a dynamic one grows by rows until `max_entries`.

    Nulls:  refused.
    Raises: InvalidInput for a null key.
    Spec:   format/files 4.3.
    """
    if not len(keys):
        return bloom
    if bloom.type_code is BloomType.SIMPLE:
        return replace(bloom, rows=(_set_bits(bloom, bloom.rows[0], keys),))
    rows, active, done = list(bloom.rows), bloom.active_count, 0
    while done < len(keys):
        is_full = active >= bloom.entries
        if is_full and len(rows) * bloom.entries >= bloom.max_entries:
            rest = keys.slice(done)
            return replace(bloom, rows=_spread(bloom, rows, rest, active), active_count=active + len(rest))
        if is_full:
            rows.append(np.zeros_like(rows[0]))
            active = 0
        fits = keys.slice(done, bloom.entries - active)
        rows[-1] = _set_bits(bloom, rows[-1], fits)
        active += len(fits)
        done += len(fits)
    return replace(bloom, rows=tuple(rows), active_count=active)


def union(blooms: Sequence[BloomFilter]) -> BloomFilter | None:
    """Return a filter of the keys of several, no key hashed; None where they are of different shapes.

    A dynamic one has as many rows as it may grow to, and the others' rows are laid over these in turn, as keys are that
    come once it is full.

    Shape: at least one filter.
    """
    first = blooms[0]
    shapes = {(one.type_code, one.bits_count, one.hash_count, one.entries) for one in blooms}
    if len(shapes) > 1:
        return None
    is_dynamic = first.type_code is BloomType.DYNAMIC_V0
    most = max(1, math.ceil(first.max_entries / first.entries)) if is_dynamic else 1
    rows: list[Bits] = []
    for at, row in enumerate(row for one in blooms for row in one.rows):
        if at < most:
            rows.append(row)
        else:
            rows[at % most] = rows[at % most] | row
    keys_count = sum((len(one.rows) - 1) * one.entries + one.active_count for one in blooms)
    # The last row counts as full, whatever room it has: rows before it may have some too, which nothing can tell.
    return replace(first, rows=tuple(rows), active_count=max(first.entries, keys_count) if is_dynamic else 0)


def might_contain(bloom: BloomFilter, keys: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
    """Return which keys may be in the filter; false is certain.

    Shape:  n keys -> n booleans.
    Nulls:  refused.
    Cost:   an absent key leaves after two hashes on average, a present one takes all.
    Raises: InvalidInput for a null key.
    """
    found = np.zeros(len(keys), np.bool_)
    for block in murmur_blocks(keys):
        for row in bloom.rows:
            found[_survivors(bloom, row, block)] = True
    return pa.array(found)


def encode_bloom(bloom: BloomFilter) -> str:
    """Write a filter as a footer holds it.

    Bytes: base64 of [header][growth if dynamic] then per row [header][bits], big-endian; SIMPLE: [header][bits].
    Spec:  format/files 4.3.
    """
    header = _HEADER.pack(_VERSION, bloom.hash_count, _MURMUR, bloom.bits_count)
    if bloom.type_code is BloomType.SIMPLE:
        parts = [header, bloom.rows[0].tobytes()]
    else:
        parts = [header, _GROWTH.pack(bloom.entries, bloom.active_count, len(bloom.rows))]
        parts += [part for row in bloom.rows for part in (header, row.tobytes())]
    return base64.b64encode(b"".join(parts)).decode("ascii")


def decode_bloom(text: str | bytes, type_code: BloomType | str, max_entries: int = 100_000) -> BloomFilter:
    """Read a filter from a footer's text.

    Raises: CorruptData where text and format differ; LimitExceeded beyond 512 MiB; Unsupported for another
            kind of filter.
    Spec:   format/files 4.3.
    """
    if type_code not in set(BloomType):
        raise Unsupported("unknown bloom filter type", type_code=str(type_code))
    data = _from_base64(text)
    bits_count, hash_count = _read_header(data, 0)
    size = (bits_count + 7) // 8
    if type_code == BloomType.SIMPLE:
        _expect_size(data, _HEADER.size + size)
        return BloomFilter(
            type_code=BloomType.SIMPLE, bits_count=bits_count, hash_count=hash_count, rows=(_row(data, 13, size),)
        )
    if len(data) < _HEADER.size + _GROWTH.size:
        raise CorruptData("bloom filter is cut off", size_bytes=len(data))
    entries, active, rows_count = _GROWTH.unpack_from(data, _HEADER.size)
    if entries <= 0 or active < 0 or rows_count <= 0:
        raise CorruptData("bloom filter has impossible counts", entries=entries, active=active, rows=rows_count)
    start, step = _HEADER.size + _GROWTH.size, _HEADER.size + size
    _expect_size(data, start + rows_count * step)
    for at in range(start, len(data), step):
        if _read_header(data, at) != (bits_count, hash_count):
            raise CorruptData("rows of a bloom filter differ in shape", offset=at)
    return BloomFilter(
        type_code=BloomType.DYNAMIC_V0,
        bits_count=bits_count,
        hash_count=hash_count,
        rows=tuple(_row(data, at + _HEADER.size, size) for at in range(start, len(data), step)),
        entries=entries,
        active_count=active,
        max_entries=max_entries,
    )


def _survivors(bloom: BloomFilter, row: Bits, block: MurmurBlock) -> Index:
    """Return the places of the keys that have all their bits in a row."""
    hashes = np.zeros(len(block.rows), np.uint32)
    for _ in range(bloom.hash_count):
        hashes = block.hash(hashes)
        at = _positions(hashes, bloom.bits_count)
        is_set = (row[at >> 3] >> (at & 7).astype(np.uint8)) & 1
        index = np.flatnonzero(is_set.view(np.bool_))
        if len(index) < len(hashes):
            block, hashes = block.take(index), hashes[index]
        if not len(hashes):
            break
    return block.rows


def _set_bits(bloom: BloomFilter, row: Bits, keys: pa.Array | pa.ChunkedArray) -> Bits:
    flags = np.unpackbits(row, bitorder="little")
    for positions in _key_positions(bloom, keys):
        flags[positions.astype(np.int64)] = 1  # numpy would do so, in more time
    return np.packbits(flags, bitorder="little")


def _spread(bloom: BloomFilter, rows: list[Bits], keys: pa.Array | pa.ChunkedArray, active: int) -> tuple[Bits, ...]:
    """Add keys to a filter that grows no more: in turn to each row, the first key and the next both to row 0."""
    surplus = active - bloom.entries + np.arange(len(keys), dtype=np.int64)
    target = np.where(surplus == 0, 0, (surplus - 1) % len(rows))
    return tuple(_set_bits(bloom, row, keys.filter(pa.array(target == number))) for number, row in enumerate(rows))


def _key_positions(bloom: BloomFilter, keys: pa.Array | pa.ChunkedArray) -> Iterator[U32]:
    """Return the bit of every hash of every key, one hash of a block at a time."""
    for block in murmur_blocks(keys):
        for hashes in block.chain(bloom.hash_count):
            yield _positions(hashes, bloom.bits_count)


def _positions(hashes: U32, bits_count: int) -> U32:
    # |h % m| with Java's remainder is |h| % m; the smallest int32 has no positive, but its bits read as uint32 do
    size, count = np.abs(hashes.view(np.int32)).view(np.uint32), np.uint32(bits_count)
    return size - size // count * count  # a fifth of the time of numpy's remainder


def _from_base64(text: str | bytes) -> bytes:
    if len(text) > _MAX_BYTES // 3 * 4:
        raise LimitExceeded("bloom filter is too large", size_bytes=len(text))
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptData("bloom filter is not base64") from error


def _read_header(data: bytes, offset: int) -> tuple[int, int]:
    if len(data) < offset + _HEADER.size:
        raise CorruptData("bloom filter is cut off", size_bytes=len(data))
    version, hash_count, hash_type, bits_count = _HEADER.unpack_from(data, offset)
    if version != _VERSION or not 0 < hash_count <= _MAX_HASHES or bits_count <= 0:
        raise CorruptData("bloom filter has an impossible header", version=version, hashes=hash_count, bits=bits_count)
    if hash_type != _MURMUR:
        raise Unsupported("only bloom filters with murmur hashes are read", hash_type=hash_type)
    return bits_count, hash_count


def _expect_size(data: bytes, size_bytes: int) -> None:
    if len(data) != size_bytes:
        raise CorruptData("bloom filter has another size than it says", size_bytes=len(data), expected=size_bytes)


def _row(data: bytes, offset: int, size_bytes: int) -> Bits:
    return np.frombuffer(data, np.uint8, size_bytes, offset)

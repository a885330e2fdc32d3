"""The index of an HFile: for each block its first key, or one between it and the block before, and where it is.

A root index names data blocks, or, where there are several levels, blocks of the next level: intermediate ones, and
leaves above the data. Keys are written whole, or as Apache Hudi 1.1 and 1.2 do, up to the row. Start at
`decode_root_index` and `decode_leaf_index`.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData
from pyhudi.formats.hfile.block import HEADER_BYTES
from pyhudi.formats.hfile.entries import KEY_SUFFIX
from pyhudi.formats.hfile.protobuf import decode_varint

__all__ = [
    "BlockEntry",
    "BlockIndex",
    "KeyForm",
    "decode_leaf_index",
    "decode_meta_index",
    "decode_root_index",
    "encode_leaf_index",
    "encode_meta_index",
    "encode_root_index",
    "spelled_key",
]


class KeyForm(Enum):
    """How keys of the index and of the file info are written."""

    WHOLE = KEY_SUFFIX
    """As in data blocks: HBase's readers, and so Apache Hudi 0.15, need it; all others read it."""
    ROW = b""
    """Row length and row only, as Apache Hudi 1.1 and 1.2 write."""


_FORM_BYTES = frozenset(len(form.value) for form in KeyForm)


BlockEntry: TypeAlias = tuple[bytes, int, int]
"""First row of a block, where it begins, its bytes with header and checksums."""

_MIDDLE_KEY_BYTES: Final = 16
_PLACE = struct.Struct(">qi")
_ROW_LENGTH = struct.Struct(">h")
_COUNT = struct.Struct(">i")
_OFFSET_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockIndex:
    """Blocks of one level, in the order of their keys and of their places."""

    keys: pa.Array
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    def take(self, chosen: npt.NDArray[np.bool_]) -> "BlockIndex":
        """Keep some of the blocks."""
        keys = self.keys.filter(pa.array(chosen))
        return BlockIndex(keys=keys, offsets=self.offsets[chosen], sizes=self.sizes[chosen])

    @classmethod
    def of(cls, entries: Iterable[BlockEntry], end: int) -> "BlockIndex":
        """Check entries, none of which may reach beyond the offset `end`.

        A block is behind the one before, so that no index leads back to itself or to the same block twice.
        """
        rows, offsets, sizes = tuple(zip(*entries, strict=True)) or ((), (), ())
        keys = pa.array(rows, pa.binary())
        places, lengths = np.array(offsets, np.int64), np.array(sizes, np.int64)
        bounds = np.append(places, end)
        if (lengths < HEADER_BYTES).any() or (bounds[:1] < 0).any() or (lengths > np.diff(bounds)).any():
            raise CorruptData("HFile's index names blocks where none can be", blocks=len(places), end=end)
        if len(keys) > 1 and pc.any(pc.greater(keys[:-1], keys[1:])) == pa.scalar(True):
            raise CorruptData("keys in an HFile's index are not sorted", blocks=len(places))
        return cls(keys=keys, offsets=places, sizes=lengths)


def decode_root_index(payload: bytes, count: int, levels: int) -> list[BlockEntry]:
    """Read the root of the data index, which has `count` entries, and of several levels the middle key behind these.

    Raises: CorruptData where the bytes are none, or have more than that.
    Spec:   format/files 5.4.
    """
    behind = _MIDDLE_KEY_BYTES if levels > 1 else 0
    return [(_row(key), offset, size) for key, offset, size in _root_entries(payload, count, behind)]


def decode_meta_index(payload: bytes, count: int) -> dict[str, tuple[int, int]]:
    """Read where the meta blocks are: name to offset and bytes.

    Raises: CorruptData where the bytes are none.
    Spec:   format/files 5.4.
    """
    return {key.decode(errors="replace"): (offset, size) for key, offset, size in _root_entries(payload, count, 0)}


def decode_leaf_index(payload: bytes) -> list[BlockEntry]:
    """Read an index block of a level below the root.

    Raises: CorruptData where the bytes are none.
    Spec:   format/files 5.4.
    """
    count = _COUNT.unpack_from(payload)[0] if len(payload) >= _COUNT.size else -1
    begin = _COUNT.size + _OFFSET_BYTES * (count + 1)
    if count < 0 or begin > len(payload):
        raise CorruptData("HFile's index block is cut off", entries=count, size_bytes=len(payload))
    places = begin + np.frombuffer(payload, ">i4", count + 1, _COUNT.size).astype(np.int64)
    if places[0] != begin or (np.diff(places) < _PLACE.size).any() or places[-1] > len(payload):
        raise CorruptData("HFile's index block has impossible offsets", entries=count, size_bytes=len(payload))
    found, bounds = [], places.tolist()
    for at, end in pairwise(bounds):
        offset, size = _PLACE.unpack_from(payload, at)
        found.append((_row(payload[at + _PLACE.size : end]), offset, size))
    return found


def encode_root_index(entries: Iterable[BlockEntry], form: KeyForm) -> bytes:
    """Write the root of the data index.

    Bytes: offset, size, key length as Hadoop's VInt, key.
    Spec:  format/files 5.4.
    """
    return _root((spelled_key(row, form), offset, size) for row, offset, size in entries)


def encode_meta_index(places: Iterable[BlockEntry]) -> bytes:
    """Write where the meta blocks are.

    Bytes: as the root of the data index, keys being the names.
    """
    return _root(places)


def encode_leaf_index(entries: Iterable[BlockEntry], form: KeyForm) -> bytes:
    """Write an index block of a level below the root.

    Bytes: count, offsets of the entries and of their end, entries of offset, size and key.
    Spec:  format/files 5.4.
    """
    parts = [_PLACE.pack(offset, size) + spelled_key(row, form) for row, offset, size in entries]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(part) for part in parts], dtype=np.int64)])
    return b"".join((_COUNT.pack(len(parts)), offsets.astype(">i4").tobytes(), *parts))


def spelled_key(row: bytes, form: KeyForm) -> bytes:
    """Write a key as the index and the file info have it.

    Bytes: row length, row, and what the form puts behind.
    """
    return _ROW_LENGTH.pack(len(row)) + row + form.value


def _row(key: bytes) -> bytes:
    """Return the row of a key, of either form."""
    length = _ROW_LENGTH.unpack_from(key)[0] if len(key) >= _ROW_LENGTH.size else -1
    if not 0 <= length <= len(key) - _ROW_LENGTH.size:
        raise CorruptData("HFile's index has a damaged key", size_bytes=len(key), length=length)
    return key[_ROW_LENGTH.size : _ROW_LENGTH.size + length]


def _root(entries: Iterable[BlockEntry]) -> bytes:
    return b"".join(_PLACE.pack(offset, size) + _vint(len(key)) + key for key, offset, size in entries)


def _root_entries(payload: bytes, count: int, behind: int) -> Iterator[BlockEntry]:
    """Yield key, offset and size of each entry; of keys that all have one length, as UUIDs have, sooner.

    So many bytes may be `behind` them: the count is that of the trailer, which has no checksum.
    """
    width, first = divmod(len(payload), count) if count else (0, 0)
    if not first and width > _PLACE.size and (found := _even_entries(payload, width)):
        yield from found
        return
    at = 0
    for _ in range(count):
        if at + _PLACE.size >= len(payload):
            raise CorruptData("HFile's index is cut off", entries=count, size_bytes=len(payload))
        offset, size = _PLACE.unpack_from(payload, at)
        length, begin = _key_length(payload, at + _PLACE.size)
        at = begin + length
        yield payload[begin:at], offset, size
    if len(payload) - at not in {0, behind}:
        raise CorruptData("HFile's index has other entries than it says", entries=count, size_bytes=len(payload))


def _even_entries(payload: bytes, width: int) -> list[BlockEntry] | None:
    """Read entries that all have keys of one length; None where they have not."""
    length, begin = _key_length(payload, _PLACE.size)
    if begin + length != width:
        return None
    kind = np.dtype([("offset", ">i8"), ("size", ">i4"), ("length", f"V{begin - _PLACE.size}"), ("key", f"V{length}")])
    entries = np.frombuffer(payload, kind)
    prefix, row_bytes = payload[_PLACE.size : begin], payload[begin : begin + _ROW_LENGTH.size]
    lengths = np.frombuffer(payload, np.uint8).reshape(-1, width)[:, _PLACE.size : begin + _ROW_LENGTH.size]
    if (lengths != np.frombuffer(prefix + row_bytes, np.uint8)).any():
        return None
    columns = (entries[name].tolist() for name in ("key", "offset", "size"))
    return list(zip(*columns, strict=True))


def _key_length(payload: bytes, at: int) -> tuple[int, int]:
    """Read the length of a key: (length, where the key begins).

    Early releases of 1.1 wrote it as protocol buffers do. From 128 on the two differ, and what one has written is
    no length for the other, but for few, of which the key's own length tells.
    """
    length, begin = _decode_vint(payload, at)
    if _is_key(payload, begin, length):
        return length, begin
    other, other_begin = decode_varint(payload, at)
    if _is_key(payload, other_begin, other) or not 0 <= length <= len(payload) - begin:
        length, begin = other, other_begin
    if length > len(payload) - begin:
        raise CorruptData("HFile's index is cut off", offset=at, size_bytes=len(payload))
    return length, begin


def _is_key(payload: bytes, begin: int, length: int) -> bool:
    """Check whether there is a key of so many bytes: row length, row, and nothing or the rest of a key."""
    if not _ROW_LENGTH.size <= length <= len(payload) - begin:
        return False
    rest = length - _ROW_LENGTH.size - _ROW_LENGTH.unpack_from(payload, begin)[0]
    return rest in _FORM_BYTES


def _decode_vint(payload: bytes, at: int) -> tuple[int, int]:
    """Read Hadoop's VInt: (value, where the next byte is); -1 for all that are negative or too long."""
    first = payload[at] if at < len(payload) else 0x80
    if first < 0x80:
        return first, at + 1
    extra = 0x90 - first  # 0x88 to 0x8f: as many bytes follow
    if not 1 <= extra <= 4 or at + 1 + extra > len(payload):
        return -1, at
    return int.from_bytes(payload[at + 1 : at + 1 + extra], "big"), at + 1 + extra


def _vint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([0x90 - size]) + value.to_bytes(size, "big")

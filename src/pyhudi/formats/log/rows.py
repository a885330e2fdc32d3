"""What an Avro or CDC block holds: Avro records, each behind its length.

Bytes:  int(3) int(rows), then int(size) and so many bytes a row.
"""

import struct
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded, Unsupported
from pyhudi.formats.read_at import ReadAt

__all__ = ["bytes_of", "join_rows", "read_rows", "split_rows"]

_VERSIONS: Final = (1, 2, 3)
_WRITTEN_VERSION: Final = 3
_FRONT: Final = struct.Struct(">ii")
_LENGTH: Final = struct.Struct(">i")
_MAX_BYTES: Final = (1 << 31) - 1


def split_rows(content: bytes) -> pa.BinaryArray:
    """Read the records of a block, still encoded by the schema in its header.

    Shape:  one value a row, in the order of the block.
    Cost:   a row's place is known only from the one before: a plain loop over the lengths, 0.1 us a row, is sooner than
            numpy is.
    Raises: CorruptData where lengths do not add up; Unsupported for other content versions; LimitExceeded beyond 2 GiB.
    Spec:   format/files 2.1, 2.6.
    """
    count = _rows_count(content[: _FRONT.size], len(content))
    return _values(content, _ends(content, count))


def read_rows(read_at: ReadAt, size: int, part_bytes: float) -> tuple[int, Iterator[pa.BinaryArray]]:
    """Read the records of a block as `split_rows` does, so many bytes at a time; returns how many there are, too.

    Cost:   one read where the block is not larger than a part, else one a part; no more than a part, or its largest
            record, is in memory.
    Raises: as `split_rows`.
    """
    if size <= part_bytes:
        values = split_rows(read_at(0, size))
        return len(values), iter((values,))
    count = _rows_count(read_at(0, _FRONT.size), size)
    return count, _read_parts(read_at, size, count, int(part_bytes))


def _rows_count(front: bytes, size: int) -> int:
    if len(front) < _FRONT.size:
        raise CorruptData("block of rows is cut off", size_bytes=size)
    version, count = _FRONT.unpack(front)
    if version not in _VERSIONS:
        raise Unsupported("content version of a block of rows is not known to this pyhudi", content_version=version)
    if size > _MAX_BYTES:
        raise LimitExceeded("block of rows is too large", size_bytes=size, limit_bytes=_MAX_BYTES)
    if not 0 <= count <= (size - _FRONT.size) // _LENGTH.size:
        raise CorruptData("block of rows names an impossible number of rows", rows=count, size_bytes=size)
    return int(count)


def _values(content: bytes, ends: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Cut records out, given where the first one's length is and where each ends."""
    count = len(ends) - 1
    edges = np.empty(2 * count + 1, np.int32)
    edges[0::2] = ends
    edges[1::2] = ends[:-1] + _LENGTH.size
    pieces = [None, pa.py_buffer(edges), pa.py_buffer(content)]
    lengths_and_rows = pa.Array.from_buffers(pa.binary(), 2 * count, pieces, null_count=0)
    return lengths_and_rows.take(pa.array(np.arange(1, 2 * count, 2)))


def _read_parts(read_at: ReadAt, size: int, count: int, part_bytes: int) -> Iterator[pa.BinaryArray]:
    at, wanted = _FRONT.size, part_bytes
    while count:
        content = read_at(at, min(wanted, size - at))
        ends = _whole_ends(content, count)
        if len(ends) > 1:
            yield _values(content, ends)
            at, count, wanted = at + int(ends[-1]), count - len(ends) + 1, part_bytes
        elif at + len(content) == size:
            raise CorruptData("rows of a block are cut off", offset=at, size_bytes=size)
        else:  # the next record is larger than that
            wanted *= 2
    if at != size:
        raise CorruptData("rows of a block do not end where it ends", offset=at, size_bytes=size)


def _whole_ends(content: bytes, most: int) -> npt.NDArray[np.int64]:
    """Return 0 and where each record ends that is whole, of `most` at most."""
    at, found, last = 0, [0], len(content) - _LENGTH.size
    while at <= last and len(found) <= most:
        length = _LENGTH.unpack_from(content, at)[0]
        if length < 0:
            raise CorruptData("row of a block names an impossible length", size_bytes=length)
        at += length + _LENGTH.size
        if at > len(content):
            break
        found.append(at)
    return np.array(found, np.int64)


def join_rows(values: pa.BinaryArray) -> bytes:
    """Write records that were encoded by the schema of the block's header.

    Shape:  one value a row; together less than 2 GiB.
    Nulls:  none.
    Bytes:  see the module.
    Raises: InvalidInput for a null.
    """
    if values.null_count:
        raise InvalidInput("a row of a block cannot be null", rows=values.null_count)
    lengths = pc.binary_length(values).to_numpy().astype(">i4")
    places = np.arange(len(values) + 1, dtype=np.int32) * _LENGTH.size
    prefixes = pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(places), pa.py_buffer(lengths.tobytes())], null_count=0
    )
    joined = pc.binary_join_element_wise(prefixes, values, b"")
    return b"".join([_FRONT.pack(_WRITTEN_VERSION, len(values)), bytes_of(joined)])


def bytes_of(values: pa.BinaryArray) -> memoryview:
    """Return all values of an array, one behind the other.

    Shape: n values -> the bytes of their buffer.
    """
    _, offsets, data = values.buffers()
    if not len(values) or data is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, np.int32)[values.offset :]
    return memoryview(data)[places[0] : places[len(values)]]


def _ends(content: bytes, count: int) -> npt.NDArray[np.int64]:
    """Return where the first record's length is, and where each record ends.

    Raises: CorruptData where they do not add up.
    """
    at, unpack = _FRONT.size, _LENGTH.unpack_from
    found = [at]
    try:
        for _ in range(count):
            at += unpack(content, at)[0] + _LENGTH.size
            found.append(at)
    except struct.error as error:
        raise CorruptData("rows of a block are cut off", offset=at, size_bytes=len(content)) from error
    ends = np.array(found, np.int64)
    if (np.diff(ends) < _LENGTH.size).any():
        raise CorruptData("row of a block names an impossible length", size_bytes=len(content))
    if at != len(content):
        raise CorruptData("rows of a block do not end where it ends", offset=at, size_bytes=len(content))
    return ends

"""Deletes into the content of a delete block, a column at a time: each gives a piece of every record.

Start at `encode_deletes`.
"""

import struct
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput, LimitExceeded
from pyhudi.formats.log.deletes import CONTENT_VERSION, DELETES
from pyhudi.formats.log.rows import bytes_of

__all__ = ["encode_deletes"]

_FRONT: Final = struct.Struct(">ii")
_MAX_BYTES: Final = 1 << 30
_NULL: Final = b"\0"
_VALUE: Final = b"\2"
_END: Final = b"\0"
_NUMBER_BYTES: Final = 10
"""At most: seven bits each."""
_DECIMAL_BYTES: Final = 16


def encode_deletes(deletes: pa.Table) -> bytes:
    """Write the content of a delete block, as Apache Hudi does.

    Shape:  `DELETES`, in the order in which they are to be stored.
    Bytes:  int(3) int(size), and an Avro HoodieDeleteRecordList of that size.
    Raises: InvalidInput for other columns, and for wrappers without a value; LimitExceeded beyond a gibibyte.
    Spec:   format/files 2.4.
    """
    if deletes.schema != DELETES:
        raise InvalidInput("deletes have other columns than a delete block", columns=deletes.schema.names)
    if deletes.nbytes > _MAX_BYTES:
        raise LimitExceeded("too many deletes for one block", size_bytes=deletes.nbytes, limit_bytes=_MAX_BYTES)
    key, path, ordering = (column.combine_chunks() for column in deletes.columns)
    records = _joined(_optional(key, _sized), _optional(path, _sized), _union(ordering))
    count = bytes_of(_numbers(np.array([len(records)]))) if len(records) else b""
    body = b"".join([count, bytes_of(records), _END])
    return _FRONT.pack(CONTENT_VERSION, len(body)) + body


def _joined(*pieces: pa.Array | bytes) -> pa.BinaryArray:
    return pc.binary_join_element_wise(*pieces, b"")


def _optional(values: pa.Array, encoded: Callable[[pa.Array], pa.BinaryArray]) -> pa.BinaryArray:
    """Write the union of null and a type."""
    return pc.fill_null(_joined(_VALUE, encoded(values)), _NULL)


def _union(values: pa.StructArray) -> pa.BinaryArray:
    """Write the union of null and of wrappers: the branch of the one that a row has, and its value."""
    found = pa.nulls(len(values), pa.binary())
    for place, field in enumerate(values.type, 1):
        wrapper = pc.struct_field(values, field.name)
        if wrapper.null_count < len(wrapper):
            inner = wrapper.type[0].name
            value = pc.struct_field(wrapper, inner)
            encoded = _optional(value, _array) if inner == "wrappedValues" else _encoded(value)
            _require_values(wrapper, encoded, field.name)
            branch = bytes_of(_numbers(np.array([place])))
            found = pc.coalesce(found, pc.if_else(wrapper.is_valid(), _joined(bytes(branch), encoded), None))
    return pc.fill_null(found, _NULL)


def _require_values(wrapper: pa.StructArray, encoded: pa.BinaryArray, name: str) -> None:
    if pc.and_(wrapper.is_valid(), encoded.is_null()).true_count:
        raise InvalidInput("ordering value of a delete is a wrapper without a value", wrapper=name)


def _encoded(values: pa.Array) -> pa.BinaryArray:
    """Write values as Avro does; null where the value is."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _sized(values)
    if pa.types.is_decimal(kind):
        return _sized(_unscaled(values))
    if pa.types.is_boolean(kind):
        return values.cast(pa.uint8()).view(pa.binary(1)).cast(pa.binary())
    if pa.types.is_floating(kind):
        return values.view(pa.binary(kind.bit_width // 8)).cast(pa.binary())
    numbers = values.view(pa.int64()) if pa.types.is_time(kind) else values.cast(pa.int64())
    return pc.if_else(values.is_valid(), _numbers(pc.fill_null(numbers, 0).to_numpy()), None)


def _array(lists: pa.ListArray) -> pa.BinaryArray:
    """Write lists as Avro arrays: one block, unless it is empty, and the end."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    items = pc.binary_join(pa.ListArray.from_arrays(offsets, _union(lists.flatten())), b"")
    counted = pc.if_else(pa.array(lengths > 0), _joined(_numbers(lengths), items), b"")
    return pc.if_else(lists.is_valid(), _joined(counted, _END), None)


def _sized(values: pa.Array) -> pa.BinaryArray:
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy()
    return _joined(_numbers(lengths), values.cast(pa.binary()))


def _numbers(values: npt.NDArray[np.integer]) -> pa.BinaryArray:
    """Write zigzag numbers: seven bits a byte, lowest first, the eighth says that more follow."""
    signed = values.astype(np.int64)
    left = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    digits = np.empty((len(left), _NUMBER_BYTES), np.uint8)
    is_used = np.empty(digits.shape, np.bool_)
    for place in range(_NUMBER_BYTES):
        is_used[:, place] = (left > 0) | (place == 0)
        digits[:, place] = (left & np.uint64(0x7F)).astype(np.uint8)
        left = left >> np.uint64(7)
        digits[:, place] |= np.where(left > 0, 0x80, 0).astype(np.uint8)
    return _binary(digits, is_used)


def _unscaled(values: pa.Array) -> pa.BinaryArray:
    """Write decimals as the fewest big-endian bytes that keep their sign."""
    stored = bytes_of(pc.fill_null(values, 0).view(pa.binary(_DECIMAL_BYTES)).cast(pa.binary()))
    digits = np.frombuffer(stored, np.uint8).reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    sign = digits[:, :1] >> 7
    is_needless = np.zeros(digits.shape, np.bool_)
    # a leading byte says no more than the sign, where the next one begins with it too
    is_needless[:, :-1] = (digits[:, :-1] == sign * np.uint8(0xFF)) & (digits[:, 1:] >> 7 == sign)
    is_used = ~np.logical_and.accumulate(is_needless, axis=1)
    return pc.if_else(values.is_valid(), _binary(digits, is_used), None)


def _binary(digits: npt.NDArray[np.uint8], is_used: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """Return the used bytes of each row as a value."""
    offsets = np.append(0, np.cumsum(is_used.sum(axis=1))).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(digits[is_used])]
    return pa.Array.from_buffers(pa.binary(), len(digits), buffers, null_count=0)

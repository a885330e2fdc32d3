"""The last 4096 bytes of an HFile: where the rest is, and how it is packed.

Start at `decode_trailer` and `encode_trailer`.
"""

from dataclasses import dataclass

from pyhudi.errors import CorruptData, LimitExceeded, Unsupported
from pyhudi.formats.hfile.block import HFileCodec
from pyhudi.formats.hfile.protobuf import Field, decode_message, encode_message, encode_varint, split_delimited

__all__ = ["TRAILER_BYTES", "Trailer", "decode_trailer", "encode_trailer"]

TRAILER_BYTES = 4096
_MAGIC = b'TRABLK"$'
_MAJOR_VERSION = 3
_VERSION_BYTES = 4
_MAX_LEVELS = 8
_MAX_LOADED_BYTES = 512 << 20
_COMPARATOR = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_NOWHERE = (1 << 64) - 1
"""The offset -1, as an unsigned integer."""

(
    _FILE_INFO,
    _LOADED,
    _DATA_BYTES,
    _,
    _DATA_INDEX,
    _META_INDEX,
    _ENTRIES,
    _LEVELS,
    _FIRST,
    _LAST,
    _ORDER,
    _CODEC,
    _KEY,
) = range(1, 14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer:
    """Where things are in the file. Units: bytes from its beginning."""

    load_on_open: int
    """Root index, index of the meta blocks and file info, one behind the other."""
    file_info: int
    data_index_count: int
    """Entries of the root index."""
    meta_index_count: int
    entries: int
    """Keys with their values."""
    levels: int = 1
    """Levels of the data index; one is the root alone."""
    first_block: int | None = None
    """None: no data block."""
    last_block: int | None = None
    data_bytes: int = 0
    """Data blocks before they are packed; written only."""
    codec: HFileCodec = HFileCodec.GZ


def decode_trailer(data: bytes, end: int) -> Trailer:
    """Read the trailer, which begins at the offset `end`.

    Raises: CorruptData where the bytes are none, or point outside the file; LimitExceeded where what must be loaded
            is beyond 512 MiB; Unsupported for other versions, codecs and encrypted files.
    Spec:   format/files 5.7.
    """
    if len(data) != TRAILER_BYTES or not data.startswith(_MAGIC):
        raise CorruptData("not an HFile: no trailer at its end", size_bytes=len(data))
    major = int.from_bytes(data[1 - _VERSION_BYTES :], "big")
    if major != _MAJOR_VERSION:
        raise Unsupported("only HFiles of version 3 are read", version=major)
    fields = dict(decode_message(split_delimited(data[len(_MAGIC) : -_VERSION_BYTES])))
    if fields.get(_KEY):
        raise Unsupported("encrypted HFiles are not read")
    trailer = Trailer(
        load_on_open=_number(fields, _LOADED),
        file_info=_number(fields, _FILE_INFO),
        data_index_count=_number(fields, _DATA_INDEX),
        meta_index_count=_number(fields, _META_INDEX),
        entries=_number(fields, _ENTRIES),
        levels=_number(fields, _LEVELS, 1),
        codec=_codec(_number(fields, _CODEC, HFileCodec.NONE)),
    )
    if not trailer.load_on_open <= trailer.file_info <= end:
        raise CorruptData("HFile's trailer points outside of the file", load_on_open=trailer.load_on_open, end=end)
    if end - trailer.load_on_open > _MAX_LOADED_BYTES:
        raise LimitExceeded("what opening an HFile loads is too large", size_bytes=end - trailer.load_on_open)
    if not 0 < trailer.levels <= _MAX_LEVELS:
        raise CorruptData("HFile's index has an impossible number of levels", levels=trailer.levels)
    return trailer


def encode_trailer(trailer: Trailer) -> bytes:
    """Write the trailer.

    Bytes: magic, length, the fields that Apache Hudi writes in the order of their numbers, zeros, version 3.
    Spec:  format/files 5.7.
    """
    fields: list[Field] = [
        (_FILE_INFO, trailer.file_info),
        (_LOADED, trailer.load_on_open),
        (_DATA_BYTES, trailer.data_bytes),
        (_DATA_INDEX, trailer.data_index_count),
        (_META_INDEX, trailer.meta_index_count),
        (_ENTRIES, trailer.entries),
        (_LEVELS, trailer.levels),
        (_FIRST, _NOWHERE if trailer.first_block is None else trailer.first_block),
        (_LAST, trailer.last_block or 0),
        (_ORDER, _COMPARATOR),
        (_CODEC, trailer.codec.value),
    ]
    message = encode_message(fields)
    begin = _MAGIC + encode_varint(len(message)) + message
    return begin.ljust(TRAILER_BYTES - _VERSION_BYTES, b"\0") + _MAJOR_VERSION.to_bytes(_VERSION_BYTES, "big")


def _number(fields: dict[int, int | bytes], number: int, default: int = 0) -> int:
    value = fields.get(number, default)
    if not isinstance(value, int):
        raise CorruptData("HFile's trailer has bytes where a number belongs", field=number)
    return value


def _codec(number: int) -> HFileCodec:
    try:
        return HFileCodec(number)
    except ValueError as error:
        raise Unsupported("only HFiles packed with GZ, or not at all, are read", codec=number) from error

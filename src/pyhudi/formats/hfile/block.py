"""A block of an HFile: a header that says its kind and sizes, a payload that may be packed, checksums.

A packed payload is a gzip member, whose own CRC covers it; a block's checksums are looked at where the payload is
stored as it is. Start at `decode_block` and `encode_block`.
"""

import struct
import zlib
from enum import Enum, IntEnum

import numpy as np
from isal import isal_zlib

from pyhudi.errors import CorruptData, LimitExceeded, Unsupported
from pyhudi.formats.hfile.checksum import crc32c_chunks

__all__ = ["HEADER_BYTES", "HFileBlockKind", "HFileCodec", "decode_block", "encode_block"]


class HFileBlockKind(Enum):
    """What a block is for. The values are the magics on disk."""

    DATA = b"DATABLK*"
    META = b"METABLKc"
    ROOT_INDEX = b"IDXROOT2"
    INTERMEDIATE_INDEX = b"IDXINTE2"
    LEAF_INDEX = b"IDXLEAF2"
    FILE_INFO = b"FILEINF2"


class HFileCodec(IntEnum):
    """How payloads are packed. The numbers are those on disk."""

    GZ = 1
    NONE = 2


_HEADER = struct.Struct(">8siiqBii")
HEADER_BYTES = _HEADER.size
_ENCODED_DATA = b"DATABLKE"
_NO_CHECKSUM, _CRC32, _CRC32C = 0, 1, 2
_CHECKSUM_BYTES = 4
_CHUNK_BYTES = 16 * 1024
_GZIP = 31
_MAX_PAYLOAD_BYTES = 512 << 20
_MAX_RATIO = 1032  # deflate cannot do better
_LEVEL = 1  # of igzip: a fifth of the time of zlib's level 1, for fewer bytes, on a record index
_MIN_ENTRY_BYTES = 21
_SIZE_BYTES = 4
"""A gzip member ends with the size of what is in it."""
_SHORT_BYTES = 64 << 10
"""So much may be unpacked without a limit, into memory that is taken once."""


def decode_block(data: bytes | memoryview, at: int, kind: HFileBlockKind, codec: HFileCodec) -> tuple[bytes, int]:
    """Read the block at `at`: (its payload, where the next block is).

    Raises: CorruptData where the bytes are no such block; LimitExceeded for a payload beyond 512 MiB; Unsupported for
            encodings within blocks.
    Spec:   format/files 5.2.
    """
    if not 0 <= at <= len(data) - HEADER_BYTES:
        raise CorruptData("HFile block is cut off", offset=at, size_bytes=len(data))
    magic, stored, unpacked, _, checksum, chunk_bytes, content = _HEADER.unpack_from(data, at)
    if magic == _ENCODED_DATA:
        raise Unsupported("HFile blocks with an encoding of their own are not read", offset=at)
    if magic != kind.value:
        raise CorruptData("HFile block is of another kind than expected", offset=at, magic=magic, expected=kind.value)
    if not HEADER_BYTES <= content <= HEADER_BYTES + stored <= len(data) - at or unpacked < 0:
        raise CorruptData("HFile block has impossible sizes", offset=at, stored=stored, content=content)
    if unpacked > _MAX_PAYLOAD_BYTES:
        raise LimitExceeded("HFile block is too large", offset=at, size_bytes=unpacked, limit=_MAX_PAYLOAD_BYTES)
    view = memoryview(data)
    payload, end = view[at + HEADER_BYTES : at + content], at + HEADER_BYTES + stored
    if codec is HFileCodec.GZ:
        return _unpacked(payload, unpacked, at), end
    if len(payload) != unpacked:
        raise CorruptData("HFile block has another size than it says", offset=at, size_bytes=len(payload))
    if checksum != _NO_CHECKSUM:
        _check(view[at : at + content], view[at + content : end], checksum, chunk_bytes)
    return bytes(payload), end


def encode_block(kind: HFileBlockKind, payload: bytes | memoryview, codec: HFileCodec, previous: int = -1) -> bytes:
    """Write a block.

    Bytes: header, payload, and zeros where checksums would be, of the type that says so, as Apache Hudi since 1.1.
    Spec:  format/files 5.2.
    """
    packed = _packed(payload) if codec is HFileCodec.GZ else payload
    content = HEADER_BYTES + len(packed)
    chunk_bytes = _chunk_bytes(content)
    checksums = bytes(_CHECKSUM_BYTES * _chunks(content, chunk_bytes))
    sizes = len(packed) + len(checksums), len(payload)
    header = _HEADER.pack(kind.value, *sizes, previous, _NO_CHECKSUM, chunk_bytes, content)
    return b"".join((header, packed, checksums))


def _unpacked(payload: memoryview, size_bytes: int, at: int) -> bytes:
    if size_bytes > _MAX_RATIO * len(payload):
        raise CorruptData("HFile block cannot be as large as it says", offset=at, size_bytes=size_bytes)
    is_short = len(payload) <= _SHORT_BYTES and payload[-_SIZE_BYTES:] == size_bytes.to_bytes(_SIZE_BYTES, "little")
    try:
        if is_short:
            found = isal_zlib.decompress(payload, _GZIP, size_bytes)
            if len(found) == size_bytes:
                return found
        unpacker = isal_zlib.decompressobj(_GZIP)
        found = unpacker.decompress(payload, size_bytes + 1)
    except isal_zlib.error as error:  # type: ignore[misc]  # its stub says that this is no class
        raise CorruptData("HFile block does not unpack", offset=at) from error
    if len(found) != size_bytes or not unpacker.eof or unpacker.unused_data:
        raise CorruptData("HFile block has another size than it says", offset=at, size_bytes=len(found))
    return found


def _packed(payload: bytes | memoryview) -> bytes:
    packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP)
    return packer.compress(payload) + packer.flush()


def _check(content: memoryview, stored: memoryview, checksum: int, chunk_bytes: int) -> None:
    if chunk_bytes <= 0 or len(stored) != _CHECKSUM_BYTES * _chunks(len(content), chunk_bytes):
        raise CorruptData("HFile block has an impossible number of checksums", chunk_bytes=chunk_bytes)
    if checksum == _CRC32C:
        found = crc32c_chunks(content, chunk_bytes)
    elif checksum == _CRC32:
        chunks = range(0, len(content), chunk_bytes)
        found = np.array([zlib.crc32(content[at : at + chunk_bytes]) for at in chunks], np.uint32)
    else:
        raise Unsupported("checksums of HFile blocks are of an unknown type", type=checksum)
    if found.astype(">u4").tobytes() != stored:
        raise CorruptData("HFile block does not match its checksums", size_bytes=len(content))


def _chunks(size_bytes: int, chunk_bytes: int) -> int:
    return -(-size_bytes // chunk_bytes)


def _chunk_bytes(content: int) -> int:
    """Return how many bytes a checksum covers: 16 KiB, unless that would hide entries.

    Apache Hudi's reader stops before the end of a data block by as many bytes as it has checksums; an entry that
    begins there is not found. So there are never as many as the shortest entry has bytes.
    """
    chunk_bytes = _CHUNK_BYTES
    while _CHECKSUM_BYTES * _chunks(content, chunk_bytes) >= _MIN_ENTRY_BYTES:
        chunk_bytes *= 2
    return chunk_bytes

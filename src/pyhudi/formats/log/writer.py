"""Blocks into the bytes of a log file, as Apache Hudi writes them.

Start at `encode_blocks`.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pyhudi.errors import InvalidInput, LimitExceeded
from pyhudi.formats.log.block import MAGIC, BlockKind, Command, HeaderKey, NewBlock

__all__ = ["encode_blocks", "rollback_block"]

_FORMAT_VERSION: Final = 1
_FRONT: Final = struct.Struct(">qii")
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">ii")
_NO_FOOTERS: Final = _INT.pack(0)
_MAX_LENGTH: Final = (1 << 31) - 1


def encode_blocks(blocks: Iterable[NewBlock]) -> bytes:
    """Write blocks one behind the other: a log file, or what is appended to one.

    Bytes:  see `block.MAGIC`; there are no footers.
    Raises: LimitExceeded for a block of 2 GiB and more, which Apache Hudi cannot read; InvalidInput for CORRUPT.
    Spec:   Log Format; format/files 1.3-1.5.
    """
    return b"".join(part for block in blocks for part in _parts(block))


def rollback_block(instant: str, target: str) -> NewBlock:
    """Return the command that takes the blocks of `target` back which come before it.

    Spec: format/files 1.6, 2.5.
    """
    return NewBlock(
        kind=BlockKind.COMMAND,
        headers={
            HeaderKey.INSTANT_TIME: instant,
            HeaderKey.COMMAND_BLOCK_TYPE: str(int(Command.ROLLBACK)),
            HeaderKey.TARGET_INSTANT_TIME: target,
        },
    )


def _parts(block: NewBlock) -> Iterator[bytes | memoryview]:
    if block.kind is BlockKind.CORRUPT:
        raise InvalidInput("a corrupt block is not written")
    headers, content_bytes = _entries(block.headers), memoryview(block.content).nbytes
    length = _PAIR.size + len(headers) + _LONG.size + content_bytes + len(_NO_FOOTERS) + _LONG.size
    if length + len(MAGIC) > _MAX_LENGTH:
        raise LimitExceeded("log block is too large for Apache Hudi", size_bytes=length, limit_bytes=_MAX_LENGTH)
    yield MAGIC
    yield _FRONT.pack(length, _FORMAT_VERSION, block.kind)
    yield headers
    yield _LONG.pack(content_bytes)
    yield block.content
    yield _NO_FOOTERS
    yield _LONG.pack(length + len(MAGIC))


def _entries(headers: Mapping[HeaderKey, str]) -> bytes:
    parts = [_INT.pack(len(headers))]
    for key, text in headers.items():
        data = text.encode()
        parts += [_PAIR.pack(key, len(data)), data]
    return b"".join(parts)

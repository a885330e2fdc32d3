"""Blocks out of a log file, and what is no block between them.

A writer that died leaves a torn block, and a later one may have appended behind it: what does not end where it says is
CORRUPT up to the next magic, as Apache Hudi has it. A block whose frame is whole but whose inside is not was damaged
after it was written, and is an error: passing over it would lose rows. Start at `read_blocks`.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import CorruptData, LimitExceeded, Unsupported
from pyhudi.formats.log.block import MAGIC, BlockKind, HeaderKey, LogBlock
from pyhudi.formats.log.ranges import FileRanges, small_file_at_once
from pyhudi.formats.read_at import ReadAt

__all__ = ["read_blocks"]

_FORMAT_VERSION: Final = 1
_OLD_MAGIC: Final = b"HUDI"
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">ii")
_BODY_AT: Final = len(MAGIC) + _LONG.size
_LEAST_BYTES: Final = _BODY_AT + _PAIR.size + _INT.size + _LONG.size + _INT.size + _LONG.size
_MAX_ENTRIES: Final = 64
_MAX_HEADER_BYTES: Final = 64 << 20
_MAX_CORRUPT: Final = 1000
_KINDS: Final = {int(kind): kind for kind in BlockKind if kind is not BlockKind.CORRUPT}
_KEYS: Final = {int(key): key for key in HeaderKey}


def read_blocks(read_at: ReadAt, size: int, path: str = "") -> Iterator[LogBlock]:
    """Read the blocks of a log file one after the other, without their contents.

    Fewer than six bytes behind the last block are passed over, as Apache Hudi does. `path` is for errors.

    Units:  `size` in bytes, as the listing says.
    Cost:   a file up to 1 MiB is one request; else one for each block's head and end, and a look ahead of 64 KiB. What
            is corrupt is searched once, a mebibyte at a time.
    Raises: CorruptData for a file that does not begin as a log file, and for a whole block with an impossible inside;
            LimitExceeded for headers of more than 64 MiB and files damaged in a thousand places; Unsupported for other
            versions of the log format and for kinds that are not known. What comes before is given first.
    Spec:   Log Format; format/files 1.3-1.7.
    """
    file = _File(source := small_file_at_once(read_at, size), FileRanges(source, size), size, path)
    position, corrupt_count = 0, 0
    if size >= len(MAGIC):
        _require_log_file(file.ranges.read(0, len(MAGIC)))
    while size - position >= len(MAGIC):
        end = _find_end(file, position)
        if end is None:
            corrupt_count += 1
            if corrupt_count > _MAX_CORRUPT:
                raise LimitExceeded("log file is damaged in too many places", limit=_MAX_CORRUPT, position=position)
            block = _corrupt_block(file, position)
        else:
            block = _whole_block(file, position, end)
        yield block
        position = block.end


@dataclass(frozen=True, slots=True)
class _File:
    source: ReadAt
    ranges: FileRanges
    size: int
    path: str


def _require_log_file(begins: bytes) -> None:
    if begins[: len(_OLD_MAGIC)] == _OLD_MAGIC:
        raise Unsupported("log format version 0 cannot be read by this pyhudi; compact the table with an older release")
    if begins != MAGIC:
        raise CorruptData("not a log file", begins=begins.hex())


def _find_end(file: _File, position: int) -> int | None:
    """Return where a block ends; None where it does not end as it says, or something else than a block follows.

    The trailing length and the magic behind it are what a torn write cannot have; less than a magic behind it is torn
    itself and does not count.
    """
    if file.size - position < _BODY_AT + _INT.size:
        return None
    head = file.ranges.read(position, _BODY_AT + _INT.size)
    # no block has 2 GiB, so Apache Hudi reads the lower half of the length only
    length, version = _PAIR.unpack_from(head, _BODY_AT - _INT.size)
    end: int = position + _BODY_AT + length
    if length < _LONG.size or end > file.size:
        return None
    tail_at = end - _LONG.size - _INT.size  # with the footers, if they are empty
    tail = file.ranges.read(tail_at, min(end + len(MAGIC), file.size) - tail_at)
    total, behind = _LONG.unpack_from(tail, _INT.size)[0], tail[end - tail_at :]
    if len(behind) == len(MAGIC) and behind != MAGIC:
        return None
    if version == 0:  # has no trailing length, so that it would pass for torn
        raise Unsupported("log format version 0 cannot be read by this pyhudi", position=position)
    return end if total == length + len(MAGIC) else None


def _corrupt_block(file: _File, position: int) -> LogBlock:
    content_at = position + len(MAGIC)
    end = file.ranges.find(MAGIC, content_at)
    return LogBlock(
        kind=BlockKind.CORRUPT,
        version=0,
        position=position,
        size_bytes=end - position,
        content_at=content_at,
        content_bytes=end - content_at,
        source=file.source,
        path=file.path,
    )


def _whole_block(file: _File, position: int, end: int) -> LogBlock:
    if end - position < _LEAST_BYTES:
        raise CorruptData("log block is too short", position=position, size_bytes=end - position)
    version, number = _PAIR.unpack(file.ranges.read(position + _BODY_AT, _PAIR.size))
    if version != _FORMAT_VERSION:
        raise Unsupported("log format version is not known to this pyhudi", version=version, position=position)
    kind = _KINDS.get(number)
    if kind is None:
        raise Unsupported("kind of log block is not known to this pyhudi", kind=number, position=position)
    footers_end = end - _LONG.size
    headers, at = _read_entries(file.ranges, position + _BODY_AT + _PAIR.size, footers_end - _LONG.size - _INT.size)
    content_bytes: int = _LONG.unpack(file.ranges.read(at, _LONG.size))[0]
    content_at = at + _LONG.size
    if not 0 <= content_bytes <= footers_end - _INT.size - content_at:
        raise CorruptData("log block names an impossible content length", position=position, size_bytes=content_bytes)
    footers, at = _read_entries(file.ranges, content_at + content_bytes, footers_end)
    if at != footers_end:
        raise CorruptData("bytes are left at the end of a log block", position=position, bytes_left=footers_end - at)
    return LogBlock(
        kind=kind,
        version=version,
        headers=headers,
        footers=footers,
        position=position,
        size_bytes=end - position,
        content_at=content_at,
        content_bytes=content_bytes,
        source=file.source,
        path=file.path,
    )


def _read_entries(ranges: FileRanges, at: int, stop: int) -> tuple[Mapping[HeaderKey, str], int]:
    """Read a map that ends at `stop` at the latest, and where it ends; keys that are not known are passed over."""
    begin, entries = at, dict[HeaderKey, str]()
    count: int = _INT.unpack(ranges.read(at, _INT.size))[0]
    at += _INT.size
    if not 0 <= count <= (stop - at) // _PAIR.size:
        raise CorruptData("log block names an impossible number of headers", headers=count, offset=begin)
    if count > _MAX_ENTRIES:
        raise LimitExceeded("log block has too many headers", headers=count, limit=_MAX_ENTRIES)
    for _ in range(count):
        if stop - at < _PAIR.size:
            raise CorruptData("headers of a log block are cut off", offset=at)
        number, length = _PAIR.unpack(ranges.read(at, _PAIR.size))
        at += _PAIR.size
        if not 0 <= length <= stop - at:
            raise CorruptData("header of a log block names an impossible length", offset=at, size_bytes=length)
        if at + length - begin > _MAX_HEADER_BYTES:
            raise LimitExceeded("headers of a log block are too large", offset=begin, limit_bytes=_MAX_HEADER_BYTES)
        key = _KEYS.get(number)
        if key is not None:
            entries[key] = _text(ranges.read(at, length), at)
        at += length
    return entries, at


def _text(data: bytes, at: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptData("header of a log block is no UTF-8", offset=at) from error

"""The blocks of a log file as values: one that was read, and one to be written.

Bytes:  see `MAGIC`; all integers are big-endian and signed.
Spec:   Log Format; format/files 1.3-1.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.read_at import ReadAt

__all__ = ["MAGIC", "BlockKind", "Command", "HeaderKey", "LogBlock", "NewBlock"]

MAGIC: Final = b"#HUDI#"
"""Bytes: magic 6, length 8, format version 4, kind 4, headers, content length 8, content, footers, length + 6: 8.

The length counts what follows it. A map of headers or footers is a count 4, then key 4, length 4 and UTF-8 each.
"""


class BlockKind(IntEnum):
    """What a block holds; the value is its number on disk."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    """Never written: what a reader makes of bytes that are no block."""
    AVRO = 3
    HFILE = 4
    PARQUET = 5
    CDC = 6


class HeaderKey(IntEnum):
    """What a block says of itself; the value is the key's number on disk."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


class Command(IntEnum):
    """What a command block asks for; the value is its number in the header."""

    ROLLBACK = 0
    """Drop the target instant's blocks before this one. Old releases call it ROLLBACK_PREVIOUS_BLOCK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBlock:
    """One block as it was read; its content is read when it is asked for. Units: bytes."""

    kind: BlockKind
    version: int
    """Of the log format; 0 for what is corrupt."""
    headers: Mapping[HeaderKey, str] = field(default_factory=dict)
    """In the order of the file; keys of later releases are left out."""
    footers: Mapping[HeaderKey, str] = field(default_factory=dict)
    position: int
    """Where its magic is."""
    size_bytes: int
    """The whole block, magic and trailing length included."""
    content_at: int
    content_bytes: int
    source: ReadAt = field(repr=False, compare=False)
    """Reads the file it is from."""
    path: str = field(default="", compare=False)
    """Where that file is, for errors; empty where its reader was not told."""

    @property
    def end(self) -> int:
        """Return where the next block begins."""
        return self.position + self.size_bytes

    @property
    def instant(self) -> str:
        """Return the requested time of the action that wrote it.

        Raises: CorruptData where the block has none.
        """
        return self.header(HeaderKey.INSTANT_TIME)

    @property
    def schema(self) -> str:
        """Return the Avro schema of its rows as JSON; CorruptData where the block has none."""
        return self.header(HeaderKey.SCHEMA)

    @property
    def is_partial(self) -> bool:
        """Return whether rows have changed columns only."""
        return self.headers.get(HeaderKey.IS_PARTIAL, "").lower() == "true"

    @property
    def compacted_instants(self) -> tuple[str, ...]:
        """Return the instants whose blocks a log compaction put together here."""
        times = self.headers.get(HeaderKey.COMPACTED_BLOCK_TIMES, "")
        return tuple(time for time in times.split(",") if time)

    @property
    def command(self) -> Command:
        """Return what a command block asks for.

        Raises: CorruptData where the header is missing or no number; Unsupported for a command of later releases.
        """
        text = self.header(HeaderKey.COMMAND_BLOCK_TYPE)
        if not (text.isascii() and text.isdigit()):
            raise CorruptData("command block does not name its command by number", command=text, position=self.position)
        try:
            return Command(int(text[:9]))
        except ValueError as error:
            raise Unsupported("command block with a command that is not known", command=text) from error

    def header(self, key: HeaderKey) -> str:
        """Return a header that a block of this kind must have.

        Raises: CorruptData where it is missing.
        """
        value = self.headers.get(key)
        if value is None:
            raise CorruptData("log block lacks a header", header=key.name, kind=self.kind.name, position=self.position)
        return value

    def read_content(self) -> bytes:
        """Read the whole content."""
        return self.read_at(0, self.content_bytes)

    def read_at(self, offset: int, length: int) -> bytes:
        """Read a part of the content, as a reader of HFile or parquet asks for it.

        Raises: CorruptData where the part is not inside the content.
        """
        if offset < 0 or length < 0 or offset + length > self.content_bytes:
            raise CorruptData(
                "read beyond the content of a log block",
                offset=offset,
                length=length,
                content_bytes=self.content_bytes,
                position=self.position,
            )
        return self.source(self.content_at + offset, length) if length else b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBlock:
    """One block to be written."""

    kind: BlockKind
    headers: Mapping[HeaderKey, str]
    """Are written in this order."""
    content: bytes | memoryview = b""

"""HFiles row by row, as slowly and plainly as can be, and the real ones of the golden tables."""

import lzma
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

SAMPLES = Path(__file__).with_name("samples")
HEADER = struct.Struct(">8siiqBii")


def blocks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Walk through a file's blocks: (magic, payload, the offset of the block before)."""
    at = 0
    while at < len(data) - 4096:
        magic, stored, _, previous, _, _, content = HEADER.unpack_from(data, at)
        payload = data[at + HEADER.size : at + content]
        yield magic, zlib.decompress(payload, 31) if payload[:2] == b"\x1f\x8b" else payload, previous
        at += HEADER.size + stored


def rows(payload: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Read a data block."""
    at = 0
    while at < len(payload):
        key, value, row = struct.unpack_from(">iih", payload, at)
        yield payload[at + 10 : at + 10 + row], payload[at + 8 + key : at + 8 + key + value]
        at += 8 + key + value + 1


def all_rows(data: bytes) -> list[tuple[bytes, bytes]]:
    """Read a file's entries."""
    return [row for magic, payload, _ in blocks(data) if magic == b"DATABLK*" for row in rows(payload)]


def real_hfiles(table: Path) -> Iterator[tuple[str, bytes]]:
    """Find the HFiles of a table: base files, and content of log blocks."""
    for path in sorted(table.rglob("*")):
        if path.suffix == ".hfile" and path.stat().st_size:
            yield path.name, path.read_bytes()
        elif ".log." in path.name:
            yield from ((path.name, content) for content in _log_contents(path.read_bytes()))


def hbase_hfiles() -> list[bytes]:
    """Unpack the files that HBase 2.4, in Apache Hudi 0.15, wrote: 300 entries, an index of many levels, CRC32C."""
    return [lzma.decompress(path.read_bytes()) for path in sorted(SAMPLES.glob("*.xz"))]


def _log_contents(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length, _, kind, headers = struct.unpack_from(">qiii", data, at + 6)
        place = at + 26
        for _ in range(headers):
            place += 8 + struct.unpack_from(">ii", data, place)[1]
        size = struct.unpack_from(">q", data, place)[0]
        if kind == 4:
            yield data[place + 8 : place + 8 + size]
        at += 14 + length

"""Reading an HFile through `read_at`, as little of it as a look-up needs.

Opening reads the end of the file, once where it is small. A look-up reads index blocks below the root, if there are
any, and the data blocks whose range of keys it touches; neighbours come in one read. Start at `open_hfile`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.formats.hfile.block import HFileBlockKind, decode_block
from pyhudi.formats.hfile.entries import ENTRIES, BlockEntries, decode_entries
from pyhudi.formats.hfile.file_info import decode_file_info, has_mvcc
from pyhudi.formats.hfile.index import BlockIndex, decode_leaf_index, decode_meta_index, decode_root_index
from pyhudi.formats.hfile.kept import KeptBlock, KeptBlocks, KeptEntries, block_digest, decode_to_keep
from pyhudi.formats.hfile.ranges import KeyRanges, covered_blocks, covered_keys, every_key, key_ranges, prefix_ranges
from pyhudi.formats.hfile.trailer import TRAILER_BYTES, Trailer, decode_trailer
from pyhudi.formats.read_at import ReadAt

__all__ = ["HFile", "open_hfile"]

Item = TypeVar("Item")
Part = TypeVar("Part", bound=BlockEntries | KeptEntries)

_TAIL_BYTES = 64 << 10
_GAP_BYTES = 32 << 10
"""What is read and not used rather than read in two."""
_READ_BYTES = 8 << 20
_PIECE_BYTES = 16 << 20
"""Decoded at once: larger pieces cost more, as their memory is fetched from the system anew."""


def open_hfile(read_at: ReadAt, size: int, kept: KeptBlocks | None = None) -> "HFile":
    """Read what says where things are: trailer, root index and file info.

    What look-ups decode is put into `kept`, and taken from there where the file has the same bytes.

    Cost:   one read, two if that is more than 64 KiB.
    Raises: CorruptData, LimitExceeded and Unsupported for what is no HFile, or none that is read here; what `read_at`
            raises.
    Spec:   format/files 5.
    """
    end = size - TRAILER_BYTES
    if end < 0:
        raise CorruptData("too short for an HFile", size_bytes=size)
    source = _Source(read_at, size)
    trailer = decode_trailer(bytes(source.read(end, TRAILER_BYTES)), end)
    loaded = source.read(trailer.load_on_open, end - trailer.load_on_open)
    root, at = decode_block(loaded, 0, HFileBlockKind.ROOT_INDEX, trailer.codec)
    places, _ = decode_block(loaded, at, HFileBlockKind.ROOT_INDEX, trailer.codec)
    info, _ = decode_block(loaded, trailer.file_info - trailer.load_on_open, HFileBlockKind.FILE_INFO, trailer.codec)
    file_info = decode_file_info(info)
    has_mvcc(file_info)
    return HFile(
        entries=trailer.entries,
        file_info=MappingProxyType(file_info),
        _source=source,
        _trailer=trailer,
        _root=BlockIndex.of(decode_root_index(root, trailer.data_index_count, trailer.levels), trailer.load_on_open),
        _meta_blocks=decode_meta_index(places, trailer.meta_index_count),
        _kept=kept,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HFile:
    """An open HFile: keys in the order of unsigned bytes, each with a value."""

    entries: int
    """How many keys there are."""
    file_info: Mapping[str, bytes] = field(repr=False)
    _source: "_Source" = field(repr=False)
    _trailer: Trailer = field(repr=False)
    _root: BlockIndex = field(repr=False)
    _meta_blocks: Mapping[str, tuple[int, int]] = field(repr=False)
    _kept: KeptBlocks | None = field(default=None, repr=False)

    def lookup(self, keys: pa.Array | pa.ChunkedArray | Sequence[bytes], *, prefix: bool = False) -> pa.Table:
        """Return the entries with these keys, or whose keys begin with them: columns `key` and `value`, sorted.

        Keys may come in any order and repeat; those that are not there are left out.

        Raises: InvalidInput for null keys; CorruptData, LimitExceeded, Unsupported; what `read_at` raises.
        """
        wanted = _keys(keys)
        ranges = prefix_ranges(wanted) if prefix else key_ranges(wanted)
        blocks = self._data_blocks(ranges)
        parts = _rising(self._decoded(blocks) if self._kept is None else self._known(blocks, self._kept), blocks)
        found = [part.chosen(covered_keys(part.keys, ranges)) for part in parts]
        return pa.Table.from_batches(found, ENTRIES)

    def read(self) -> pa.Table:
        """Return all entries: columns `key` and `value`, sorted.

        Raises: as `lookup`.
        """
        return pa.Table.from_batches(list(self.batches()), ENTRIES)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all entries, some 8 MiB at a time.

        Raises: as `lookup`.
        """
        count = 0
        blocks = self._data_blocks(every_key())
        for part in _rising(self._decoded(blocks), blocks):
            count += len(part.keys)
            yield part.all()
        if count != self.entries:
            raise CorruptData("HFile has another number of entries than it says", entries=count, expected=self.entries)

    def meta_block(self, name: str) -> bytes | None:
        """Return what is stored by this name beside the entries: `bloomFilter`; None if nothing is.

        Raises: CorruptData, LimitExceeded; what `read_at` raises.
        """
        if name not in self._meta_blocks:
            return None
        offset, size = self._meta_blocks[name]
        if not 0 <= offset <= self._trailer.load_on_open - size or size < 0:
            raise CorruptData("HFile's meta block is outside of the file", name=name, offset=offset, size_bytes=size)
        payload, _ = decode_block(self._source.read(offset, size), 0, HFileBlockKind.META, self._trailer.codec)
        return payload

    def _decoded(self, blocks: BlockIndex) -> Iterator[tuple[int, BlockEntries]]:
        """Read data blocks, some at a time: (number of the first, entries)."""
        has_version = has_mvcc(self.file_info)
        for first, payloads in _pieces((one, len(one)) for one in self._payloads(blocks, HFileBlockKind.DATA)):
            yield first, decode_entries(payloads, has_version=has_version)

    def _known(self, blocks: BlockIndex, kept: KeptBlocks) -> Iterator[tuple[int, KeptEntries]]:
        """Read data blocks as `_decoded` does, and decode those whose bytes are not known."""
        has_version = has_mvcc(self.file_info)
        for first, found in _pieces(self._kept_or_unpacked(blocks, kept, has_version=has_version)):
            payloads = [payload for _, payload in found if isinstance(payload, bytes)]
            decoded = iter(decode_to_keep(payloads, has_version=has_version))
            entries = []
            for digest, block in found:
                if isinstance(block, bytes):
                    new = next(decoded)
                    entries.append(kept.add(digest, new, new.size_bytes))
                else:
                    entries.append(block)
            yield first, KeptEntries.of(entries)

    def _kept_or_unpacked(
        self, blocks: BlockIndex, kept: KeptBlocks, *, has_version: bool
    ) -> Iterator[tuple[tuple[bytes, KeptBlock | bytes], int]]:
        """Read blocks: (digest, what is kept or the payload), and how many bytes that has."""
        for offset, stored in self._stored(blocks):
            digest = block_digest(stored, self._trailer.codec, has_version=has_version)
            known = kept.get(digest)
            if known is not None:
                yield (digest, known), known.size_bytes
                continue
            payload = self._payload(stored, HFileBlockKind.DATA, offset)
            yield (digest, payload), len(payload)

    def _data_blocks(self, ranges: KeyRanges) -> BlockIndex:
        blocks = self._root.take(covered_blocks(self._root.keys, ranges))
        for level in range(self._trailer.levels - 1, 0, -1):
            kind = HFileBlockKind.INTERMEDIATE_INDEX if level > 1 else HFileBlockKind.LEAF_INDEX
            entries = [entry for payload in self._payloads(blocks, kind) for entry in decode_leaf_index(payload)]
            below = BlockIndex.of(entries, self._trailer.load_on_open)
            blocks = below.take(covered_blocks(below.keys, ranges))
        return blocks

    def _payloads(self, blocks: BlockIndex, kind: HFileBlockKind) -> Iterator[bytes]:
        """Read and unpack blocks in their order."""
        return (self._payload(stored, kind, offset) for offset, stored in self._stored(blocks))

    def _payload(self, stored: memoryview, kind: HFileBlockKind, offset: int) -> bytes:
        payload, end = decode_block(stored, 0, kind, self._trailer.codec)
        if end != len(stored):
            raise CorruptData("HFile's index and block differ in size", offset=offset)
        return payload

    def _stored(self, blocks: BlockIndex) -> Iterator[tuple[int, memoryview]]:
        """Read blocks in their order, neighbours together: (where it begins, its bytes)."""
        offsets, ends = blocks.offsets.tolist(), (blocks.offsets + blocks.sizes).tolist()
        for first, behind in _runs(blocks.offsets, blocks.offsets + blocks.sizes):
            start = offsets[first]
            data = self._source.read(start, ends[behind - 1] - start)
            for block in range(first, behind):
                yield offsets[block], data[offsets[block] - start : ends[block] - start]


class _Source:
    """The file, with its end in memory."""

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self._read_at = read_at
        self._tail_at = max(0, size - _TAIL_BYTES)
        self._tail = self._exactly(self._tail_at, size - self._tail_at)

    def read(self, offset: int, length: int) -> memoryview:
        if offset >= self._tail_at:
            return self._tail[offset - self._tail_at : offset - self._tail_at + length]
        return self._exactly(offset, length)

    def _exactly(self, offset: int, length: int) -> memoryview:
        data = memoryview(self._read_at(offset, length))
        if len(data) != length:
            raise CorruptData("HFile is cut off", offset=offset, size_bytes=len(data), expected=length)
        return data


def _runs(offsets: np.ndarray, ends: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cut blocks into runs that are read at once: (first, behind the last)."""
    first = 0
    for block in range(1, len(offsets) + 1):
        if block < len(offsets):
            is_near = offsets[block] - ends[block - 1] <= _GAP_BYTES
            if is_near and ends[block] - offsets[first] <= _READ_BYTES:
                continue
        yield first, block
        first = block


def _pieces(sized: Iterable[tuple[Item, int]]) -> Iterator[tuple[int, list[Item]]]:
    """Gather what has so many bytes to pieces that are decoded at once: (number of the first, all of them)."""
    piece: list[Item] = []
    first = size = 0
    for number, (item, size_bytes) in enumerate(sized):
        piece.append(item)
        size += size_bytes
        if size >= _PIECE_BYTES:
            yield first, piece
            piece, first, size = [], number + 1, 0
    if piece:
        yield first, piece


def _rising(parts: Iterable[tuple[int, Part]], blocks: BlockIndex) -> Iterator[Part]:
    """Yield parts that have entries; the keys of each are where the index says, and follow those of the one before."""
    last = pa.array([b""], pa.binary())
    for first, part in parts:
        keys = part.keys
        if not len(keys):
            continue
        lowest = pa.concat_arrays([last, blocks.keys.slice(first, 1)])
        if pc.any(pc.less(keys[0], lowest)) == pa.scalar(True):
            raise CorruptData("keys of an HFile are not where its index says", offset=int(blocks.offsets[first]))
        last = keys.slice(len(keys) - 1)
        yield part


def _keys(keys: pa.Array | pa.ChunkedArray | Sequence[bytes]) -> pa.Array:
    try:
        given = keys if isinstance(keys, pa.Array | pa.ChunkedArray) else pa.array(keys, pa.binary())
        array = given.cast(pa.binary())
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    except (pa.ArrowException, TypeError) as error:
        raise InvalidInput("keys to look up are bytes or strings") from error
    if array.null_count:
        raise InvalidInput("a null key cannot be looked up", nulls=array.null_count)
    return array

"""Bytes of many rows, written piece by piece: each piece adds some bytes to every row. Start at `RowBytes`.

Numbers and other short values gather as columns of bytes; strings, and rows of nested values, are pieces as they stand
in Arrow, so their bytes are copied once, when all pieces of a row are joined.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.formats.avro_rows.source import Ints

__all__ = ["Mask", "RowBytes", "cut_rows", "edges_of", "fill_rows"]

Mask: TypeAlias = npt.NDArray[np.bool_]
_Block: TypeAlias = npt.NDArray[np.uint8]

_LOW = np.uint64(0x7F)


class RowBytes:
    """Rows that grow by a piece at a time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.pieces: list[pa.LargeBinaryArray] = []
        self.blocks: list[tuple[_Block, Mask | None]] = []

    def add_constant(self, data: bytes) -> None:
        """Add the same bytes to every row."""
        if data:
            self.blocks.append((np.broadcast_to(np.frombuffer(data, np.uint8), (self.count, len(data))), None))

    def add_block(self, block: npt.NDArray[Any], mask: Mask | None = None) -> None:
        """Add a row of the block to every row: of those in the mask, or those of its bytes that are."""
        if mask is not None and mask.ndim == 1:
            mask = np.broadcast_to(mask[:, None], block.shape)
        self.blocks.append((block, mask))

    def add_longs(self, values: Ints, mask: Mask | None = None) -> None:
        """Add a zigzag number to every row, or to those in the mask."""
        raw = ((values << 1) ^ (values >> 63)).view(np.uint64)
        raw = raw if mask is None else np.where(mask, raw, 0).astype(np.uint64)
        width = max((int(raw.max()).bit_length() + 6) // 7, 1) if len(raw) else 1
        if width == 1:
            self.add_block(raw.astype(np.uint8)[:, None], mask)
            return
        left = raw[:, None] >> np.arange(0, 7 * width, 7, dtype=np.uint64)
        block = (left & _LOW).astype(np.uint8)
        block[:, :-1] |= (left[:, 1:] != 0).astype(np.uint8) << 7
        used = left != 0
        used[:, 0] = True if mask is None else mask
        self.add_block(block, used)

    def add_rows(self, rows: pa.LargeBinaryArray) -> None:
        """Add bytes of any length to every row."""
        self._flush()
        self.pieces.append(rows)

    def join(self) -> pa.LargeBinaryArray:
        """Return all rows."""
        self._flush()
        if len(self.pieces) == 1:
            return self.pieces[0]
        if not self.pieces:
            return cut_rows(pa.py_buffer(b""), np.zeros(self.count + 1, np.int64))
        return pc.binary_join_element_wise(*self.pieces, pa.scalar(b"", pa.large_binary()))

    def _flush(self) -> None:
        """Make one piece of the blocks that gathered."""
        if not self.blocks:
            return
        blocks = [block for block, _ in self.blocks]
        data = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        if all(mask is None for _, mask in self.blocks):
            sizes = np.full(self.count, data.shape[1], np.int64)
        else:
            masks = [np.ones(block.shape, np.bool_) if mask is None else mask for block, mask in self.blocks]
            used = np.concatenate(masks, axis=1)
            data, sizes = data[used], used.sum(axis=1)
        self.blocks = []
        self.pieces.append(cut_rows(pa.py_buffer(np.ascontiguousarray(data)), _edges(sizes)))


def cut_rows(data: pa.Buffer, edges: Ints) -> pa.LargeBinaryArray:
    """Return the rows that begin and end at those edges.

    Shape:  n + 1 edges, ascending -> n rows.
    """
    return pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, [None, pa.py_buffer(edges), data], 0)


def fill_rows(rows: pa.LargeBinaryArray, lanes: Ints, count: int) -> pa.LargeBinaryArray:
    """Return `count` rows, the lanes' bytes in theirs and none in the others, without copying bytes.

    Shape:  one row a lane -> `count` rows.
    """
    edges = edges_of(rows)
    sizes = np.zeros(count, np.int64)
    sizes[lanes] = np.diff(edges)
    return cut_rows(rows.buffers()[2] or pa.py_buffer(b""), _edges(sizes) + edges[0])


def edges_of(rows: pa.LargeBinaryArray) -> Ints:
    """Return where each row begins in its buffer, and where the last ends.

    Shape:  n rows -> n + 1 edges.
    """
    if not len(rows):
        return np.zeros(1, np.int64)
    return np.frombuffer(rows.buffers()[1], np.int64)[rows.offset : rows.offset + len(rows) + 1]


def _edges(sizes: Ints) -> Ints:
    edges = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=edges[1:])
    return edges

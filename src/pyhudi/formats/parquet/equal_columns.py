"""Columns of one file that are stored twice: a key column and `_hoodie_record_key`, most often.

Two columns whose stored bytes are the same hold the same values, so one of them need not be decoded. Start at
`equal_columns`.
"""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["equal_columns"]

Chunks: TypeAlias = tuple[pq.ColumnChunkMetaData, ...]


def equal_columns(
    source: pa.NativeFile, metadata: pq.FileMetaData, row_groups: Sequence[int], names: AbstractSet[str]
) -> dict[str, str]:
    """Find columns that are byte for byte another one; give for each the first that is the same.

    Looks only at text and bytes of files whose memory can be compared without a copy.

    Cost: one comparison of memory for columns of the same size; nothing where sizes differ.
    """
    if not isinstance(source, pa.BufferReader):
        return {}
    alike: dict[object, list[tuple[str, Chunks]]] = defaultdict(list)
    copies: dict[str, str] = {}
    groups = [metadata.row_group(group) for group in row_groups]
    schema = metadata.schema
    for at in range(metadata.num_columns):
        leaf = schema.column(at)
        if leaf.path not in names or leaf.physical_type != "BYTE_ARRAY" or not groups:
            continue
        chunks = tuple(group.column(at) for group in groups)
        form = (str(leaf.logical_type), leaf.max_definition_level, tuple(_form(chunk) for chunk in chunks))
        first = next((name for name, others in alike[form] if _are_same(source, chunks, others)), None)
        if first is None:
            alike[form].append((leaf.path, chunks))
        else:
            copies[leaf.path] = first
    return copies


def _form(chunk: pq.ColumnChunkMetaData) -> tuple[object, ...]:
    return chunk.num_values, chunk.compression, chunk.total_compressed_size, chunk.total_uncompressed_size


def _are_same(source: pa.BufferReader, chunks: Chunks, others: Chunks) -> bool:
    return all(_bytes(source, one).equals(_bytes(source, other)) for one, other in zip(chunks, others, strict=True))


def _bytes(source: pa.BufferReader, chunk: pq.ColumnChunkMetaData) -> pa.Buffer:
    """Return the pages of a column in one row group, without a copy."""
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    source.seek(chunk.data_page_offset if start is None else min(start, chunk.data_page_offset))
    return source.read_buffer(chunk.total_compressed_size)

"""Changes of rows into log blocks. Start at `encode_changes`."""

import io
import json

import numpy as np
import pyarrow as pa

from pyhudi.errors import InternalError
from pyhudi.filegroup.log_ordering import ordering_union
from pyhudi.filegroup.write_task import FileTask, WriteSpec
from pyhudi.formats.avro_rows import encode_rows
from pyhudi.formats.bitmap import encode_positions
from pyhudi.formats.log import DELETES, BlockKind, HeaderKey, NewBlock, encode_deletes, join_rows
from pyhudi.formats.parquet import write_base_file
from pyhudi.kernels.changes import RowChanges
from pyhudi.schema.meta_fields import META_FIELDS

__all__ = ["block_columns", "encode_changes"]

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


def encode_changes(part: RowChanges, spec: WriteSpec, task: FileTask) -> NewBlock:
    """Return the block of changes that are all rows, or all deletes.

    Where the rows of the base file are known that they replace, they are stored in its order, with their positions;
    where some are not, there are none. Partial updates store their columns and the meta columns only.

    Shape:  rows of `layout.file_schema`, meta columns as they are to be stored: the caller sets them.
    Raises: SchemaMismatch for rows that do not fit the schema, and for ordering values that no delete can have.
    Spec:   format/files 2, 3.
    """
    if spec.logs is None:
        raise InternalError("a write without log files was to write one")
    headers = {HeaderKey.INSTANT_TIME: str(spec.instant), HeaderKey.SCHEMA: spec.logs.schema}
    if task.compacted:
        headers[HeaderKey.COMPACTED_BLOCK_TIMES] = ",".join(task.compacted)
    keys, rows, is_unordered = part.keys, part.rows, part.is_unordered
    positions = _known_positions(part) if spec.logs.has_positions and task.base else None
    if positions is not None and task.base:
        order = np.argsort(positions, kind="stable")
        headers |= _position_headers(positions[order], task.base.instant)
        keys, rows, is_unordered = keys.take(pa.array(order)), rows.take(pa.array(order)), is_unordered[order]
    if part.is_delete.any():
        columns = [rows.column(name).combine_chunks() for name in spec.merge.ordering]
        content = _deletes(keys, ordering_union(columns, is_unordered), task.partition)
        return NewBlock(kind=BlockKind.DELETE, headers=headers, content=content)
    if part.columns is not None:
        rows = rows.select(block_columns(part))
        headers |= {HeaderKey.SCHEMA: _part_of(spec.logs.schema, rows.column_names), HeaderKey.IS_PARTIAL: "true"}
    content = _rows(rows, headers[HeaderKey.SCHEMA], spec)
    return NewBlock(kind=spec.logs.kind, headers=headers, content=content)


def block_columns(part: RowChanges) -> list[str]:
    """Name the columns that the block of rows has: all, or those of partial updates with the meta columns."""
    names = part.rows.column_names
    return names if part.columns is None else [name for name in names if name in (*META_FIELDS, *part.columns)]


def _known_positions(part: RowChanges) -> Positions | None:
    positions = part.positions
    return None if positions is None or not len(positions) or positions.min() < 0 else positions


def _position_headers(positions: Positions, base_instant: str) -> dict[HeaderKey, str]:
    """Return what says where sorted positions count, and them; none where one is there twice."""
    headers = {HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: str(base_instant)}
    if (np.diff(positions) > 0).all():
        headers[HeaderKey.RECORD_POSITIONS] = encode_positions(positions)
    return headers


def _part_of(schema: str, names: list[str]) -> str:
    record = json.loads(schema)
    record["fields"] = [one for one in record["fields"] if one["name"] in names]
    return json.dumps(record, separators=(",", ":"))


def _rows(rows: pa.Table, schema: str, spec: WriteSpec) -> bytes:
    if spec.logs and spec.logs.kind is BlockKind.AVRO:
        return join_rows(encode_rows(rows, schema).cast(pa.binary()))
    sink = io.BytesIO()
    write_base_file(sink, rows.to_batches(), rows.schema, spec.parquet, dict)
    return sink.getvalue()


def _deletes(keys: pa.ChunkedArray, ordering: pa.StructArray, partition: str) -> bytes:
    paths = pa.repeat(pa.scalar(partition, pa.string()), len(keys))
    return encode_deletes(pa.table([keys.combine_chunks(), paths, ordering], schema=DELETES))

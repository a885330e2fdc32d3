"""Log blocks of data tables into changes of rows.

Only the columns that a read needs leave their block. Start at `read_changes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, InternalError, Unsupported
from pyhudi.filegroup.log_ordering import lacks_ordering, ordering_columns
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.bitmap import decode_positions
from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock, decode_deletes, split_rows
from pyhudi.formats.parquet import iter_batches, read_footer
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.keys import KeySpec, record_keys
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, deleted_rows
from pyhudi.schema.evolution import project
from pyhudi.schema.meta_fields import RECORD_KEY
from pyhudi.schema.types import avro_to_arrow
from pyhudi.storage.ranged_input import RangedInput
from pyhudi.timeline.instant import InstantTime

__all__ = ["ReadSpec", "read_changes"]

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]

_WHOLE_BYTES: Final = 1 << 20
"""Parquet blocks up to this size are read in one request."""
_TAIL_BYTES: Final = 64 << 10
"""Has the footer, most often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """What a read wants of the logs of one file slice."""

    schema: pa.Schema
    """The columns of `RowChanges.rows`, in today's types: those that are read or filtered, and the ordering columns.

    Virtual keys are computed from these columns where they are among them, else as they were written.
    """
    key_spec: KeySpec
    merge: MergeSpec
    has_meta_values: bool = True
    """False: virtual keys, computed from columns."""
    base_instant: InstantTime | None = None
    """The slice's base file, whose rows positions count; None: positions are not wanted."""

    @property
    def ordering(self) -> list[pa.Field]:
        """Return the ordering columns; none where the order of commits alone decides and they are not read.

        Raises: InternalError where they are needed and are not among the columns.
        """
        found = [self.schema.field(name) for name in self.merge.ordering if name in self.schema.names]
        if len(found) < len(self.merge.ordering) and (found or self.merge.is_event_time):
            raise InternalError("log blocks are read without their ordering columns", ordering=self.merge.ordering)
        return found

    @property
    def sources(self) -> set[str]:
        """Return the columns that are decoded, if a block has them."""
        keys = [name.partition(".")[0] for name in self.key_spec.record_key]
        deletes = [*DELETE_COLUMNS, self.merge.delete_field]
        return {*self.schema.names, *([RECORD_KEY] if self.has_meta_values else keys), *keys, *deletes}


def read_changes(block: LogBlock, spec: ReadSpec) -> RowChanges:
    """Read a block of rows or deletes as changes, in the order of the block.

    Shape:  n records -> n changes; `rows` has the columns of `spec.schema`.
    Nulls:  columns that the block has not are null; of a partial block, `columns` names those that it has.
    Cost:   the bytes of Avro, HFile and delete blocks; of larger parquet blocks only the columns that are needed.
    Raises: CorruptData; SchemaMismatch where stored types cannot become today's; Unsupported for change logs, for
            deletes in Kryo and for content versions that are not known.
    Spec:   format/files 2, 3, 6.4.
    """
    if block.kind is BlockKind.DELETE:
        return _deletes(block, spec)
    return _changed_rows(block, spec)


def _changed_rows(block: LogBlock, spec: ReadSpec) -> RowChanges:
    written = avro_to_arrow(block.schema, wide_unions=True).names
    stored = _stored_rows(block, [name for name in written if name in spec.sources], spec)
    columns = tuple(name for name in spec.schema.names if name in written) if block.is_partial else None
    rows = _as_wanted(stored, spec.schema, columns)
    is_delete = deleted_rows(stored, spec.merge)
    unordered = lacks_ordering([rows.column(field.name) for field in spec.ordering], rows.num_rows)
    return RowChanges(
        keys=_keys(stored, rows, spec, block),
        rows=rows,
        is_delete=is_delete,
        is_unordered=is_delete & unordered,
        columns=columns,
        positions=_positions(block, rows.num_rows, spec),
    )


def _deletes(block: LogBlock, spec: ReadSpec) -> RowChanges:
    deletes, fields = decode_deletes(block.read_content()), spec.ordering
    count = deletes.num_rows
    values, is_unordered = ordering_columns(deletes.column("ordering").combine_chunks(), fields)
    known = dict(zip((field.name for field in fields), values, strict=True))
    columns = [known.get(field.name, pa.nulls(count, field.type)) for field in spec.schema]
    return RowChanges(
        keys=_required(deletes.column("record_key"), block),
        rows=pa.Table.from_arrays(columns, schema=spec.schema),
        is_delete=np.ones(count, dtype=np.bool_),
        is_unordered=is_unordered,
        is_by_key=True,
        positions=_positions(block, count, spec),
    )


def _stored_rows(block: LogBlock, names: Sequence[str], spec: ReadSpec) -> pa.Table:
    """Read columns of a block of rows, in the types in which they were written."""
    if block.kind is BlockKind.AVRO:
        return _table(decode_rows(split_rows(block.read_content()), block.schema, columns=names))
    if block.kind is BlockKind.PARQUET:
        return _parquet_rows(block, names)
    if block.kind is BlockKind.HFILE:
        return _hfile_rows(block, names, spec)
    if block.kind is BlockKind.CDC:
        raise Unsupported("a change log is no part of a file slice", kind=block.kind.name, position=block.position)
    raise InternalError("a log block without rows was to be read", kind=block.kind.name, position=block.position)


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _parquet_rows(block: LogBlock, names: Sequence[str]) -> pa.Table:
    size = block.content_bytes
    if size <= _WHOLE_BYTES:
        source = pa.BufferReader(block.read_content())
    else:
        tail = block.read_at(size - _TAIL_BYTES, _TAIL_BYTES)
        source = pa.PythonFile(RangedInput(f"log block at {block.position}", block.read_at, size, tail), "r")
    footer = read_footer(source)
    stored = pa.schema([field for field in footer.schema if field.name in names])
    return pa.Table.from_batches(list(iter_batches(source, names, footer=footer)), stored)


def _hfile_rows(block: LogBlock, names: Sequence[str], spec: ReadSpec) -> pa.Table:
    """Read the values of an HFile, whose keys are not in them: their field is blank."""
    entries = open_hfile(block.read_at, block.content_bytes).read()
    rows = _table(decode_rows(entries.column("value"), block.schema, columns=names))
    keys = entries.column("key").cast(pa.string())
    field = RECORD_KEY if spec.has_meta_values else ",".join(spec.key_spec.record_key)
    at = rows.schema.get_field_index(field)
    if at < 0 or rows.schema.field(at).type != pa.string():
        return rows
    is_blank = pc.fill_null(pc.equal(rows.column(at), ""), fill_value=False)
    return rows.set_column(at, field, pc.if_else(is_blank, keys, rows.column(at)))


def _as_wanted(stored: pa.Table, schema: pa.Schema, columns: Sequence[str] | None) -> pa.Table:
    """Fit rows to the wanted schema; only a partial block may lack what cannot be null."""
    if columns is None:
        return project(stored, schema)
    known = project(stored, pa.schema([schema.field(name) for name in columns]))
    every = [
        known.column(field.name) if field.name in columns else pa.nulls(stored.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(every, schema=schema)


def _keys(stored: pa.Table, rows: pa.Table, spec: ReadSpec, block: LogBlock) -> pa.ChunkedArray:
    if spec.has_meta_values:
        if RECORD_KEY not in stored.column_names:
            raise CorruptData("rows of a log have no record keys", position=block.position)
        return _required(stored.column(RECORD_KEY), block)
    for name in rows.column_names:
        at = stored.schema.get_field_index(name)
        stored = stored if at < 0 else stored.set_column(at, name, rows.column(name))
    without_meta = [name for name in stored.column_names if name != RECORD_KEY]
    return record_keys(spec.key_spec, stored.select(without_meta))


def _positions(block: LogBlock, count: int, spec: ReadSpec) -> Positions | None:
    """Return the rows of the base file that the records replace; None where they are of another base file."""
    text = block.headers.get(HeaderKey.RECORD_POSITIONS)
    base = block.headers.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)
    if not text or spec.base_instant is None or base != spec.base_instant:
        return None
    return decode_positions(text, count)


def _required(keys: pa.ChunkedArray, block: LogBlock) -> pa.ChunkedArray:
    if keys.null_count:
        raise CorruptData("a record of a log has no key", records=keys.null_count, position=block.position)
    return keys

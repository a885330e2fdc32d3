"""Log blocks of data tables into changes of rows.

Only the columns that a read needs leave their block. Start at `read_changes`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.scanning import naming_file
from pyhudi.errors import CorruptData, InternalError, Unsupported
from pyhudi.filegroup.log_ordering import lacks_ordering, ordering_columns
from pyhudi.filegroup.rows import RowLayout
from pyhudi.formats.avro_rows import decode_batches, decode_rows
from pyhudi.formats.bitmap import decode_positions
from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock, decode_deletes, read_rows
from pyhudi.formats.parquet import Footer, iter_batches, read_footer
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.keys import KeyGenerator, record_keys
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, deleted_rows
from pyhudi.schema.evolution import project
from pyhudi.schema.meta_fields import RECORD_KEY
from pyhudi.schema.types import avro_to_arrow
from pyhudi.storage.ranged_input import RangedInput
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "Chooser",
    "ReadSpec",
    "estimated_bytes",
    "open_parquet",
    "read_changes",
    "read_parts",
]

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]

Chooser = Callable[[pa.ChunkedArray], npt.NDArray[np.bool_]]
"""Returns which of n keys are wanted."""

_WHOLE_BYTES: Final = 1 << 20
"""Parquet blocks up to this size are read in one request."""
_TAIL_BYTES: Final = 64 << 10
"""Has the footer, most often."""
_FEWEST_ROWS: Final = 1024
_MOST_ROWS: Final = 1 << 17
"""Of a batch of parquet."""
_LEAST_CONTENT: Final = 256 << 10
"""Of Avro that is read at a time: its decoding has a price of its own."""
_CONTENT_SHARE: Final = 8
"""Records lie in memory more than once until they are columns."""
_COLUMNS_AT_ONCE: Final = 64
"""Of which a page is looked at: each look opens the file, which costs something for each column that it has."""
_DELETE_GROWTH: Final = 3
"""Of a delete, from its bytes to columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """What a read wants of the logs of one file slice."""

    schema: pa.Schema
    """The columns of `RowChanges.rows`, in today's types: those that are read or filtered, and the ordering columns.

    Virtual keys are computed from these columns where they are among them, else as they were written.
    """
    layout: RowLayout
    merge: MergeSpec
    base_instant: InstantTime | None = None
    """The slice's base file, whose rows positions count; None: positions are not wanted."""

    @classmethod
    def of_keys(cls, layout: RowLayout) -> Self:
        """Return what a read of keys alone wants."""
        schema = pa.schema([field for field in layout.file_schema if field.name in layout.key_columns])
        return cls(schema=schema, layout=layout, merge=MergeSpec())

    @property
    def ordering(self) -> list[pa.Field]:
        """Return the ordering columns; none where the order of commits alone decides and they are not read.

        Raises: InternalError where they are needed and are not among the columns.
        """
        found = [self.schema.field(name) for name in self.merge.ordering if name in self.schema.names]
        if len(found) < len(self.merge.ordering) and (found or self.merge.is_event_time):
            raise InternalError("log blocks are read without their ordering columns", ordering=self.merge.ordering)
        return found

    def sources(self, written: Sequence[str]) -> list[str]:
        """Return which of a block's columns are decoded."""
        if not self.layout.has_meta_values and self.layout.key_spec.generator is KeyGenerator.USER_PROVIDED:
            return list(written)
        wanted = {*self.schema.names, *self.layout.key_columns, *DELETE_COLUMNS, self.merge.delete_field}
        return [name for name in written if name in wanted]


def read_changes(block: LogBlock, spec: ReadSpec) -> RowChanges:
    """Read a block of rows or deletes as changes, in the order of the block.

    Shape:  n records -> n changes; `rows` has the columns of `spec.schema`.
    Nulls:  columns that the block has not are null; of a partial block, `columns` names those that it has.
    Cost:   the bytes of Avro, HFile and delete blocks; of larger parquet blocks only the columns that are needed.
    Raises: CorruptData; SchemaMismatch where stored types cannot become today's; Unsupported for change logs, for
            deletes in Kryo and for content versions that are not known.
    Spec:   format/files 2, 3, 6.4.
    """
    [changes] = read_parts(block, spec, math.inf)
    return changes


def read_parts(block: LogBlock, spec: ReadSpec, part_bytes: float) -> Iterator[RowChanges]:
    """Read a block as `read_changes` does, some rows at a time, so that they need not all be in memory.

    Shape:  at least one part, in the order of the block; each ends with the batch that brings it to `part_bytes`.
    Units:  `part_bytes` of decoded rows.
    Cost:   beside a part, an eighth of it of the bytes of Avro, of parquet the pages of a row group, of an HFile 8 MiB.
            Deletes are one part.
    Raises: as `read_changes`.
    """
    with naming_file(block.path):
        yield from _parts(block, spec, part_bytes)


def _parts(block: LogBlock, spec: ReadSpec, part_bytes: float) -> Iterator[RowChanges]:
    if block.kind is BlockKind.DELETE:
        yield _deletes(block, spec)
        return
    written = avro_to_arrow(block.schema, wide_unions=True).names
    columns = _set_columns(block, spec, written)
    count, batches = _stored_rows(block, spec.sources(written), spec, part_bytes)
    positions, at = _positions(block, count, spec), 0
    for stored in _gathered(batches, part_bytes):
        part = _changes(stored, block, spec, columns)
        end = at + stored.num_rows
        yield part if positions is None else replace(part, positions=positions[at:end])
        at = end


def estimated_bytes(block: LogBlock, spec: ReadSpec) -> int:
    """Estimate what the rows of a block take in memory, by its first ones.

    Cost: of parquet a page of each column, some of them at once; of other blocks a part, of delete blocks nothing.
    """
    if block.kind is BlockKind.DELETE:
        return block.content_bytes * _DELETE_GROWTH
    with naming_file(block.path):
        return _estimated_rows_bytes(block, spec)


def _estimated_rows_bytes(block: LogBlock, spec: ReadSpec) -> int:
    names = spec.sources(avro_to_arrow(block.schema, wide_unions=True).names)
    if block.kind is not BlockKind.PARQUET:
        count, batches = _stored_rows(block, names, spec, _WHOLE_BYTES)
        first = next(batches)
        return int(first.nbytes * count // max(1, first.num_rows))
    source = open_parquet(block)
    footer, total = read_footer(source), 0
    count = footer.rows_count
    for at in range(0, len(names) if count else 0, _COLUMNS_AT_ONCE):
        some = names[at : at + _COLUMNS_AT_ONCE]
        batches = iter_batches(source, some, batch_rows=_FEWEST_ROWS, footer=footer, buffer_bytes=_TAIL_BYTES)
        first = next(batches, None)
        total += 0 if first is None else first.nbytes * count // max(1, first.num_rows)
    return total


def _set_columns(block: LogBlock, spec: ReadSpec, written: Sequence[str]) -> tuple[str, ...] | None:
    if not block.is_partial:
        return None
    known = frozenset(written)
    return tuple(name for name in spec.schema.names if name in known)


def _changes(stored: pa.Table, block: LogBlock, spec: ReadSpec, columns: Sequence[str] | None) -> RowChanges:
    """Make changes of rows as they are stored."""
    rows = _as_wanted(stored, spec.schema, columns)
    is_delete = deleted_rows(stored, spec.merge)
    unordered = lacks_ordering([rows.column(field.name) for field in spec.ordering], rows.num_rows)
    return RowChanges(
        keys=_keys(stored, rows, spec, block),
        rows=rows,
        is_delete=is_delete,
        is_unordered=is_delete & unordered,
        columns=None if columns is None else tuple(columns),
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


def _stored_rows(
    block: LogBlock, names: Sequence[str], spec: ReadSpec, part_bytes: float
) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Read columns of a block of rows, in the types in which they were written: number of rows; a batch or more."""
    if block.kind is BlockKind.AVRO:
        count, parts = read_rows(block.read_at, block.content_bytes, max(_LEAST_CONTENT, part_bytes / _CONTENT_SHARE))
        return count, (batch for values in parts for batch in decode_batches(values, block.schema, columns=names))
    if block.kind is BlockKind.PARQUET:
        return _parquet_rows(block, names, part_bytes)
    if block.kind is BlockKind.HFILE:
        return _hfile_rows(block, names, spec)
    if block.kind is BlockKind.CDC:
        raise Unsupported("a change log is no part of a file slice", kind=block.kind.name, position=block.position)
    raise InternalError("a log block without rows was to be read", kind=block.kind.name, position=block.position)


def _gathered(batches: Iterator[pa.RecordBatch], part_bytes: float) -> Iterator[pa.Table]:
    """Put batches together until they have so many bytes."""
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= part_bytes:
            yield pa.Table.from_batches(held)
            held, held_bytes = [], 0
    if held:
        yield pa.Table.from_batches(held)


def open_parquet(block: LogBlock) -> pa.NativeFile:
    """Open the parquet that a block holds for random reads.   Cost: the whole block where it is small, else its end."""
    size = block.content_bytes
    if size <= _WHOLE_BYTES:
        return pa.BufferReader(block.read_content())
    tail = block.read_at(size - _TAIL_BYTES, _TAIL_BYTES)
    return pa.PythonFile(RangedInput(f"log block at {block.position}", block.read_at, size, tail), "r")


def _parquet_rows(block: LogBlock, names: Sequence[str], part_bytes: float) -> tuple[int, Iterator[pa.RecordBatch]]:
    source = open_parquet(block)
    footer = read_footer(source)
    _require_named(block, footer)
    if not footer.rows_count:
        stored = pa.schema([field for field in footer.schema if field.name in names])
        return 0, iter([pa.RecordBatch.from_pylist([], stored)])
    groups = [footer.metadata.row_group(group) for group in range(footer.metadata.num_row_groups)]
    row_bytes = max(1, sum(group.total_byte_size for group in groups) // footer.rows_count)
    batch_rows = int(min(_MOST_ROWS, max(_FEWEST_ROWS, part_bytes // row_bytes)))
    is_whole = block.content_bytes <= part_bytes
    buffer_bytes = 0 if is_whole else max(_TAIL_BYTES, int(part_bytes) // max(1, len(names)))
    return footer.rows_count, iter_batches(
        source, names, footer=footer, batch_rows=batch_rows, buffer_bytes=buffer_bytes
    )


def _require_named(block: LogBlock, footer: Footer) -> None:
    """Refuse a block whose header, which has no checksum, calls a column otherwise than its parquet does."""
    said, stored = {*avro_to_arrow(block.schema, wide_unions=True).names}, {*footer.schema.names}
    if said - stored and stored - said:
        raise CorruptData(
            "the header of a log block names other columns than it has; restore the file, or roll the commit back",
            header=sorted(said - stored),
            stored=sorted(stored - said),
            position=block.position,
        )


def _hfile_rows(block: LogBlock, names: Sequence[str], spec: ReadSpec) -> tuple[int, Iterator[pa.RecordBatch]]:
    file = open_hfile(block.read_at, block.content_bytes)
    if not file.entries:
        return 0, decode_batches(pa.array([], pa.binary()), block.schema, columns=names)
    return file.entries, (_hfile_batch(batch, block.schema, names, spec) for batch in file.batches())


def _hfile_batch(entries: pa.RecordBatch, schema: str, names: Sequence[str], spec: ReadSpec) -> pa.RecordBatch:
    """Read the values of an HFile, whose keys are not in them: their field is blank."""
    rows = decode_rows(entries.column("value"), schema, columns=names)
    field = RECORD_KEY if spec.layout.has_meta_values else ",".join(spec.layout.key_spec.record_key)
    at = rows.schema.get_field_index(field)
    if at < 0 or rows.schema.field(at).type != pa.string():
        return rows
    keys = entries.column("key").cast(pa.string())
    is_blank = pc.fill_null(pc.equal(rows.column(at), ""), fill_value=False)
    return rows.set_column(at, field, pc.if_else(is_blank, keys, rows.column(at)))


def _as_wanted(stored: pa.Table, schema: pa.Schema, columns: Sequence[str] | None) -> pa.Table:
    """Fit rows to the wanted schema; only a partial block may lack what cannot be null."""
    if columns is None:
        return project(stored, schema)
    known, told = project(stored, pa.schema([schema.field(name) for name in columns])), frozenset(columns)
    every = [
        known.column(field.name) if field.name in told else pa.nulls(stored.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(every, schema=schema)


def _keys(stored: pa.Table, rows: pa.Table, spec: ReadSpec, block: LogBlock) -> pa.ChunkedArray:
    if spec.layout.has_meta_values:
        if RECORD_KEY not in stored.column_names:
            raise CorruptData("rows of a log have no record keys", position=block.position)
        return _required(stored.column(RECORD_KEY), block)
    wanted = frozenset(rows.column_names)
    names = [name for name in stored.column_names if name != RECORD_KEY]
    columns = [(rows if name in wanted else stored).column(name) for name in names]
    return record_keys(spec.layout.key_spec, pa.Table.from_arrays(columns, names=names))


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

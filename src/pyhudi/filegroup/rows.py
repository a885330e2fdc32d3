"""How rows lie in a base file: meta columns first, table columns after, partition columns left out where asked.

Pure but for reading batches from an open source. Start at `RowLayout`; `stored_batches` streams a base file in the
layout of the next one, `base_file_rows` lays new rows out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.formats.parquet import Footer, iter_batches
from pyhudi.kernels.keys import KeySpec, record_keys
from pyhudi.schema.evolution import conform, project
from pyhudi.schema.meta_fields import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    META_FIELDS,
    PARTITION_PATH,
    RECORD_KEY,
    seqno,
    with_meta_fields,
)
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "RowLayout",
    "StoredBatches",
    "base_file_rows",
    "decoded",
    "new_file_rows",
    "record_keys_of",
    "stored_batches",
]

_CODED: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLayout:
    """Which columns a base file has, and where a stored row's key is."""

    schema: pa.Schema
    """The table's columns, without meta columns."""
    key_spec: KeySpec
    has_meta_values: bool = True
    """False: virtual keys; the meta columns are null but for the file name."""
    dropped: tuple[str, ...] = ()
    """Partition columns that are only in the path."""

    @property
    def file_schema(self) -> pa.Schema:
        """Return the columns of a base file."""
        return with_meta_fields(pa.schema([field for field in self.schema if field.name not in self.dropped]))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns that have a stored row's key, or make it."""
        if self.has_meta_values:
            return (RECORD_KEY,)
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self.key_spec.record_key))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatches:
    """A base file's rows, ready to be written again under a new name."""

    batches: Iterator[pa.RecordBatch]
    schema: pa.Schema
    """The file schema, low-cardinality text dictionary-coded as it was read."""
    conform: Callable[[pa.Table], pa.Table]
    """Codes new rows in the same way."""


def base_file_rows(
    rows: pa.Table, layout: RowLayout, instant: InstantTime, number: int, file_name: str | None, *, first_row: int = 0
) -> pa.Table:
    """Arrange rows as the base file has them, with their meta columns; sequence numbers count from `first_row`.

    Rows of a log are the same, with the file id for a name, and none where keys are virtual.

    Shape:  n rows with the table's columns, KEY and PARTITION -> n rows in `layout.file_schema`.
    Nulls:  as `conform`: Spark sends rows whose fields may all be null.
    Raises: SchemaMismatch for a null in a field that is not nullable.
    """
    schema = layout.file_schema
    columns = {} if file_name is None else {FILE_NAME: _spelled(file_name, rows.num_rows)}
    if layout.has_meta_values:
        columns[COMMIT_TIME] = _spelled(instant, rows.num_rows)
        columns[COMMIT_SEQNO] = seqno(instant, number, first_row, rows.num_rows)
        columns[RECORD_KEY] = rows.column(RECORD_KEY)
        columns[PARTITION_PATH] = rows.column(PARTITION_PATH)
    for name in META_FIELDS:
        columns.setdefault(name, pa.nulls(rows.num_rows, pa.string()))
    names = [field.name for field in schema]
    chosen = [columns[name] if name in columns else rows.column(name) for name in names]
    try:
        return pa.table(chosen, schema=schema)
    except pa.ArrowInvalid:  # as it says of nulls beneath null structs, too
        return conform(pa.table(chosen, names=names), schema)


def new_file_rows(
    rows: pa.Table, layout: RowLayout, instant: InstantTime, number: int, file: tuple[str, str], *, first_row: int
) -> pa.Table:
    """Arrange rows as a file has them that holds no others; columns with one value are dictionary-coded.

    `file` is its partition and name; the rest as `base_file_rows`.

    Shape:  as `base_file_rows`, but for the coded columns.
    """
    laid_out = base_file_rows(rows, layout, instant, number, None, first_row=first_row)
    partition, name = file
    constants = {FILE_NAME: name}
    if layout.has_meta_values:
        constants |= {COMMIT_TIME: instant, PARTITION_PATH: partition}
    for column, text in constants.items():
        place = laid_out.schema.get_field_index(column)
        laid_out = laid_out.set_column(place, column, _constant(text, rows.num_rows))
    return laid_out


def record_keys_of(batch: pa.RecordBatch, layout: RowLayout) -> pa.Array:
    """Return the record keys of stored rows: the meta column, or computed where keys are virtual."""
    if layout.has_meta_values:
        return _decoded(batch.column(RECORD_KEY))
    plain = pa.Table.from_batches([decoded(batch)]).drop_columns(list(META_FIELDS))
    return record_keys(layout.key_spec, plain).combine_chunks()


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with its dictionary-coded text as plain text."""
    columns = [_decoded(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def stored_batches(
    source: pa.NativeFile, footer: Footer, layout: RowLayout, partition: str, file_name: str, *, threads: int = 1
) -> StoredBatches:
    """Stream a base file in the layout of the file that replaces it, `file_name`.

    Columns of an older schema are projected to today's. The two meta columns that are the same in every row of the new
    file are not read at all.
    """
    wanted = layout.file_schema
    is_current = footer.schema.names == wanted.names and footer.schema.types == wanted.types
    constants = {FILE_NAME: file_name}
    if layout.has_meta_values:
        constants[PARTITION_PATH] = partition
    # Text with few values stays as codes; keys and sequence numbers never have few.
    texts = {field.name for field in wanted if pa.types.is_string(field.type)} - {RECORD_KEY, COMMIT_SEQNO}
    coded = [name for name in footer.dictionary_columns if is_current and name in texts]
    schema = _coded_schema(wanted, {*coded, *constants})
    names = [name for name in footer.schema.names if name not in constants]

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in iter_batches(source, names, read_dictionary=coded, footer=footer, threads=threads):
            current = batch if is_current else _projected(batch, wanted, set(constants))
            columns = [
                _constant(constants[name], batch.num_rows) if name in constants else current.column(name)
                for name in schema.names
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return StoredBatches(batches=batches(), schema=schema, conform=lambda rows: _coded_rows(rows, schema))


def _projected(batch: pa.RecordBatch, schema: pa.Schema, without: set[str]) -> pa.RecordBatch:
    return project(batch, pa.schema([field for field in schema if field.name not in without]))


def _coded_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows.column(field.name).combine_chunks().dictionary_encode().cast(field.type)
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(rows.schema.field(field.name).type)
        else rows.column(field.name)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _coded_schema(schema: pa.Schema, names: set[str]) -> pa.Schema:
    return pa.schema([field.with_type(_CODED) if field.name in names else field for field in schema])


def _spelled(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), count)


def _constant(text: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int32)), pa.array([text], pa.string()))


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

"""Base files written as a stream of batches.

Small batches are gathered into row groups; a file whose writing fails never gets a footer. Start at `write_base_file`.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as t

from pyhudi.errors import HudiError, SchemaMismatch
from pyhudi.formats.parquet.assembly import AssemblingWriter
from pyhudi.options import Settings, between, one_of, option

__all__ = ["BLOCK_SIZE", "CODEC", "PAGE_SIZE", "ParquetOptions", "parquet_options", "write_base_file", "writer_layout"]

CODEC = option(
    "hoodie.parquet.compression.codec",
    "zstd",
    "Codec of base files. Files of any codec are read.",
    parse=one_of("zstd", "gzip", "snappy", "lz4_raw", "brotli", "uncompressed"),
)
BLOCK_SIZE = option(
    "hoodie.parquet.block.size",
    120 << 20,
    "Units: bytes. Rows in memory that make a row group.",
    parse=between(1, 2**63 - 1),
)
PAGE_SIZE = option(
    "hoodie.parquet.page.size", 1 << 20, "Units: bytes. Size of a page before compression.", parse=between(1, 2**63 - 1)
)

_LEVELS = {"zstd": 1, "gzip": 6}
_SAMPLE_ROWS = 5_000
_LOW_CARDINALITY = 0.25
_LEAST_ASSEMBLED_BYTES = 32 << 20
"""Smaller row groups are encoded as fast in one piece."""
_LEAST_ASSEMBLED_COLUMN_BYTES = 256 << 10
"""A file of its own costs a shorter column more than a second thread saves."""
_BUFFER_BYTES = 64 << 10
_FEWEST_STEP_ROWS, _MOST_STEP_ROWS = 1024, 8192
_MOST_STEP_BYTES = 16 << 20
"""So large a page gets, where a few values fill it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetOptions:
    """How a base file is laid out."""

    codec: str = "zstd"
    level: int | None = 1
    block_bytes: int = 120 << 20
    """Units: bytes of Arrow memory that make a row group."""
    page_bytes: int = 1 << 20
    row_group_rows: int = 1 << 20
    """Most rows of a row group."""
    dictionary_columns: tuple[str, ...] | None = None
    """None: the columns in which a sample of the first row group repeats itself."""
    statistics_columns: tuple[str, ...] | None = None
    """None: all of them."""
    threads: int = 1
    """Threads that encode the columns of a row group; they change no byte."""


def parquet_options(settings: Settings) -> ParquetOptions:
    """Read the layout from a call's settings.

    Raises: OptionError.
    """
    codec = settings.get(CODEC)
    return ParquetOptions(
        codec="none" if codec == "uncompressed" else "lz4" if codec == "lz4_raw" else codec,
        level=_LEVELS.get(codec),
        block_bytes=max(1, settings.get(BLOCK_SIZE)),
        page_bytes=max(1, settings.get(PAGE_SIZE)),
    )


def write_base_file(
    sink: IO[bytes] | pa.NativeFile,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    options: ParquetOptions,
    footer: Callable[[], Mapping[str, str]],
) -> bytes:
    """Write batches as one file and return how it ends, as `written_footer` takes it; `footer` is asked for key values.

    Columns may come as dictionaries; they are stored as what the schema says. If anything raises, the sink holds no
    readable file and must be thrown away.

    Shape:  any number of batches of `schema`, in the order they shall have.
    Bytes:  parquet format 1, as Hudi's own files; timestamps in microseconds, decimals as fixed bytes, lists of three
            levels, page index.
    Cost:   at most one row group in memory.
    Raises: SchemaMismatch if a batch is not of the schema, or a value does not fit parquet.
    Spec:   format/files 4.
    """
    _require_storable(schema)
    gate = _Gate(sink)
    stream = _Stream(gate, schema, options)
    try:
        for batch in batches:
            stream.add(batch)
        return stream.close(footer)
    except HudiError:
        gate.is_shut = True
        raise
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        gate.is_shut = True
        raise SchemaMismatch(f"rows cannot be written as parquet: {error}") from error
    except BaseException:
        gate.is_shut = True
        raise


class _Gate:
    """The sink, until it is shut: a parquet writer writes a footer even when it is thrown away."""

    def __init__(self, sink: IO[bytes] | pa.NativeFile) -> None:
        self.sink = sink
        self.is_shut = False
        self.closed = False
        self.end: io.BytesIO | None = None
        """Gets what is written from when it is set."""

    def write(self, data: bytes | memoryview) -> int:
        if not self.is_shut:
            self.sink.write(data)
        if self.end is not None:
            self.end.write(data)
        return len(data)

    def flush(self) -> None:
        """Leave it to the owner of the sink."""

    def close(self) -> None:
        """Leave it to the owner of the sink."""


class _Stream:
    """Gathers batches into row groups; opens the file when the first group shows how columns come."""

    def __init__(self, gate: _Gate, schema: pa.Schema, options: ParquetOptions) -> None:
        self.gate, self.schema, self.options = gate, schema, options
        self.held: list[pa.RecordBatch] = []
        self.held_rows = self.held_bytes = 0
        self.form = schema
        self.file: pq.ParquetWriter | AssemblingWriter | None = None
        self.buffered: pa.NativeFile | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Buffer a batch, in pieces no larger than a row group; write what fills one."""
        if batch.schema.names != self.schema.names:
            raise SchemaMismatch("batch has other columns", names=batch.schema.names, expected=self.schema.names)
        row_bytes = max(1, batch.nbytes // max(1, batch.num_rows))
        most = max(1, min(self.options.row_group_rows, self.options.block_bytes // row_bytes))
        for start in range(0, batch.num_rows, most):
            piece = batch.slice(start, min(most, batch.num_rows - start))
            if self.held_rows + piece.num_rows > self.options.row_group_rows:
                self._flush()
            self.held.append(piece)
            self.held_rows += piece.num_rows
            self.held_bytes += row_bytes * piece.num_rows
            if self.held_rows >= self.options.row_group_rows or self.held_bytes >= self.options.block_bytes:
                self._flush()

    def close(self, footer: Callable[[], Mapping[str, str]]) -> bytes:
        """Write what is held and the footer; return the file's end with the footer in it."""
        self._flush()
        file = self.file or self._open(self.schema.empty_table())
        file.add_key_value_metadata(dict(footer()))
        if self.buffered is not None:
            self.buffered.flush()
        self.gate.end = io.BytesIO()
        file.close()
        if self.buffered is not None:
            self.buffered.flush()
        return self.gate.end.getvalue()

    def _flush(self) -> None:
        if not self.held:
            return
        if self.file is None:
            self.form = _form_of(self.held, self.schema)
        arrays = [
            pa.chunked_array([_as_form(batch.column(at), field.type) for batch in self.held], field.type)
            for at, field in enumerate(self.form)
        ]
        table = pa.Table.from_arrays(arrays, schema=self.form).unify_dictionaries()
        self.held, self.held_rows, self.held_bytes = [], 0, 0
        file = self.file or self._open(table)
        if isinstance(file, pq.ParquetWriter):
            file.write_table(table, row_group_size=max(1, table.num_rows))
        else:
            columns = dict(zip(table.column_names, table.columns, strict=True))
            del arrays, table  # the writer frees each column once it is encoded
            file.write_columns(columns)

    def _open(self, first: pa.Table) -> pq.ParquetWriter | AssemblingWriter:
        layout = writer_layout(first, self.options)
        if first.nbytes >= max(_LEAST_ASSEMBLED_BYTES, _LEAST_ASSEMBLED_COLUMN_BYTES * first.num_columns):
            self.file = AssemblingWriter(self.gate, first.schema, threads=self.options.threads, **layout)
        else:
            # The parquet writer writes some hundred pieces of a few bytes, each a call of Python otherwise.
            self.buffered = pa.BufferedOutputStream(pa.PythonFile(self.gate, mode="w"), _BUFFER_BYTES)
            self.file = pq.ParquetWriter(self.buffered, first.schema, **layout)
        return self.file


def writer_layout(first: pa.Table, options: ParquetOptions) -> dict[str, Any]:
    """Return the options of `pq.ParquetWriter` for a file that begins with these rows.   Cost: a sample of them."""
    chosen, stats = options.dictionary_columns, options.statistics_columns
    names = _low_cardinality(first) if chosen is None else list(chosen)
    return {
        "version": "1.0",
        "compression": options.codec,
        "compression_level": options.level,
        "use_dictionary": names or False,
        "write_statistics": True if stats is None else list(stats),
        "data_page_size": options.page_bytes,
        "write_batch_size": _step_rows(first, options.page_bytes),
        "write_page_index": True,
        "store_schema": False,
        "use_compliant_nested_type": True,
    }


def _form_of(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Schema:
    """Return the schema with a dictionary of strings or bytes where most rows bring one."""
    fields, rows_count = [], sum(batch.num_rows for batch in batches)
    for at, field in enumerate(schema):
        is_text = t.is_string(field.type) or t.is_binary(field.type)
        coded_count = sum(batch.num_rows for batch in batches if t.is_dictionary(batch.schema.field(at).type))
        if is_text and 2 * coded_count > rows_count:
            fields.append(field.with_type(pa.dictionary(pa.int32(), field.type)))
        else:
            fields.append(field)
    return pa.schema(fields)


def _as_form(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    if not t.is_dictionary(wanted):
        if t.is_dictionary(array.type) and array.type.value_type == wanted:
            return array.dictionary_decode()
        if array.type.equals(wanted):
            return array
        raise SchemaMismatch("batch has another type than the file", type=str(array.type), expected=str(wanted))
    if not t.is_dictionary(array.type):
        return _as_form(array, wanted.value_type).dictionary_encode()
    indices = array.indices.cast(wanted.index_type)
    return pa.DictionaryArray.from_arrays(indices, _as_form(array.dictionary, wanted.value_type))


def _step_rows(table: pa.Table, page_bytes: int) -> int:
    """Choose how many values are encoded before the size of a page is looked at: many, for speed, of narrow columns."""
    widest_bytes: int = max((column.nbytes for column in table.columns), default=0) // max(1, table.num_rows)
    fewest = min(_FEWEST_STEP_ROWS, max(1, _MOST_STEP_BYTES // max(1, widest_bytes)))
    return min(max(page_bytes // 4 // max(1, widest_bytes), fewest), _MOST_STEP_ROWS)


def _low_cardinality(table: pa.Table) -> list[str]:
    """Name the columns worth a dictionary: those that come as one, and those whose values repeat in a sample."""
    return [field.name for field in table.schema if _repeats(table[field.name])]


def _repeats(column: pa.ChunkedArray) -> bool:
    if t.is_dictionary(column.type):
        return True
    if t.is_nested(column.type) or t.is_boolean(column.type) or not len(column):
        return False
    if len(column) * _LOW_CARDINALITY < 1:
        return bool(column.null_count == len(column))  # one value is too many for so few rows
    sample = pa.chunked_array([_sample(chunk, len(column)) for chunk in column.chunks], column.type)
    return len(sample.unique()) <= _LOW_CARDINALITY * len(sample)


def _sample(chunk: pa.Array, rows_count: int) -> pa.Array:
    """Take a chunk's share of the sample; from the whole column, Arrow would copy all its text first."""
    share = min(len(chunk), -(-_SAMPLE_ROWS * len(chunk) // rows_count))
    if share == len(chunk):
        return chunk.drop_null()
    rows = np.linspace(0, max(len(chunk) - 1, 0), share).astype(np.int64)
    return chunk.take(pa.array(rows)).drop_null()


def _require_storable(schema: pa.Schema) -> None:
    """Refuse what Hudi on Spark cannot read; callers give the schema that tables store."""
    for field in schema:
        kind = field.type
        is_odd = (
            t.is_large_string(kind) or t.is_large_binary(kind) or t.is_dictionary(kind) or t.is_unsigned_integer(kind)
        )
        if is_odd or t.is_null(kind) or t.is_int8(kind) or t.is_int16(kind) or t.is_date64(kind):
            raise SchemaMismatch("column is not of a type that tables store", column=field.name, type=str(kind))

"""Frames of the local engine: a wide table that is read in place, and narrow columns and row numbers beside it.

Wide columns are never copied before the task that needs them gathers its rows. Only the local engine looks in here.
Start at `LocalFrame`.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi.errors import HudiError, InvalidInput, SchemaMismatch
from pyhudi.schema.evolution import conform

__all__ = [
    "Indices",
    "LocalFrame",
    "Once",
    "arrow_batches",
    "arrow_table",
    "counts_of",
    "plain_rows",
    "select_and_cast",
]

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]

_RUN_ROWS = 64
"""Gathering run by run pays as long as a run is longer than this on average."""
_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 128 * 1024
_BATCHES_AHEAD = 2
"""As datasets are read by default, hundreds of megabytes wait to be asked for."""


class Once:
    """A table that is computed when it is first needed, and kept."""

    def __init__(self, compute: Callable[[], pa.Table]) -> None:
        """Take the function that makes it."""
        self._compute: Callable[[], pa.Table] | None = compute
        self._table: pa.Table | None = None
        self._lock = threading.Lock()

    def __call__(self) -> pa.Table:
        """Return the table; a failure is not kept, so that a second call tries again."""
        with self._lock:
            if self._compute is not None:
                self._table = self._compute()
                self._compute = None
            return self._table

    def merge_chunks(self) -> pa.Table:
        """Return the table with one chunk a column, copied at most once."""
        table = self()
        with self._lock:
            if any(column.num_chunks > 1 for column in table.columns):
                self._table = table.combine_chunks()
            return self._table


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFrame:
    """Rows of a source, chosen and ordered by `rows`, with columns put over them, cut into tasks by `ends`."""

    schema: pa.Schema
    source: Once
    rows: Indices | None = None
    """Row numbers of the source; all, in order, where it is None."""
    added: Mapping[str, pa.Array | pa.ChunkedArray] = field(default_factory=dict)
    """Columns as long as the frame; they hide those of the source."""
    ends: tuple[int, ...] | None = None
    """Where each task's rows end; the whole frame is one task where it is None."""

    @staticmethod
    def of(table: pa.Table) -> "LocalFrame":
        """Wrap a table."""
        return LocalFrame(schema=table.schema, source=Once(lambda: table))

    @property
    def rows_count(self) -> int:
        """Count the rows, which computes the source."""
        return len(self.rows) if self.rows is not None else self.source().num_rows

    @property
    def tasks_count(self) -> int:
        """Count the tasks."""
        return 1 if self.ends is None else len(self.ends)

    def narrow(self, names: Sequence[str]) -> pa.Table:
        """Gather some columns of all rows."""
        source = self.source()
        stored = source.select([name for name in names if name not in self.added])
        if self.rows is not None:
            stored = stored.take(pa.array(self.rows))
        columns = [self.added[name] if name in self.added else stored[name] for name in names]
        return pa.table(columns, schema=pa.schema([self.schema.field(name) for name in names]))

    def table(self) -> pa.Table:
        """Gather everything."""
        if self.rows is None and not self.added:
            return self.source()
        return self._between(0, self.rows_count)

    def task(self, number: int) -> pa.Table:
        """Gather the rows of one task, in order."""
        if self.ends is None:
            return self.table()
        return self._between(self.ends[number - 1] if number else 0, self.ends[number])

    def putting(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> "LocalFrame":
        """Put columns over the frame's."""
        schema = self.schema
        for name, values in columns.items():
            wanted = pa.field(name, values.type)
            place = schema.get_field_index(name)
            schema = schema.append(wanted) if place < 0 else schema.set(place, wanted)
        added = {**self.added, **columns}
        return LocalFrame(schema=schema, source=self.source, rows=self.rows, added=added, ends=self.ends)

    def taking(self, rows: Indices, ends: tuple[int, ...] | None = None) -> "LocalFrame":
        """Choose and order rows; the wide columns stay where they are."""
        chosen = rows if self.rows is None else self.rows[rows]
        added = {name: values.take(pa.array(rows)) for name, values in self.added.items()}
        return LocalFrame(schema=self.schema, source=self.source, rows=chosen, added=added, ends=ends)

    def _between(self, start: int, end: int) -> pa.Table:
        source = self.source()
        wide = [name for name in self.schema.names if name not in self.added]
        if self.rows is None:
            gathered = source.select(wide).slice(start, end - start)
        else:
            gathered = _gather(self.source, wide, self.rows[start:end])
        columns = {name: values.slice(start, end - start) for name, values in self.added.items()}
        ordered = [columns[name] if name in columns else gathered[name] for name in self.schema.names]
        return pa.table(ordered, schema=self.schema)


def select_and_cast(batch: pa.RecordBatch | pa.Table, schema: pa.Schema) -> pa.RecordBatch | pa.Table:
    """Return rows the columns of a schema by name, in its order and types.

    Nulls:  those beneath a null struct belong to no row, and may be of a field that is not nullable.
    Raises: SchemaMismatch for other nulls of such a field, as rows have that come from Spark.
    """
    if batch.schema.equals(schema):
        return batch
    chosen = batch.select(schema.names)
    try:
        return chosen.cast(schema)
    except pa.ArrowInvalid:
        return conform(chosen, schema)


def counts_of(counted: pa.Table) -> dict[str | None, int]:
    """Return the counts of one column's values.   Shape: the column, and the counts."""
    values, counts = (column.to_pylist() for column in counted.columns)
    return dict(zip(values, counts, strict=True))


def arrow_table(rows: object) -> pa.Table:
    """Read whatever speaks Arrow into a table.

    Raises: InvalidInput for anything else, and where reading fails: it runs code of the caller's; SchemaMismatch for a
            name that is there twice.
    """
    try:
        table = _read(rows)
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(f"these rows cannot be read as Arrow: {error}", type=type(rows).__name__) from error
    return plain_rows(table)


def plain_rows(table: pa.Table) -> pa.Table:
    """Return rows whose dictionaries are of plain text or bytes: Arrow takes no values out of those of views.

    Raises: SchemaMismatch for a name that is there twice.
    """
    if len(set(table.column_names)) < table.num_columns:
        raise SchemaMismatch("column name given twice; rename one", columns=table.column_names)
    schema = pa.schema([field.with_type(_without_views(field.type)) for field in table.schema], table.schema.metadata)
    return table if schema == table.schema else table.cast(schema)


def _read(rows: object) -> pa.Table:
    match rows:
        case pa.Table():
            return rows
        case pa.RecordBatch():
            return pa.Table.from_batches([rows])
        case pa.RecordBatchReader():
            return rows.read_all()
        case _ if hasattr(rows, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(rows).read_all()
        case _ if _is_of(rows, "polars") and hasattr(rows, "collect"):
            return _read(rows.collect())
        case _ if _is_of(rows, "pyarrow._dataset") and hasattr(rows, "to_table"):
            return rows.to_table()
        case _:
            raise InvalidInput(
                "give rows as Arrow, a DataFrame of any library, a dataset of pyarrow, dicts, or anything with "
                "__arrow_c_stream__",
                type=type(rows).__name__,
            )


def arrow_batches(rows: object) -> pa.RecordBatchReader | None:
    """Return rows that come as a stream, or could, as one; None for what is read at once.

    Raises: InvalidInput where it cannot be begun.
    """
    try:
        match rows:
            case pa.Table():
                return rows.to_reader()
            case pa.RecordBatchReader():
                return rows
            case _ if hasattr(rows, "__arrow_c_stream__"):
                return pa.RecordBatchReader.from_stream(rows)
            case _ if _is_of(rows, "pyarrow._dataset") and hasattr(rows, "to_batches"):
                scanner = _scanner_of(rows)  # whose own `to_reader` hangs where a file cannot be opened
                return pa.RecordBatchReader.from_batches(scanner.projected_schema, scanner.to_batches())
            case _:
                return None
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidInput(f"these rows cannot be read as Arrow: {error}", type=type(rows).__name__) from error


def _scanner_of(rows: Any) -> Any:  # noqa: ANN401 - pyarrow.dataset need not be loaded
    """Return a scanner as it is, or that of a dataset.

    Cost: a few batches of some megabytes in memory, and what files are read by: a row group of parquet.
    """
    if not hasattr(rows, "scanner"):
        return rows
    return rows.scanner(
        batch_size=_rows_at_once(rows),
        batch_readahead=_BATCHES_AHEAD,
        fragment_readahead=1,
        fragment_scan_options=_options(rows),
    )


def _options(dataset: Any) -> Any:  # noqa: ANN401
    """Return how parquet files are read: by row groups, where a file would be fetched at once."""
    options: Any = getattr(getattr(dataset, "format", None), "default_fragment_scan_options", None)
    if hasattr(options, "pre_buffer") and options.equals(type(options)()):
        return type(options)(pre_buffer=False)
    return options


def _rows_at_once(dataset: Any) -> int:  # noqa: ANN401
    """Return how many rows a batch has, by what a row of the first parquet file takes; other files tell nothing."""
    first = next(iter(dataset.get_fragments()), None)
    if first is None or not hasattr(first, "row_groups"):
        return _BATCH_ROWS
    footer = first.metadata
    if not footer.num_rows:
        return _BATCH_ROWS
    size_bytes = max(1, sum(footer.row_group(at).total_byte_size for at in range(footer.num_row_groups)))
    rows_count = int(_BATCH_BYTES * footer.num_rows / size_bytes)
    return max(1, min(_BATCH_ROWS, rows_count))


def _is_of(rows: object, package: str) -> bool:
    """Check by name whether a package, which need not be installed, has the type of some rows."""
    return any(f"{kind.__module__}.".startswith(f"{package}.") for kind in type(rows).__mro__)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return a type whose dictionaries, also within lists and structs, have values that Arrow takes."""
    if pa.types.is_dictionary(kind):
        value = kind.value_type
        plain = pa.string() if pa.types.is_string_view(value) else pa.binary()
        is_view = pa.types.is_string_view(value) or pa.types.is_binary_view(value)
        return pa.dictionary(kind.index_type, plain, kind.ordered) if is_view else kind
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(_without_views(kind.value_type)))
    return kind


def _gather(source: Once, names: Sequence[str], rows: Indices) -> pa.Table:
    """Take rows chunk by chunk, because `Table.take` copies every chunk of a string column first."""
    table = source().select(names)
    if not len(rows) or all(column.num_chunks <= 1 for column in table.columns):
        return table.take(pa.array(rows))
    batches = table.to_batches()
    ends = np.cumsum([batch.num_rows for batch in batches])
    chunk = np.searchsorted(ends, rows, side="right")
    starts = np.concatenate(([0], np.flatnonzero(np.diff(chunk)) + 1, [len(rows)]))
    if (len(starts) - 1) * _RUN_ROWS > len(rows) + _RUN_ROWS * len(batches):
        return source.merge_chunks().select(names).take(pa.array(rows))
    taken = [
        batches[chunk[start]].take(pa.array(rows[start:end] - (ends[chunk[start]] - batches[chunk[start]].num_rows)))
        for start, end in pairwise(starts)
    ]
    return pa.Table.from_batches(taken, schema=table.schema)

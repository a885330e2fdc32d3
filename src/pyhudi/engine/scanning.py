"""Read base files in tasks: scans with a projection and a predicate.

Module-level functions with picklable tasks, so that either engine can run them. No timeline, no writing. Start at
`scan_file`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import ScanFile
from pyhudi.errors import CorruptData, SchemaMismatch, Unsupported
from pyhudi.formats.parquet import (
    ColumnStats,
    Footer,
    iter_batches,
    read_footer,
    row_group_stats,
)
from pyhudi.predicate import ColumnRanges, Expression, Statistics, fields_of, files_matching, mask
from pyhudi.schema.evolution import project
from pyhudi.storage.api import Storage

__all__ = ["groups_matching", "naming_file", "read_columns", "scan_file", "spell_out", "stored_columns"]

_FEWEST_SAVED: Final = 4
"""So many times as many columns are read as a filter has, where these are looked at first."""


def scan_file(
    file: ScanFile, *, storage: Storage, schema: pa.Schema, columns: tuple[str, ...], predicate: Expression | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one base file for which the predicate is true.

    Shape: `columns` of `schema`; a column that the file lacks is null.
    Raises: CorruptData, and what storage raises.
    """
    read = columns if predicate is None else tuple({*columns, *fields_of(predicate, schema)})
    wanted = pa.schema([schema.field(name) for name in read])
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
        groups = None if predicate is None else groups_matching(footer, predicate, wanted)
        if predicate is not None and groups and _is_narrow(predicate, wanted):
            groups = _groups_holding(source, footer, predicate, wanted, groups)
        for batch in stored_columns(source, wanted, footer, groups):
            rows = pa.Table.from_batches([batch])
            if predicate is not None:
                rows = rows.filter(mask(predicate, rows))
            yield from rows.select(columns).to_batches()


def groups_matching(footer: Footer, predicate: Expression, schema: pa.Schema) -> list[int]:
    """Name the row groups that may hold a row for which the predicate is true."""
    names = fields_of(predicate, schema)
    # Bounds of another type than the table's would be compared wrongly.
    present = [name for name in names if name in footer.types and footer.types[name] == schema.field(name).type]
    known = {name: _ranges_of(row_group_stats(footer, name), schema.field(name).type) for name in present}
    kept = files_matching(predicate, Statistics(schema=schema, ranges=known), footer.metadata.num_row_groups)
    return np.flatnonzero(kept.to_numpy(zero_copy_only=False)).tolist()


def _is_narrow(predicate: Expression, schema: pa.Schema) -> bool:
    """Return whether a look at the columns of a filter alone may save much."""
    return 0 < len(fields_of(predicate, schema)) * _FEWEST_SAVED <= len(schema)


def _groups_holding(
    source: pa.NativeFile, footer: Footer, predicate: Expression, schema: pa.Schema, groups: Sequence[int]
) -> list[int]:
    """Leave out row groups in which no row fits, by the columns of the filter; each is read up to the first that does.

    A look-up whose key is in another file decodes one column so, and not all.
    """
    wanted = pa.schema([schema.field(name) for name in fields_of(predicate, schema)])
    return [
        group
        for group in groups
        if any(
            pc.any(mask(predicate, pa.Table.from_batches([batch]))) == pa.scalar(True)
            for batch in stored_columns(source, wanted, footer, [group])
        )
    ]


def _ranges_of(groups: Sequence[ColumnStats], kind: pa.DataType) -> ColumnRanges:
    return ColumnRanges(
        min=_bounds([one.least for one in groups], kind),
        max=_bounds([one.greatest for one in groups], kind),
        nulls_count=pa.array([one.nulls_count for one in groups], pa.int64()),
        rows_count=pa.array([one.rows_count for one in groups], pa.int64()),
    )


def _bounds(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return bounds in the column's type; a damaged one, which does not fit, makes all unknown."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        return pa.nulls(len(values), kind)


def read_columns(
    source: pa.NativeFile, wanted: pa.Schema, footer: Footer, groups: Sequence[int] | None = None
) -> pa.Table:
    """Read columns of some row groups, or all, in the types of a schema; a column that the file lacks is null."""
    return pa.Table.from_batches(stored_columns(source, wanted, footer, groups), schema=wanted)


def stored_columns(
    source: pa.NativeFile,
    wanted: pa.Schema,
    footer: Footer,
    groups: Sequence[int] | None,
    *,
    keeps_codes: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Read columns of some row groups, or all, batch by batch in the types of a schema; absent ones are null.

    With `keeps_codes` text with few values comes as dictionaries; see `spell_out`.
    """
    present = [name for name in wanted.names if name in footer.types]
    coded = [name for name in footer.dictionary_columns if name in present]
    spelled: dict[str | bytes, pa.Array] = {}
    # Text with few values is cheaper to read as codes and to spell out than to read as text.
    for batch in iter_batches(source, present, read_dictionary=coded, footer=footer, row_groups=groups):
        rows = spell_out(batch, spelled) if coded and not keeps_codes else batch
        yield project(rows, wanted, keeps_dictionaries=keeps_codes)


def spell_out(batch: pa.RecordBatch, known: dict[str | bytes, pa.Array]) -> pa.RecordBatch:
    """Turn codes into text; a text that fills a whole column is spelled once for all columns and batches.

    `known` keeps such texts from one batch to the next.
    """
    columns = []
    for coded in batch.columns:
        if not pa.types.is_dictionary(coded.type):
            columns.append(coded)
        elif len(coded.dictionary) != 1 or coded.null_count or not len(coded):
            columns.append(coded.dictionary_decode())
        else:
            text = coded.dictionary[0].as_py()
            if len(known.get(text, ())) < len(coded):
                known[text] = coded.dictionary_decode()
            columns.append(known[text].slice(0, len(coded)))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Name the file in what its reading raises."""
    try:
        yield
    except (CorruptData, SchemaMismatch, Unsupported) as error:
        raise type(error)(error.message, **{**error.values, "path": path}) from error

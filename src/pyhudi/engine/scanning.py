"""Read base files in tasks: scans with a projection and a predicate.

Module-level functions with picklable tasks, so that either engine can run them. No timeline, no writing. Start at
`scan_file`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.engine.api import ScanFile
from pyhudi.engine.row_parts import Part, are_few, group_rows, part_of, parts_matching
from pyhudi.errors import CorruptData, SchemaMismatch, Unsupported
from pyhudi.formats.parquet import Footer, iter_batches, iter_rows, read_footer
from pyhudi.predicate import Expression, fields_of, mask
from pyhudi.schema.evolution import project
from pyhudi.storage.api import Storage

__all__ = ["naming_file", "parts_holding", "read_columns", "scan_file", "spell_out", "stored_columns"]

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
        parts = None if predicate is None else parts_holding(source, footer, predicate, wanted)
        for batch in stored_columns(source, wanted, footer, parts):
            rows = pa.Table.from_batches([batch])
            if predicate is not None:
                rows = rows.filter(mask(predicate, rows))
            yield from rows.select(columns).to_batches()


def parts_holding(source: pa.NativeFile, footer: Footer, predicate: Expression, schema: pa.Schema) -> list[Part]:
    """Name the rows of a file that are read for a filter, some of which may not fit.

    Where the columns of the filter are few of those that are read, they are read first: a look-up whose key is in
    another file decodes one column so, and one whose key is here a page of each other.

    Cost, Raises: as `parts_matching`, and those columns.
    """
    parts = parts_matching(source, footer, predicate, schema)
    names = fields_of(predicate, schema)
    if not 0 < len(names) * _FEWEST_SAVED <= len(schema):
        return parts
    wanted = pa.schema([schema.field(name) for name in names])
    held = [_held(source, footer, predicate, wanted, part) for part in parts]
    return [part for part in held if part.rows is None or len(part.rows)]


def _held(source: pa.NativeFile, footer: Footer, predicate: Expression, wanted: pa.Schema, part: Part) -> Part:
    """Find the rows of a part that fit; it stays as it is where the first batch hardly leaves any out."""
    numbers, found, at = group_rows(footer, part), [], 0
    for batch in stored_columns(source, wanted, footer, [part]):
        fits = mask(predicate, pa.Table.from_batches([batch])).to_numpy(zero_copy_only=False)
        found.append(numbers[at : at + len(fits)][fits])
        at += len(fits)
        if len(found) == 1 and not are_few(found[0], len(fits)):
            return part
    return part_of(footer, part.group, np.concatenate([numbers[:0], *found]))


def read_columns(
    source: pa.NativeFile, wanted: pa.Schema, footer: Footer, parts: Sequence[Part] | None = None
) -> pa.Table:
    """Read columns of some rows, or all, in the types of a schema; a column that the file lacks is null."""
    return pa.Table.from_batches(stored_columns(source, wanted, footer, parts), schema=wanted)


def stored_columns(
    source: pa.NativeFile,
    wanted: pa.Schema,
    footer: Footer,
    parts: Sequence[Part] | None,
    *,
    keeps_codes: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Read columns of some rows, or all, batch by batch in the types of a schema; absent ones are null.

    With `keeps_codes` text with few values comes as dictionaries; see `spell_out`.
    """
    present = [name for name in wanted.names if name in footer.types]
    coded = [name for name in footer.dictionary_columns if name in present]
    spelled: dict[str | bytes, pa.Array] = {}
    # Text with few values is cheaper to read as codes and to spell out than to read as text.
    for batch in _batches(source, present, coded, footer, parts):
        rows = spell_out(batch, spelled) if coded and not keeps_codes else batch
        yield project(rows, wanted, keeps_dictionaries=keeps_codes)


def _batches(
    source: pa.NativeFile, names: Sequence[str], coded: Sequence[str], footer: Footer, parts: Iterable[Part] | None
) -> Iterator[pa.RecordBatch]:
    if parts is None:
        yield from iter_batches(source, names, read_dictionary=coded, footer=footer)
        return
    for are_whole, some in groupby(parts, lambda part: part.rows is None):
        if are_whole:
            groups = [part.group for part in some]
            yield from iter_batches(source, names, read_dictionary=coded, footer=footer, row_groups=groups)
            continue
        for group, rows in some:
            if rows is not None:
                yield from iter_rows(source, names, rows, row_group=group, footer=footer, read_dictionary=coded)


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

"""Count the rows of a file slice with logs, without reading its rows.

A base file says how many rows it has. Logs add the keys that it has not, and take away those that they delete: only
the places of their keys are looked for in it. Start at `count_slice`; it runs in tasks.

Spec: Reader Expectations 3-5; format/files 6.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyhudi.engine.row_parts import rows_of_parts, with_rows
from pyhudi.engine.scanning import naming_file, read_columns, stored_columns
from pyhudi.filegroup.key_parts import parts_with_keys
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.merge_memory import changes_in_memory
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.slice_keys import keys_of_rows
from pyhudi.formats.parquet import Footer, read_footer
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import Probe, find_met, winning_updates
from pyhudi.kernels.rules import Indices
from pyhudi.storage.api import Storage

__all__ = ["count_slice"]


def count_slice(task: FileSlice, *, storage: Storage, spec: SliceSpec) -> int:
    """Count the rows of a file slice as `read_slice` yields them, for a read of all rows.

    Cost:   the keys of the logs and what decides between them; of the base file its footer, and by the bounds of row
            groups and pages the keys that may be those of the logs. Where positions are known, no key. Ordering values
            only of rows that are met by a delete that has one. Where a function of the user's merges, or the logs do
            not fit into memory, what `read_slice` costs.
    Raises: as `read_slice`.
    """
    # Only what decides; but a table without any column would not know how many rows it has.
    decides = replace(spec, columns=spec.layout.key_columns)
    changes = None
    if _is_decided_by_keys(spec):
        blocks = blocks_to_merge(storage, task.logs, spec.counts, spec.instants)
        changes = changes_in_memory(blocks, decides.of_logs(task), spec.memory, records=spec.instants.records)
    if changes is None:
        one = replace(spec, columns=tuple(spec.layout.file_schema.names[:1]))
        return sum(batch.num_rows for batch in read_slice(task, storage=storage, spec=one))
    probe = fold(changes, spec.merge) if changes else None
    if task.base is None:
        return 0 if probe is None else int((~probe.is_delete).sum())
    with naming_file(task.base.path), storage.open_input(task.base.path) as source:
        footer = read_footer(source)
        return footer.rows_count + (0 if probe is None else _added(source, footer, probe, spec))


def _is_decided_by_keys(spec: SliceSpec) -> bool:
    """Return whether keys and ordering values alone say which rows there are."""
    is_all = spec.predicate is None and spec.window is None
    return is_all and spec.merge.merger is None and {*spec.merge.ordering} <= {*spec.layout.file_schema.names}


def _added(source: pa.NativeFile, footer: Footer, probe: Probe, spec: SliceSpec) -> int:
    """Return how many rows the changes add to those of a base file, less those that they delete."""
    is_new, none = ~probe.is_delete, np.zeros(0, np.int64)
    deleted_rows, deletes = [none], [none]
    for rows, hits in _meetings(source, footer, probe, spec):
        is_new[hits] = False
        of_deletes = probe.is_delete[hits]
        deleted_rows.append(rows[of_deletes])
        deletes.append(hits[of_deletes])
    met = np.concatenate(deleted_rows), np.concatenate(deletes)
    return int(is_new.sum()) - _won(source, footer, probe, spec, met)


def _meetings(
    source: pa.NativeFile, footer: Footer, probe: Probe, spec: SliceSpec
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the rows of a base file that meet a change, numbered within the file, and the changes that they meet."""
    if probe.positions is not None:
        hits = np.flatnonzero((probe.positions >= 0) & (probe.positions < footer.rows_count))
        yield probe.positions[hits], hits
        return
    read = spec.stored(spec.layout.key_columns)
    parts = parts_with_keys(source, footer, probe.keys) if spec.layout.has_meta_values else None
    numbers, at = rows_of_parts(footer, parts), 0
    for batch in stored_columns(source, read, footer, parts):
        keys = keys_of_rows(pa.Table.from_batches([batch]), spec).combine_chunks()
        rows, hits = find_met(keys, probe)
        yield numbers[at + rows], hits
        at += batch.num_rows


def _won(source: pa.NativeFile, footer: Footer, probe: Probe, spec: SliceSpec, met: tuple[Indices, Indices]) -> int:
    """Return how many of the rows that deletes meet these delete."""
    rows, hits = met
    is_sure = probe.wins_always[hits] if probe.ordering else np.ones(len(hits), dtype=np.bool_)
    asked, deletes = rows[~is_sure], hits[~is_sure]
    if not len(asked):
        return int(is_sure.sum())
    parts = with_rows(footer, (), np.unique(asked))
    ordering = read_columns(source, spec.stored(spec.merge.ordering), footer, parts).combine_chunks()
    places = np.searchsorted(rows_of_parts(footer, parts), asked)
    wins = winning_updates(ordering, places, deletes, probe, spec.merge)
    return int(is_sure.sum()) + int(wins.sum())

"""The rows of a file slice: those of its base file, with the changes of its logs merged into them.

Only sequences what others know: which blocks count, what they hold, how changes of one key are folded, and how they
meet the rows of the base file, which are streamed. Columns that neither the reader nor the merge needs are not read.
Start at `read_slice`; it runs in tasks.

Spec: Reader Expectations 3-5; format/files 1.8, 3, 6.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.engine.row_parts import Part, groups_matching, rows_of_parts, with_rows
from pyhudi.engine.scanning import naming_file, parts_holding, spell_out, stored_columns
from pyhudi.filegroup.log_records import ReadSpec
from pyhudi.filegroup.log_scan import VisibleInstants, blocks_to_merge
from pyhudi.filegroup.merge_memory import MergeMemory, changes_in_memory, spilled_changes
from pyhudi.filegroup.model import BaseFile, FileSlice, LogFile
from pyhudi.filegroup.rows import RowLayout, decoded
from pyhudi.filegroup.settled import are_settled
from pyhudi.filegroup.spilled import SpilledRows
from pyhudi.formats.log import LogBlock
from pyhudi.formats.parquet import Footer, iter_batches, read_footer, rows_of_part
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.keys import record_keys
from pyhudi.kernels.merge import MergeSpec, Probe, keep_unbeaten, merge_batch
from pyhudi.kernels.rules import Fill, Indices
from pyhudi.predicate import Expression, InList, all_of, column, conjuncts, fields_of, literal, mask
from pyhudi.schema.evolution import project
from pyhudi.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from pyhudi.storage.api import Storage
from pyhudi.storage.ranged_input import RangedInput
from pyhudi.storage.spill import SpillFile

__all__ = ["SliceSpec", "read_slice"]

_TAIL_BYTES: Final = 64 << 10
"""Has the footer, most often."""
_LEAST_BUFFER_BYTES: Final = 64 << 10
"""Of a column that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSpec:
    """What a read wants of file slices, and how their rows are merged."""

    layout: RowLayout
    merge: MergeSpec
    instants: VisibleInstants
    columns: tuple[str, ...] = ()
    """Of `layout.file_schema`; none for a read of keys."""
    predicate: Expression | None = None
    """Over columns of `layout.file_schema`."""
    window: frozenset[str] | None = None
    """Only what these instants wrote is merged: an incremental read; None: everything that is visible."""
    memory: MergeMemory = field(default_factory=MergeMemory)
    keeps_order: bool = True
    """Rows that logs replace stay where they are in the base file; else they may come behind it, which is cheaper."""
    keeps_codes: bool = False
    """Text with few values may come as the dictionaries that the base file has, for a writer that keeps them."""

    @property
    def whole(self) -> Self:
        """Return the same with all columns, as they are stored."""
        return replace(self, columns=tuple(self.layout.file_schema.names))

    @property
    def appends_changes(self) -> bool:
        """Return whether rows that logs replace come behind the base file's, which have no part in them."""
        return not self.keeps_order and self.merge.fill is Fill.NOTHING and self.merge.merger is None

    @property
    def shown(self) -> pa.Schema:
        """Return the columns that are yielded."""
        stored = self.layout.file_schema
        return pa.schema([stored.field(name) for name in self.columns])

    @property
    def merged(self) -> pa.Schema:
        """Return the columns that are merged: those that are yielded or filtered, and those that decide."""
        stored = self.layout.file_schema
        if self.merge.merger is not None:
            return stored
        filtered = [] if self.predicate is None else fields_of(self.predicate, stored)
        window = [] if self.window is None else [COMMIT_TIME]
        names = {*self.columns, *filtered, *window, *self.merge.ordering}
        return pa.schema([one for one in stored if one.name in names])

    def stored(self, names: Collection[str]) -> pa.Schema:
        """Return columns of base files by name."""
        return pa.schema([one for one in self.layout.file_schema if one.name in names])

    def of_logs(self, one: FileSlice) -> ReadSpec:
        """Return what a merge wants of the logs of a file slice."""
        base_instant = None if one.base is None else one.base.instant
        return ReadSpec(schema=self.merged, layout=self.layout, merge=self.merge, base_instant=base_instant)

    @property
    def base_filter(self) -> Expression | None:
        """Return what rows of the base file must fulfil to be merged at all."""
        terms = [] if self.key_filter is None else [self.key_filter]
        if self.window is not None:
            times = tuple(literal(time) for time in sorted(self.window))
            terms.append(InList(value=column(COMMIT_TIME), options=times))
        return all_of(*terms) if terms else None

    def counts(self, log: LogFile, block: LogBlock) -> bool:
        """Return whether a block is merged."""
        return (self.window is None or block.instant in self.window) and self.instants.counts(log, block)

    @property
    def key_filter(self) -> Expression | None:
        """Return what the filter asks of record keys alone: it is true for all rows of a key, or for none."""
        if self.predicate is None or not self.layout.has_meta_values:
            return None
        schema = self.layout.file_schema
        terms = [one for one in conjuncts(self.predicate) if tuple(fields_of(one, schema)) == (RECORD_KEY,)]
        return all_of(*terms) if terms else None


def read_slice(
    task: FileSlice, *, storage: Storage, spec: SliceSpec, among: pa.Array | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file slice for which the filter is true, each key once; meta columns come as they are stored.

    The rows of the base file come first, in its order, then those that only the logs have, and without `keeps_order`
    those that take the place of one of the base file. Where the logs do not fit into memory, the keys come in shares,
    each in this order. Where only rows `among` some keys are asked for, rows of other keys may come too, or not.

    Shape:  `spec.columns` of the table's; a column that the files lack is null. Filters are over text, so that
            `keeps_codes` goes without one.
    Cost:   the columns that are needed of the base file, batch by batch; the rows of the logs in memory. Where these
            have all of `among`, and nothing stored can win over them, of the base file its footer. Where the logs do
            not fit into memory, all of these rows are written to a local disk and read again once.
    Raises: CorruptData and Unsupported, of logs and base files; what storage raises.
    """
    blocks = blocks_to_merge(storage, task.logs, spec.counts, spec.instants)
    wanted, is_asked = spec.of_logs(task), None
    if spec.key_filter is not None:
        is_asked = partial(_is_asked, spec.key_filter)
    changes = changes_in_memory(blocks, wanted, spec.memory, is_asked, records=spec.instants.records)
    if changes is not None:
        yield from _merged(task, changes, storage, spec, among)
        return
    with closing(SpillFile(spec.memory.spill_directory)) as file:
        spilled = spilled_changes(file, blocks, wanted, spec.memory, is_asked, records=spec.instants.records)
        stored = None if task.base is None else _spilled_base(file, task.base, storage, spec, spilled.count)
        for share in range(spilled.count):
            pa.default_memory_pool().release_unused()  # what Arrow keeps counts, too
            yield from _merged_share(spilled.share(share), () if stored is None else stored.gathered(share), spec)


def _is_asked(key_filter: Expression, keys: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return _flags(key_filter, pa.table({RECORD_KEY: keys}))


def _merged(
    task: FileSlice, changes: list[RowChanges], storage: Storage, spec: SliceSpec, among: pa.Array | None
) -> Iterator[pa.RecordBatch]:
    """Merge changes and a base file: its rows first, then the rows that it has not."""
    probe = _folded(changes, spec)
    meetings = _Meetings(0 if probe is None else len(probe.keys))
    if task.base is not None:
        with naming_file(task.base.path), storage.open_input(task.base.path) as source:
            base = _Base(source=source, footer=read_footer(source), probe=probe, spec=spec)
            for batch in base.rows(among, meetings):
                yield from _chosen(batch, spec)
    if probe is not None:
        yield from _chosen(meetings.left(probe), spec)


def _merged_share(
    changes: list[RowChanges], stored: Iterable[pa.RecordBatch], spec: SliceSpec
) -> Iterator[pa.RecordBatch]:
    """Merge the changes of some keys and their rows of the base file."""
    probe = _folded(changes, spec)
    meetings = _Meetings(0 if probe is None else len(probe.keys))
    for batch in stored:
        rows = batch.select(spec.merged.names)
        if probe is not None:
            met = merge_batch(rows, _keys_of(batch, spec), probe, spec.merge)
            meetings.are_done(met.hits)
            rows = met.batch
        yield from _chosen(rows, spec)
    if probe is not None:
        yield from _chosen(meetings.left(probe), spec)


def _folded(changes: list[RowChanges], spec: SliceSpec) -> Probe | None:
    """Make changes one a key, and let go of them; None where there are none."""
    folded = fold(changes, spec.merge) if changes else None
    changes.clear()
    return folded


def _spilled_base(file: SpillFile, base: BaseFile, storage: Storage, spec: SliceSpec, count: int) -> SpilledRows:
    """Write the rows of a base file that are to be merged to disk, in shares of their keys.

    Cost: a part of the rows in memory.
    """
    read = spec.stored({*spec.merged.names, *spec.layout.key_columns})
    rows, part_bytes = SpilledRows(file, read, count), spec.memory.part_bytes
    with naming_file(base.path), _unmapped(storage, base) as source:
        footer = read_footer(source)
        every = range(footer.metadata.num_row_groups)
        for group in every if spec.base_filter is None else groups_matching(footer, spec.base_filter, read):
            batches = iter_batches(
                source,
                read.names,
                batch_rows=rows_of_part(footer, group, read.names, part_bytes),
                row_groups=[group],
                footer=footer,
                buffer_bytes=max(_LEAST_BUFFER_BYTES, part_bytes // len(read)),
            )
            for stored in batches:
                batch = project(stored, read)
                asked = batch if spec.base_filter is None else batch.filter(mask(spec.base_filter, batch))
                rows.add(pa.Table.from_batches([asked]), _keys_of(asked, spec))
    return rows


class _Meetings:
    """Which changes have met rows of the base file."""

    def __init__(self, count: int) -> None:
        """Begin with so many changes that have met none."""
        self._is_met = np.zeros(count, np.bool_)
        self._beaten = np.zeros(count, np.int64)

    def are_done(self, changes: Indices) -> None:
        """Note changes that were shown in the place of the rows that they met, or lost."""
        self._is_met[changes] = True

    def beat(self, changes: Indices) -> None:
        """Note changes that are still to be shown, once for each row that was left out for them."""
        self._is_met[changes] = True
        np.add.at(self._beaten, changes, 1)

    def left(self, probe: Probe) -> pa.Table:
        """Return the rows that are still to be shown."""
        times = np.where(self._is_met, self._beaten, 1) * ~probe.is_delete
        if times.max(initial=0) <= 1:
            return probe.rows.filter(pa.array(times > 0))
        return probe.rows.take(pa.array(np.repeat(np.arange(len(times)), times)))


def _unmapped(storage: Storage, base: BaseFile) -> pa.NativeFile:
    """Open a base file without mapping it, which would count as memory."""
    size = base.size_bytes
    tail = min(size, _TAIL_BYTES)
    read_at = partial(storage.get_range, base.path)
    return pa.PythonFile(RangedInput(base.path, read_at, size, read_at(size - tail, tail)), "r")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """A base file that meets changes."""

    source: pa.NativeFile
    footer: Footer
    probe: Probe | None
    spec: SliceSpec

    def rows(self, among: pa.Array | None, meetings: _Meetings) -> Iterator[pa.RecordBatch]:
        """Yield the merged rows; none where rows of the keys asked for are those of the logs."""
        has_no_say = (
            among is not None
            and self.probe is not None
            and are_settled(among, self.probe, self.footer, self.spec.merge)
        )
        return iter(()) if has_no_say else self.merged(meetings)

    def merged(self, meetings: _Meetings) -> Iterator[pa.RecordBatch]:
        """Yield the merged rows, and note the changes that they met."""
        merged = self.spec.merged
        read = self.spec.stored({*merged.names, *(self.spec.layout.key_columns if self._meets_by_key else ())})
        parts = self._parts(read)
        numbers, at = rows_of_parts(self.footer, parts), 0
        texts: dict[str | bytes, pa.Array] = {}
        for stored in stored_columns(self.source, read, self.footer, parts, keeps_codes=True):
            batch, rows = self._asked_for(stored, numbers[at : at + stored.num_rows])
            at += stored.num_rows
            if self.probe is None:
                yield batch if self.spec.keeps_codes else spell_out(batch, texts)
                continue
            if self._meets_by_key:
                met = self._meet(batch.select(merged.names), _keys_of(batch, self.spec), None, meetings)
            else:
                met = self._meet(batch, None, rows, meetings)
            yield met if self.spec.keeps_codes else spell_out(met, texts)

    def _meet(
        self, batch: pa.RecordBatch, keys: pa.Array | None, rows: Indices | None, meetings: _Meetings
    ) -> pa.RecordBatch:
        assert self.probe is not None
        if self.spec.appends_changes and not self.probe.unset:
            kept = keep_unbeaten(batch, keys, self.probe, self.spec.merge, positions=rows)
            meetings.beat(kept.won)
            meetings.are_done(kept.lost)
            return kept.batch
        met = merge_batch(batch, keys, self.probe, self.spec.merge, positions=rows)
        meetings.are_done(met.hits)
        return met.batch

    def _asked_for(
        self, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
        """Leave out rows that are not to be merged."""
        if self.spec.base_filter is None:
            return batch, rows
        names = fields_of(self.spec.base_filter, batch.schema)
        kept = mask(self.spec.base_filter, decoded(batch.select(names)))
        return batch.filter(kept), rows[kept.to_numpy(zero_copy_only=False)]

    @property
    def _meets_by_key(self) -> bool:
        return self.probe is not None and self.probe.positions is None

    def _parts(self, read: pa.Schema) -> Sequence[Part] | None:
        """Choose rows that may match the filter, or have a say in a change that does.

        A row that does not match is left out in two cases: no change meets it, or the change that does takes its whole
        place anyway and is then shown as if it were new.
        """
        spec, probe = self.spec, self.probe
        if probe is None or not probe.needs_stored_rows:
            return self._fitting(spec.predicate, read)
        if spec.predicate is not None and not self._meets_by_key and probe.positions is not None:
            fitting = parts_holding(self.source, self.footer, spec.predicate, read)
            return with_rows(self.footer, fitting, np.unique(probe.positions))
        return self._fitting(spec.base_filter, read)

    def _fitting(self, wanted: Expression | None, read: pa.Schema) -> Sequence[Part] | None:
        return None if wanted is None else parts_holding(self.source, self.footer, wanted, read)


def _keys_of(batch: pa.RecordBatch, spec: SliceSpec) -> pa.Array:
    """Return the keys of rows of a base file."""
    columns = decoded(batch.select(list(spec.layout.key_columns)))
    if spec.layout.has_meta_values:
        return columns.column(0)
    return record_keys(spec.layout.key_spec, pa.Table.from_batches([columns])).combine_chunks()


def _chosen(rows: pa.RecordBatch | pa.Table, spec: SliceSpec) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    if spec.predicate is not None:
        table = table.filter(mask(spec.predicate, table))
    yield from table.select(spec.columns).to_batches()


def _flags(predicate: Expression, rows: pa.Table) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = pa.chunked_array([mask(predicate, rows)]).to_numpy()
    return flags

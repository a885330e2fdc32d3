"""The rows of a file slice: those of its base file, with the changes of its logs merged into them.

Only sequences what others know: which blocks count, what they hold, how changes of one key are folded, and how they
meet the rows of the base file, which are streamed. Columns that neither the reader nor the merge needs are not read.
Start at `read_slice`; it runs in tasks.

Spec: Reader Expectations 3-5; format/files 1.8, 3, 6.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.engine.scanning import groups_matching, naming_file, spell_out, stored_columns
from pyhudi.filegroup.log_passes import MERGE_MEMORY, Pass, Share, passes
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_scan import VisibleInstants, blocks_to_merge
from pyhudi.filegroup.model import FileSlice, LogFile
from pyhudi.filegroup.rows import RowLayout, decoded
from pyhudi.filegroup.settled import are_settled
from pyhudi.formats.log import LogBlock
from pyhudi.formats.parquet import Footer, read_footer
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.keys import record_keys
from pyhudi.kernels.merge import MergeSpec, Probe, merge_batch
from pyhudi.predicate import Expression, InList, all_of, column, conjuncts, fields_of, literal, mask
from pyhudi.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from pyhudi.storage.api import Storage

__all__ = ["SliceSpec", "read_slice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSpec:
    """What a read wants of file slices, and how their rows are merged."""

    layout: RowLayout
    merge: MergeSpec
    instants: VisibleInstants
    columns: tuple[str, ...]
    """Of `layout.file_schema`."""
    predicate: Expression | None = None
    """Over columns of `layout.file_schema`."""
    window: frozenset[str] | None = None
    """Only what these instants wrote is merged: an incremental read; None: everything that is visible."""
    memory_bytes: int = MERGE_MEMORY.default

    @property
    def shown(self) -> pa.Schema:
        """Return the columns that are yielded."""
        stored = self.layout.file_schema
        return pa.schema([stored.field(name) for name in self.columns])

    @property
    def merged(self) -> pa.Schema:
        """Return the columns that are merged: those that are yielded or filtered, and those that decide."""
        stored = self.layout.file_schema
        filtered = [] if self.predicate is None else fields_of(self.predicate, stored)
        window = [] if self.window is None else [COMMIT_TIME]
        names = {*self.columns, *filtered, *window, *self.merge.ordering}
        return pa.schema([field for field in stored if field.name in names])

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns that have a stored row's key, or make it."""
        if self.layout.has_meta_values:
            return (RECORD_KEY,)
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self.layout.key_spec.record_key))

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
        return self.instants.counts(log, block) and (self.window is None or block.instant in self.window)

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

    The rows of the base file come first, in its order, then those that only the logs have. Where the logs do not fit
    into memory, the keys come in several parts, each in this order. Where only rows `among` some keys are asked for,
    rows of other keys may come too, or not.

    Shape:  `spec.columns` of the table's; a column that the files lack is null.
    Cost:   the columns that are needed of the base file, batch by batch; the rows of the logs in memory. Where these
            have all of `among`, and nothing stored can win over them, of the base file its footer.
    Raises: CorruptData and Unsupported, of logs and base files; what storage raises.
    """
    blocks = blocks_to_merge(storage, task.logs, spec.counts)
    read = partial(_changes, spec=spec, reads=_read_spec(task, blocks, spec))
    for part in passes(blocks, read, spec.memory_bytes):
        yield from _merged(task, part, storage, spec, among)


def _read_spec(task: FileSlice, blocks: Sequence[LogBlock], spec: SliceSpec) -> ReadSpec:
    return ReadSpec(
        schema=spec.merged,
        key_spec=spec.layout.key_spec,
        merge=spec.merge,
        has_meta_values=spec.layout.has_meta_values,
        base_instant=None if task.base is None else task.base.instant,
    )


def _changes(block: LogBlock, *, spec: SliceSpec, reads: ReadSpec) -> RowChanges:
    """Read the changes of a block, but for those of keys that are not asked for."""
    changes = read_changes(block, reads)
    if spec.key_filter is None:
        return changes
    return changes.filter(_flags(spec.key_filter, pa.table({RECORD_KEY: changes.keys})))


def _merged(
    task: FileSlice, part: Pass, storage: Storage, spec: SliceSpec, among: pa.Array | None
) -> Iterator[pa.RecordBatch]:
    """Merge one pass: the base file's rows first, then the rows that it has not."""
    probe = fold(part.changes, spec.merge) if part.changes else None
    is_met = np.zeros(0 if probe is None else len(probe.keys), np.bool_)
    if task.base is not None:
        with naming_file(task.base.path), storage.open_input(task.base.path) as source:
            base = _Base(source=source, footer=read_footer(source), probe=probe, share=part.share, spec=spec)
            for batch in [] if among is not None and base.has_no_say(among) else base.merged(is_met):
                yield from _chosen(batch, spec)
    if probe is not None:
        yield from _chosen(probe.rows.filter(pa.array(~is_met & ~probe.is_delete)), spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """A base file that meets changes."""

    source: pa.NativeFile
    footer: Footer
    probe: Probe | None
    share: Share | None
    spec: SliceSpec

    def has_no_say(self, among: pa.Array) -> bool:
        """Return whether rows of these keys are those of the changes, whatever the base file has."""
        if self.probe is None or self.share is not None:
            return False
        return are_settled(among, self.probe, self.footer, self.spec.merge)

    def merged(self, is_met: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
        """Yield the merged rows, and mark the changes that they met."""
        merged = self.spec.merged
        names = {*merged.names, *(self.spec.key_columns if self._meets_by_key else ())}
        read = pa.schema([field for field in self.spec.layout.file_schema if field.name in names])
        groups = self._groups(read)
        numbers = _RowNumbers(self.footer, groups)
        texts: dict[str | bytes, pa.Array] = {}
        for stored in stored_columns(self.source, read, self.footer, groups, keeps_codes=True):
            batch, rows = self._asked_for(stored, numbers.take(stored.num_rows))
            if self.probe is None:
                yield spell_out(batch, texts)
                continue
            if self._meets_by_key:
                mine, keys = self._of_this_pass(batch)
                met = merge_batch(mine.select(merged.names), keys, self.probe, self.spec.merge)
            else:
                met = merge_batch(batch, None, self.probe, self.spec.merge, positions=rows)
            is_met[met.hits] = True
            yield spell_out(met.batch, texts)

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
        return self.probe is not None and (self.probe.positions is None or self.share is not None)

    def _of_this_pass(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
        """Return the rows whose keys belong to this pass, and their keys."""
        keys = self._keys(batch)
        if self.share is None:
            return batch, keys
        is_held = pa.array(self.share.holds(keys))
        return batch.filter(is_held), keys.filter(is_held)

    def _keys(self, batch: pa.RecordBatch) -> pa.Array:
        columns = decoded(batch.select(list(self.spec.key_columns)))
        if self.spec.layout.has_meta_values:
            return columns.column(0)
        return record_keys(self.spec.layout.key_spec, pa.Table.from_batches([columns])).combine_chunks()

    def _groups(self, read: pa.Schema) -> Sequence[int] | None:
        """Choose row groups whose rows may match the filter, or have a say in a change that does.

        A row that does not match is left out in two cases: no change meets it, or the change that does takes its whole
        place anyway and is then shown as if it were new.
        """
        spec, probe = self.spec, self.probe
        if probe is None or not probe.needs_stored_rows:
            return None if spec.predicate is None else groups_matching(self.footer, spec.predicate, read)
        if spec.predicate is not None and not self._meets_by_key and probe.positions is not None:
            ends = np.cumsum(_rows_of_groups(self.footer))
            met = np.searchsorted(ends, probe.positions, side="right").tolist()
            return sorted({*groups_matching(self.footer, spec.predicate, read), *met})
        return None if spec.base_filter is None else groups_matching(self.footer, spec.base_filter, read)


class _RowNumbers:
    """Numbers the rows of a file's row groups as they are read, from 0."""

    def __init__(self, footer: Footer, groups: Sequence[int] | None) -> None:
        """Begin with the first of these groups."""
        counts = _rows_of_groups(footer)
        chosen = np.arange(len(counts)) if groups is None else np.array(groups, np.int64)
        self._are_all = len(chosen) == len(counts)
        self._ends = np.cumsum(counts[chosen])
        self._shifts = (np.cumsum(counts) - counts)[chosen] - (self._ends - counts[chosen])
        self._next = 0

    def take(self, count: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the next rows."""
        rows = np.arange(self._next, self._next + count, dtype=np.int64)
        self._next += count
        return rows if self._are_all else rows + self._shifts[np.searchsorted(self._ends, rows, side="right")]


def _rows_of_groups(footer: Footer) -> npt.NDArray[np.int64]:
    """Return how many rows each row group has."""
    metadata = footer.metadata
    return np.array([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)], np.int64)


def _chosen(rows: pa.RecordBatch | pa.Table, spec: SliceSpec) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    if spec.predicate is not None:
        table = table.filter(mask(spec.predicate, table))
    yield from table.select(spec.columns).to_batches()


def _flags(predicate: Expression, rows: pa.Table) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = pa.chunked_array([mask(predicate, rows)]).to_numpy()
    return flags

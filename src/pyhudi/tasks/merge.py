"""What a merge does inside a task: the source rows of one file group meet its stored rows, clause by clause.

Data plane. Start at `merge_buckets`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, Attempt
from pyhudi.engine.routing import runs_by_bucket
from pyhudi.errors import DuplicateKeys, InvalidInput
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.rows import decoded, record_keys_of
from pyhudi.filegroup.write_task import FileTask, Sink, WriteSpec, WriteStatus, unwritten
from pyhudi.filegroup.writer import Rewritten
from pyhudi.kernels.keys import partition_paths, record_keys
from pyhudi.kernels.merge import replace_rows
from pyhudi.kernels.ordering import require_values
from pyhudi.predicate import Expression, evaluate, fields_of, mask
from pyhudi.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, META_FIELDS, RECORD_KEY, seqno, with_meta_fields
from pyhudi.storage.api import Storage
from pyhudi.tasks.assignment import in_type_of
from pyhudi.tasks.at_once import Portion
from pyhudi.tasks.clauses import Clause, ClauseKind, MergeClauses, source_name
from pyhudi.tasks.sink import change_stored, slice_of
from pyhudi.tasks.write import bucket_bytes, written

__all__ = ["merge_bucket", "merge_buckets"]

_KEEP: Final = -1
_SOURCE: Final = source_name("")
Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


def merge_buckets(
    attempt: Attempt,
    batches: Iterator[pa.RecordBatch],
    *,
    storage: Storage,
    spec: WriteSpec,
    reads: SliceSpec,
    files: tuple[FileTask, ...],
    clauses: MergeClauses,
    only: frozenset[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Merge every bucket of one task, or those of `only`.

    Shape: keyed source rows, ordered by BUCKET -> one WRITE_STATUS row a file.
    """
    spec = spec.with_threads(attempt.threads)
    merge = partial(merge_bucket, storage=storage, spec=spec, reads=reads, clauses=clauses)
    portions = (
        Portion(size_bytes=bucket_bytes(files[bucket], rows.nbytes), work=partial(merge, files[bucket], rows=rows))
        for bucket, rows in runs_by_bucket(batches)
        if only is None or bucket in only
    )
    return written(portions, attempt)


def merge_bucket(
    file: FileTask,
    *,
    storage: Storage,
    spec: WriteSpec,
    reads: SliceSpec,
    rows: pa.Table | None,
    clauses: MergeClauses,
) -> list[WriteStatus]:
    """Merge source rows into one file group; None: no source row reached it.

    Raises: DuplicateKeys where two source rows act on one row, or would insert one key.
    """
    begin = partial(_Matcher, spec, file, rows, clauses)
    if file.sink is Sink.LOG and not _acts(file, storage, reads, begin()):
        return [unwritten(file)]
    return change_stored(storage, spec, reads, file, begin)


def _acts(file: FileTask, storage: Storage, reads: SliceSpec, matcher: "_Matcher") -> bool:
    """Return whether any clause acts on a file slice, by the columns of its conditions alone.

    Cost: these and the key column, of the logs alone where they have all the rows that are asked about; of rows that
          carry no key, nothing, as it is not looked.
    """
    if file.base_instant is None or not reads.layout.has_meta_values:
        return True
    schema = reads.layout.file_schema
    asked = {name for one in matcher.conditions for name in fields_of(one, matcher.sides) if name in schema.names}
    names = tuple(name for name in schema.names if name in {RECORD_KEY, *asked})
    narrow = read_slice(slice_of(file), storage=storage, spec=replace(reads, columns=names), among=matcher.keys)
    return any(matcher.acts_on(batch) for batch in narrow) or matcher.has_rest


class _Matcher:
    """Applies clauses to stored batches, remembering which source rows were matched."""

    def __init__(self, spec: WriteSpec, file: FileTask, rows: pa.Table | None, clauses: MergeClauses) -> None:
        self._spec, self._file, self._clauses = spec, file, clauses
        self._source = rows
        count = rows.num_rows if rows is not None else 0
        self._matched = np.zeros(count, dtype=np.bool_)
        self._met = np.zeros(count, dtype=np.bool_)
        self._layers = [] if rows is None else _layers(rows.column(KEY))
        self._touched = 0

    def __call__(self, batch: pa.RecordBatch) -> Rewritten:
        """Change one stored batch."""
        target = pa.Table.from_batches([decoded(batch)])
        rows, pairs = self._pairs(target, record_keys_of(batch, self._spec.layout))
        chosen = _first_clause(self._clauses.matched if self._source is not None else (), pairs)
        _require_one(rows[chosen != _KEEP], batch, self._spec)
        unmatched = np.ones(batch.num_rows, dtype=np.bool_)
        unmatched[rows] = False
        left = np.flatnonzero(unmatched) if self._clauses.by_source else np.zeros(0, dtype=np.int64)
        without = target.take(pa.array(left))
        by_source = _first_clause(self._clauses.by_source, without)
        actions = [(self._clauses.matched, rows, pairs, chosen), (self._clauses.by_source, left, without, by_source)]
        return self._apply(batch, actions)

    @property
    def conditions(self) -> list[Expression]:
        """Return what decides which stored rows clauses act on."""
        found = [one.condition for one in self._clauses.by_source]
        if self._source is not None:
            found += [self._clauses.residual, *(one.condition for one in self._clauses.matched)]
        return [one for one in found if one is not None]

    @property
    def keys(self) -> pa.Array | None:
        """Return the keys of the stored rows that clauses can act on; None: of any."""
        if self._source is None or self._clauses.by_source:
            return None
        return pc.unique(self._source.column(KEY))

    @property
    def sides(self) -> pa.Schema:
        """Return the columns of stored rows and of source rows."""
        source = [] if self._source is None else [one for one in self._source.schema if one.name not in META_FIELDS]
        return pa.schema([*self._spec.layout.file_schema, *(one for one in source if one.name.startswith(_SOURCE))])

    def acts_on(self, batch: pa.RecordBatch) -> bool:
        """Return whether a clause changes or deletes a row of a stored batch."""
        target = pa.Table.from_batches([batch])
        rows, pairs = self._pairs(target, batch.column(RECORD_KEY))
        chosen = _first_clause(self._clauses.matched if self._source is not None else (), pairs)
        if (chosen != _KEEP).any():
            return True
        unmatched = np.ones(batch.num_rows, dtype=np.bool_)
        unmatched[rows] = False
        without = target.filter(pa.array(unmatched)) if self._clauses.by_source else target.slice(0, 0)
        return bool((_first_clause(self._clauses.by_source, without) != _KEEP).any())

    @property
    def has_rest(self) -> bool:
        """Return whether a source row that met no stored one is inserted."""
        return not self._matched.all() and self.rest().num_rows > 0

    def rest(self) -> pa.Table:
        """Return the rows that unmatched source rows become, once all batches went by."""
        if self._source is None:
            return with_meta_fields(self._spec.layout.schema).empty_table()
        left = self._source.filter(pa.array(~self._matched))
        chosen = _first_clause(self._clauses.inserts, left)
        stored = self._met[~self._matched]
        if (stored & (chosen != _KEEP)).any():
            raise DuplicateKeys("a source row does not match by `on`, but its key is stored; it cannot be inserted")
        parts = [
            self._inserted(clause, left.filter(pa.array(chosen == number)))
            for number, clause in enumerate(self._clauses.inserts)
        ]
        rows = pa.concat_tables(parts) if parts else self._inserted(None, left.slice(0, 0))
        if pc.count_distinct(rows.column(KEY)).as_py() != rows.num_rows:
            raise DuplicateKeys("two source rows would insert one key", partition=self._file.partition)
        return rows

    def _pairs(self, target: pa.Table, keys: pa.Array) -> tuple[Indices, pa.Table]:
        """Pair stored rows with the source rows that `on` matches: target row numbers, and both sides' columns."""
        if self._source is None:
            return np.zeros(0, dtype=np.int64), target.slice(0, 0)
        rows, hits = [], []
        for layer_keys, layer_rows in self._layers:
            found = pc.index_in(keys, value_set=layer_keys)
            row = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
            rows.append(row)
            hits.append(layer_rows[found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)])
        row, hit = np.concatenate(rows), np.concatenate(hits)
        self._met[hit] = True
        pairs = _beside(target.take(pa.array(row)), self._source.take(pa.array(hit)))
        if self._clauses.residual is not None:
            is_match = mask(self._clauses.residual, pairs).to_numpy(zero_copy_only=False)
            row, hit, pairs = row[is_match], hit[is_match], pairs.filter(pa.array(is_match))
        self._matched[hit] = True
        return row, pairs

    def _apply(
        self, batch: pa.RecordBatch, actions: Sequence[tuple[tuple[Clause, ...], Indices, pa.Table, Indices]]
    ) -> Rewritten:
        deleted: list[Indices] = []
        updated: list[Indices] = []
        changed = batch
        for clauses, rows, values, chosen in actions:
            for number, clause in enumerate(clauses):
                hit = chosen == number
                if not hit.any():
                    continue
                if clause.assignments is None:
                    deleted.append(rows[hit])
                    continue
                changed = self._update(changed, clause, rows[hit], values.filter(pa.array(hit)))
                updated.append(rows[hit])
        count = batch.num_rows
        return Rewritten(batch=changed, is_updated=_flags(updated, count), is_deleted=_flags(deleted, count))

    def _update(self, batch: pa.RecordBatch, clause: Clause, rows: Indices, values: pa.Table) -> pa.RecordBatch:
        if clause.kind is ClauseKind.UPDATE and clause.takes_all:
            self._require_same_place(values)
        order = np.argsort(rows, kind="stable")
        ordered = values.take(pa.array(order))
        schema = self._spec.layout.schema
        fresh: dict[str, Any] = {
            name: in_type_of(schema.field(name), evaluate(expression, ordered))
            for name, expression in (clause.assignments or {}).items()
        }
        require_values(pa.table(fresh), [name for name in self._spec.required if name in fresh])
        if self._spec.layout.has_meta_values:
            count, instant = len(rows), self._spec.instant
            fresh[COMMIT_TIME] = pa.repeat(pa.scalar(instant, pa.string()), count)
            fresh[COMMIT_SEQNO] = seqno(instant, self._file.number, self._touched, count)
            self._touched += count
        where = np.zeros(batch.num_rows, dtype=np.bool_)
        where[rows] = True
        return replace_rows(batch, pa.array(where), fresh)

    def _require_same_place(self, values: pa.Table) -> None:
        """An update keeps a row where it is: a source row that names another key or partition is refused."""
        same = self._clauses.same_place
        if same is not None and not pc.all(mask(same, values)).as_py():
            raise InvalidInput("an update cannot change a key or partition column; delete and insert the row")

    def _inserted(self, clause: Clause | None, source: pa.Table) -> pa.Table:
        schema = self._spec.layout.schema
        given = clause.assignments or {} if clause is not None else {}
        columns = {
            field.name: in_type_of(field, evaluate(given[field.name], source))
            if field.name in given
            else pa.nulls(source.num_rows, field.type)
            for field in schema
        }
        rows = pa.table(columns, schema=schema)
        key_spec, keys = self._spec.layout.key_spec, source.column(KEY)
        paths = partition_paths(key_spec, rows)
        if key_spec.record_key:
            keys = record_keys(key_spec, rows)
        if not keys.equals(source.column(KEY)) or pc.any(pc.not_equal(paths, self._file.partition)).as_py():
            raise InvalidInput("an inserted row's key and partition must be those that `on` and the source say")
        require_values(rows, self._spec.required)
        return rows.append_column(KEY, keys).append_column(PARTITION, paths)


def _flags(rows: Sequence[Indices], count: int) -> Bools | None:
    if not rows:
        return None
    flags = np.zeros(count, dtype=np.bool_)
    flags[np.concatenate(rows)] = True
    return flags


def _layers(keys: pa.ChunkedArray) -> list[tuple[pa.Array, Indices]]:
    """Split source rows into groups in which every key is there once: the n-th row of each key."""
    encoded = keys.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0)) if len(codes) else np.zeros(0, dtype=np.int64)
    occurrence = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    layers = []
    for number in range(int(occurrence.max()) + 1 if len(occurrence) else 0):
        rows = np.sort(order[occurrence == number])
        layers.append((keys.take(pa.array(rows)).combine_chunks(), rows))
    return layers


def _first_clause(clauses: Sequence[Clause], rows: pa.Table) -> Indices:
    """Choose for each row the first clause whose condition is true; _KEEP where none is."""
    chosen = np.full(rows.num_rows, _KEEP, dtype=np.int64)
    for number, clause in enumerate(clauses):
        applies = np.ones(rows.num_rows, dtype=np.bool_)
        if clause.condition is not None:
            applies = mask(clause.condition, rows).to_numpy(zero_copy_only=False)
        chosen[(chosen == _KEEP) & applies] = number
    return chosen


def _require_one(rows: Indices, batch: pa.RecordBatch, spec: WriteSpec) -> None:
    distinct, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        twice = int(distinct[counts > 1][0])
        key = record_keys_of(batch.slice(twice, 1), spec.layout)[0].as_py()
        raise DuplicateKeys("two source rows match one target row; make the source one row a key", key=key)


def _beside(target: pa.Table, source: pa.Table) -> pa.Table:
    columns = dict(zip(target.column_names, target.columns, strict=True))
    for name in source.column_names:
        if name.startswith(source_name("")):
            columns[name] = source.column(name)
    return pa.table(columns)

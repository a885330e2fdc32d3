"""Write one file group's base file: create it from rows, or merge rows into the one that is there.

Runs in tasks (data plane): everything needed comes in frozen values, no timeline, no locks. Names do not depend on the
attempt and files are published by put-if-absent, so that a retried or a zombie attempt finds the file already there and
reports the stored one. Start at `merge_base_file` and `create_base_file`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.scanning import naming_file
from pyhudi.errors import CorruptData, PreconditionFailed
from pyhudi.filegroup.bounds import Measured, measured, together
from pyhudi.filegroup.key_filter import NextFilter, apart
from pyhudi.filegroup.many_changes import ManyChanges
from pyhudi.filegroup.model import BaseFile
from pyhudi.filegroup.names import marker_path
from pyhudi.filegroup.rows import base_file_rows, new_file_rows, record_keys_of, stored_batches
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.formats.bloom import BloomFilter, might_contain
from pyhudi.formats.parquet import (
    Footer,
    base_file_key_values,
    read_footer,
    write_base_file,
)
from pyhudi.kernels.merge import Probe, merge_batch, probe
from pyhudi.schema.json_text import parse_json
from pyhudi.schema.meta_fields import FILE_NAME, RECORD_KEY
from pyhudi.storage.api import PutMode, Storage

__all__ = [
    "Rewritten",
    "Tally",
    "create_base_file",
    "merge_base_file",
    "merge_many_changes",
    "planned_base_file",
    "publish_base_file",
    "rewrite_base_file",
    "store_base_file",
]

_STATUS_KEY: Final = "pyhudi.write_status"
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


class _NothingChangedError(Exception):
    """Leaves an output stream without publishing it."""


@dataclass(slots=True)
class Tally:
    """What the batches that went by add up to."""

    rows: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    smallest: str | None = None
    largest: str | None = None
    seen: dict[str, list[Measured]] = field(default_factory=dict)
    """Of the columns that `WriteSpec.measures` names, part by part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """A file about to be written."""

    batches: Iterator[pa.RecordBatch]
    tally: Tally
    """Complete once the batches went by."""
    bloom: Callable[[], BloomFilter | None]
    """Asked once the batches went by."""


def create_base_file(
    storage: Storage, spec: WriteSpec, task: FileTask, rows: pa.Table | Iterator[pa.Table]
) -> WriteStatus:
    """Write a new file group from rows that are no deletes, as they come; without rows there is none.

    Shape:  rows: the table's columns plus KEY and PARTITION.
    Cost:   a row group in memory, and the keys of the file.
    """
    if isinstance(rows, pa.Table) and not rows.num_rows:
        return _status(spec, task, "", Tally())
    tally, keys = Tally(), list[pa.Array]()
    file = (task.partition, planned_base_file(spec, task).name)

    def laid_out() -> Iterator[pa.RecordBatch]:
        for part in _parts(rows):
            if spec.bloom is not None:
                keys.extend(map(apart, part.column(RECORD_KEY).chunks))
            new = new_file_rows(part, spec.layout, spec.instant, task.number, file, first_row=tally.inserts)
            tally.inserts += part.num_rows
            yield from new.to_batches()
        if not tally.inserts:
            raise _NothingChangedError

    def bloom() -> BloomFilter | None:
        return spec.bloom.build(pa.chunked_array(keys, pa.string())) if spec.bloom else None

    content = _Content(batches=_counted(laid_out(), spec, tally), tally=tally, bloom=bloom)
    return _write_marked(storage, spec, task, content)


def _parts(rows: pa.Table | Iterator[pa.Table]) -> Iterator[pa.Table]:
    return (part for part in ([rows] if isinstance(rows, pa.Table) else rows) if part.num_rows)


def merge_base_file(storage: Storage, spec: WriteSpec, task: FileTask, updates: Probe) -> WriteStatus:
    """Write a file group's next base file: the stored rows with the updates merged in, inserts at the end.

    Cost:   one batch of the base file and the updates in memory, plus the parquet writer's row group.
    Spec:   Reader Expectations 5.1 (the same merge, at write time).
    """
    if task.base is None:
        kept = pa.array(~updates.is_delete)
        return create_base_file(storage, spec, task, updates.rows.filter(kept))
    file = planned_base_file(spec, task)
    fresh = updates.laid_out(base_file_rows(updates.rows, spec.layout, spec.instant, task.number, file.name))
    tally, state = Tally(), _MergeState(seen=np.zeros(len(updates.keys), dtype=np.bool_))
    with naming_file(task.base.path), storage.open_input(task.base.path) as source:
        footer = read_footer(source)
        threads = spec.parquet.threads
        stored = stored_batches(source, footer, spec.layout, task.partition, file.name, threads=threads)
        fresh = fresh.laid_out(stored.conform(fresh.rows))
        merged = _merge(stored.batches, fresh, spec, tally, state)
        filter_ = NextFilter.of(spec.bloom, footer)

        def bloom() -> BloomFilter | None:
            return filter_.with_keys(fresh.keys.filter(pa.array(~state.seen & ~fresh.is_delete)))

        content = _Content(batches=_counted(merged, spec, tally, filter_), tally=tally, bloom=bloom)
        return _write_marked(storage, spec, task, content)


def merge_many_changes(storage: Storage, spec: WriteSpec, task: FileTask, changes: ManyChanges) -> WriteStatus:
    """Write a file group's next base file as `merge_base_file` does; rows are read from disk as stored ones meet them.

    Cost:   a batch of the base file and the rows that it meets in memory, the keys of all, and a row group.
    """
    assert task.base is not None, "rows of a new file group meet none"
    file, tally, state = planned_base_file(spec, task), Tally(), _MergeState(seen=np.zeros(len(changes.keys), np.bool_))
    with naming_file(task.base.path), storage.open_input(task.base.path) as source:
        footer = read_footer(source)
        threads = spec.parquet.threads
        stored = stored_batches(source, footer, spec.layout, task.partition, file.name, threads=threads)
        filter_ = NextFilter.of(spec.bloom, footer)

        def laid_out(rows: pa.Table) -> pa.Table:
            first, state.rows_count = state.rows_count, state.rows_count + rows.num_rows
            fresh = base_file_rows(rows, spec.layout, spec.instant, task.number, file.name, first_row=first)
            return stored.conform(fresh)

        def bloom() -> BloomFilter | None:
            return filter_.with_keys(changes.keys.filter(pa.array(~state.seen & ~changes.is_delete)))

        merged = _merge_many(stored.batches, changes, laid_out, spec, tally=tally, state=state)
        content = _Content(batches=_counted(merged, spec, tally, filter_), tally=tally, bloom=bloom)
        return _write_marked(storage, spec, task, content)


def rewrite_base_file(
    storage: Storage,
    spec: WriteSpec,
    task: FileTask,
    change: Callable[[pa.RecordBatch], "Rewritten"],
    rest: Callable[[], pa.Table | Iterator[pa.Table]] | None = None,
) -> WriteStatus:
    """Write a file group's next base file by a function of its batches, and rows to append once all went by.

    `change` gets stored rows (`RowLayout.file_schema`, some text dictionary-coded) and keeps their layout; `rest` gives
    rows as `create_base_file` takes them. Nothing is written when nothing changes.

    Cost:   a row group in memory, and the keys that are appended.
    """
    assert task.base is not None, "only a stored file can be rewritten"
    tally, file = Tally(), planned_base_file(spec, task)
    with naming_file(task.base.path), storage.open_input(task.base.path) as source:
        footer = read_footer(source)
        threads = spec.parquet.threads
        stored = stored_batches(source, footer, spec.layout, task.partition, file.name, threads=threads)
        inserted: list[pa.Array] = []
        filter_ = NextFilter.of(spec.bloom, footer)

        def appended() -> Iterator[pa.RecordBatch]:
            yield from _rewritten(stored.batches, change, tally)
            for rows in _parts(rest()) if rest is not None else ():
                # `change` has numbered the rows it touched, from 0.
                first_row = tally.updates + tally.inserts
                laid_out = base_file_rows(rows, spec.layout, spec.instant, task.number, file.name, first_row=first_row)
                tally.inserts += rows.num_rows
                inserted.extend(map(apart, rows.column(RECORD_KEY).chunks) if spec.bloom is not None else ())
                yield from stored.conform(laid_out).to_batches()
            if not tally.updates + tally.deletes + tally.inserts:
                raise _NothingChangedError

        def bloom() -> BloomFilter | None:
            return filter_.with_keys(pa.chunked_array(inserted, pa.string()))

        content = _Content(batches=_counted(appended(), spec, tally, filter_), tally=tally, bloom=bloom)
        return _write_marked(storage, spec, task, content)


def store_base_file(storage: Storage, spec: WriteSpec, task: FileTask, rows: Iterator[pa.RecordBatch]) -> WriteStatus:
    """Write a file group's next base file from its rows as they are stored; only the file that they name is new.

    A file is written also of no rows. Rows that do not name the present base file were not in it as they are: by them
    the counts say what is new, and what else is gone was deleted.

    Shape:  rows: `RowLayout.file_schema`; the base file's own name what it is in. No batch has such rows and new keys.
    """
    file, tally, footer = planned_base_file(spec, task), Tally(), _stored_footer(storage, task)
    filter_ = NextFilter.of(spec.bloom, footer) if footer is not None else None
    in_base = filter_.stored if filter_ is not None else None
    named, changed = task.base.name if task.base else "", []
    fresh = pa.chunked_array([], pa.string())

    def renamed() -> Iterator[pa.RecordBatch]:
        nonlocal fresh
        for batch in rows:
            is_changed = pc.fill_null(pc.not_equal(batch.column(FILE_NAME), named), True)
            tally.updates += is_changed.true_count
            if spec.bloom is not None and is_changed.true_count == batch.num_rows:
                changed.append(record_keys_of(batch, spec.layout))
            yield _renamed(batch, file.name)
        rows_before = footer.rows_count if footer is not None else 0
        fresh = pa.chunked_array(changed, pa.string())
        if in_base is not None:
            fresh = fresh.filter(pc.invert(might_contain(in_base, fresh)))
        tally.inserts = max(0, tally.rows - rows_before) if in_base is None else len(fresh)
        tally.updates -= tally.inserts
        tally.deletes = max(0, rows_before + tally.inserts - tally.rows)

    def bloom() -> BloomFilter | None:
        if filter_ is not None:
            return filter_.with_keys(fresh)
        return spec.bloom.build(fresh) if spec.bloom is not None else None

    content = _Content(batches=_counted(renamed(), spec, tally, filter_), tally=tally, bloom=bloom)
    return _write_marked(storage, spec, task, content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """One batch of stored rows after a change."""

    batch: pa.RecordBatch
    """All n rows, those that are deleted too."""
    is_updated: Bools | None = None
    """n flags; None: of none."""
    is_deleted: Bools | None = None
    """n flags; None: of none."""

    @property
    def updates_count(self) -> int:
        """Return how many rows have new values."""
        return 0 if self.is_updated is None else int(self.is_updated.sum())

    @property
    def deletes_count(self) -> int:
        """Return how many rows go."""
        return 0 if self.is_deleted is None else int(self.is_deleted.sum())

    @property
    def kept(self) -> pa.RecordBatch:
        """Return the rows that stay."""
        return self.batch.filter(pa.array(~self.is_deleted)) if self.is_deleted is not None else self.batch


@dataclass(slots=True)
class _MergeState:
    seen: Bools
    rows_count: int = 0
    """Rows that have sequence numbers."""


def _merge(
    batches: Iterator[pa.RecordBatch], updates: Probe, spec: WriteSpec, tally: Tally, state: _MergeState
) -> Iterator[pa.RecordBatch]:
    rules = replace(spec.merge, marks_filled=True)
    for batch in batches:
        merged = merge_batch(batch, record_keys_of(batch, spec.layout), updates, rules)
        state.seen[merged.hits] = True
        tally.updates += merged.updated_count
        tally.deletes += merged.deleted_count
        yield merged.batch
    inserts = updates.rows.filter(pa.array(~state.seen & ~updates.is_delete))
    tally.inserts += inserts.num_rows
    if not tally.updates + tally.deletes + tally.inserts:
        raise _NothingChangedError
    yield from inserts.to_batches()


def _merge_many(
    batches: Iterator[pa.RecordBatch],
    changes: ManyChanges,
    laid_out: Callable[[pa.Table], pa.Table],
    spec: WriteSpec,
    *,
    tally: Tally,
    state: _MergeState,
) -> Iterator[pa.RecordBatch]:
    rules = replace(spec.merge, marks_filled=True)
    for batch in batches:
        keys = record_keys_of(batch, spec.layout)
        met = changes.meet(keys)
        if not len(met):
            yield batch
            continue
        some = changes.take(met)
        updates = probe(some.rows, some.keys, some.is_delete, rules, unordered=some.is_unordered)
        merged = merge_batch(batch, keys, updates.laid_out(laid_out(some.rows)), rules)
        state.seen[met] = True
        tally.updates += merged.updated_count
        tally.deletes += merged.deleted_count
        yield merged.batch
    for some in changes.parts(~state.seen & ~changes.is_delete):
        tally.inserts += some.rows.num_rows
        yield from laid_out(some.rows).to_batches()
    if not tally.updates + tally.deletes + tally.inserts:
        raise _NothingChangedError


def _stored_footer(storage: Storage, task: FileTask) -> Footer | None:
    if task.base is None:
        return None
    with naming_file(task.base.path), storage.open_input(task.base.path) as source:
        return read_footer(source)


def _renamed(batch: pa.RecordBatch, file_name: str) -> pa.RecordBatch:
    """Return rows that name the file that they go to."""
    name = pa.DictionaryArray.from_arrays(pa.array(np.zeros(batch.num_rows, np.int32)), pa.array([file_name]))
    at = batch.schema.get_field_index(FILE_NAME)
    return batch.set_column(at, FILE_NAME, name)


def _rewritten(
    batches: Iterator[pa.RecordBatch], change: Callable[[pa.RecordBatch], Rewritten], tally: Tally
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        changed = change(batch)
        tally.updates += changed.updates_count
        tally.deletes += changed.deletes_count
        yield changed.kept


def _counted(
    batches: Iterator[pa.RecordBatch], spec: WriteSpec, tally: Tally, filter_: NextFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """Count rows and follow keys, their range and what else is measured as batches go by."""
    stored = set(spec.layout.file_schema.names)
    names = [name for name in spec.measures.seen if name in stored] if spec.measures is not None else []
    for batch in batches:
        tally.rows += batch.num_rows
        for name in names:
            tally.seen.setdefault(name, []).append(measured(batch.column(name)))
        if spec.bloom is not None and batch.num_rows:
            keys = record_keys_of(batch, spec.layout)
            if filter_ is not None:
                filter_.see(keys)
            span = pc.min_max(keys)
            low, high = span["min"].as_py(), span["max"].as_py()
            tally.smallest = low if tally.smallest is None else min(tally.smallest, low)
            tally.largest = high if tally.largest is None else max(tally.largest, high)
        yield batch


def _write_marked(
    storage: Storage,
    spec: WriteSpec,
    task: FileTask,
    content: "_Content",
) -> WriteStatus:
    """Write a file from batches; see `publish_base_file`."""

    def write(sink: pa.NativeFile, footer: Callable[[], dict[str, str]]) -> bytes:
        return write_base_file(sink, content.batches, spec.layout.file_schema, spec.parquet, footer)

    return publish_base_file(storage, spec, task, write=write, tally=content.tally, bloom=content.bloom)


def publish_base_file(
    storage: Storage,
    spec: WriteSpec,
    task: FileTask,
    *,
    write: Callable[[pa.NativeFile, Callable[[], dict[str, str]]], bytes],
    tally: Tally,
    bloom: Callable[[], BloomFilter | None],
) -> WriteStatus:
    """Write a marker, then the file: it appears whole under a name that is the same for every attempt.

    `write` is given the sink and what makes the footer's key values, and returns how the file ends, empty where it does
    not tell; `bloom` is asked once the rows went by.
    """
    file = planned_base_file(spec, task)
    storage.put(marker_path(spec.instant, file.path, "MERGE" if task.base else "CREATE"), b"")

    def footer() -> dict[str, str]:
        status = _status(spec, task, file.path, tally)
        said = {name: value for name, value in status.values().items() if name != "measures"}  # of what is to come
        ours = {_STATUS_KEY: json.dumps(said, separators=(",", ":"))}
        if spec.bloom is None:
            return ours
        return ours | base_file_key_values(bloom=bloom(), min_key=tally.smallest, max_key=tally.largest)

    try:
        with storage.open_output(file.path, PutMode.CREATE) as sink:
            end = write(sink, footer)
            size_bytes = sink.tell()
    except _NothingChangedError:
        return _status(spec, task, "", Tally())
    except PreconditionFailed:
        return _stored_status(storage, file)
    seen = {name: together(parts) for name, parts in tally.seen.items()}
    measures = spec.measures.told(end, seen) if spec.measures is not None and end else b""
    return replace(_status(spec, task, file.path, tally), size_bytes=size_bytes, measures=measures)


def _stored_status(storage: Storage, file: BaseFile) -> WriteStatus:
    """Report the file another attempt has published: its counts are in its own footer."""
    with storage.open_input(file.path) as source:
        stored = read_footer(source).key_values.get(_STATUS_KEY, "")
    try:
        status = WriteStatus(**parse_json(stored) | {"log_files": ()})
    except (CorruptData, TypeError) as error:
        raise CorruptData("another attempt's file does not say what it wrote", path=file.path) from error
    return replace(status, size_bytes=storage.head(file.path).size_bytes)


def _status(spec: WriteSpec, task: FileTask, path: str, tally: Tally) -> WriteStatus:
    return WriteStatus(
        partition=task.partition,
        file_id=task.file_id,
        path=path,
        previous_instant=task.base.instant if task.base else "null",
        previous_name=task.base.name if task.base else "",
        is_new_group=task.base is None,
        rows_count=tally.rows,
        inserts_count=tally.inserts,
        updates_count=tally.updates,
        deletes_count=tally.deletes,
    )


def planned_base_file(spec: WriteSpec, task: FileTask) -> BaseFile:
    """Return the file that a task writes; its size is not known yet."""
    return BaseFile(
        partition=task.partition,
        file_id=task.file_id,
        write_token=task.write_token,
        instant=spec.instant,
        extension=".parquet",
        size_bytes=0,
    )

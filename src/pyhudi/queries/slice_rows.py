"""The rows of one file slice of a planned read, in a task: a base file as it is, or merged with logs.

Start at `read_planned`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from pyhudi.engine.api import ScanFile
from pyhudi.engine.scanning import scan_file
from pyhudi.errors import InternalError
from pyhudi.filegroup.merge_memory import MergeMemory
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.rows import RowLayout
from pyhudi.kernels.keys import KeySpec
from pyhudi.options import Settings
from pyhudi.predicate import Expression
from pyhudi.queries.committed_files import visible_instants
from pyhudi.queries.path_values import rows_beside_path
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.state.config import TableConfig, key_spec
from pyhudi.state.merging import merge_spec, require_merge_rules
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.view import Timeline

__all__ = ["read_planned", "scan_file_of", "slice_spec"]


def _stored_keys(config: TableConfig) -> KeySpec:
    """Return what is needed of the keys of rows that carry them: not how their paths are made, which is not stored."""
    return KeySpec(generator=config.key_generator, record_key=config.record_key)


def slice_spec(state: TableState, schema: pa.Schema, timeline: Timeline, settings: Settings) -> SliceSpec:
    """Return how the file slices that a timeline shows are read and merged; which columns are wanted is not said yet.

    `schema` has the table's columns.

    Raises: NotBuilt for merge rules that are not built; OptionError where keys that are not stored cannot be made.
    """
    config = state.config
    require_merge_rules(config)
    layout = RowLayout(
        schema=without_meta_fields(schema),
        key_spec=_stored_keys(config) if config.populates_meta_fields else key_spec(config, settings),
        has_meta_values=config.populates_meta_fields,
        dropped=config.columns_in_paths,
    )
    return SliceSpec(
        layout=layout,
        merge=merge_spec(config, settings),
        instants=visible_instants(state, timeline, settings),
        memory=MergeMemory.of(settings),
    )


def read_planned(
    task: FileSlice,
    *,
    storage: Storage,
    schema: pa.Schema,
    columns: tuple[str, ...],
    predicate: Expression | None,
    reads: SliceSpec | None,
    values: pa.Table | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file slice for which the predicate is true.

    `reads` is needed for a slice with logs. `values` are those of partition columns that only paths have.

    Shape:  `columns` of `schema`; a column that the files lack is null.
    Raises: CorruptData, and what storage raises.
    """

    def read(columns: tuple[str, ...], predicate: Expression | None) -> Iterator[pa.RecordBatch]:
        if task.logs:
            return read_slice(task, storage=storage, spec=_asking(task, reads, columns, predicate))
        file = scan_file_of(task)
        return scan_file(file, storage=storage, schema=schema, columns=columns, predicate=predicate)

    if values is None:
        return read(columns, predicate)
    path = (values, task.group.partition)
    return rows_beside_path(read, schema=schema, columns=columns, predicate=predicate, path=path)


def scan_file_of(plain: FileSlice) -> ScanFile:
    """Return the base file of a slice that has no logs."""
    if plain.base is None:
        raise InternalError("a file slice has neither a base file nor logs", file_id=plain.group.file_id)
    return ScanFile(path=plain.base.path, size_bytes=plain.base.size_bytes, partition=plain.group.partition)


def _asking(
    task: FileSlice, reads: SliceSpec | None, columns: tuple[str, ...], predicate: Expression | None
) -> SliceSpec:
    if reads is None:
        raise InternalError("a file slice has logs, and no rules to merge them by", file_id=task.group.file_id)
    return replace(reads, columns=columns, predicate=predicate, keeps_order=False)

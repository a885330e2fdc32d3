"""Which file slices a reader at one instant sees, and which columns they have.

Reads the timeline's metadata and listings; start at `visible_slices` and `table_schema`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, NotBuilt
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.view import as_file_slices, file_groups, newest_slices
from pyhudi.queries.committed_checks import require_committed
from pyhudi.queries.expired import ReadAmong, require_kept
from pyhudi.schema.evolution.column_ids import moved_columns
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import read_table_schema
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import PROPERTIES_PATH
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_schema_history
from pyhudi.timeline.columns import committed_schema, said_newest_first
from pyhudi.timeline.view import Timeline, replaced_file_groups

__all__ = [
    "files_of_keys",
    "listing_again",
    "require_named_files",
    "slices_of_any_format",
    "slices_to_read",
    "table_schema",
    "visible_slices",
]

_PARQUET: Final = ".parquet"
_BOOTSTRAP_OF_METADATA: Final = "00000000000001"
"""The instant of every such bootstrap; one that copies rows has another."""
_Found = TypeVar("_Found")


def listing_again(index: FileIndex, find: Callable[[], _Found]) -> _Found:
    """Return what is found by an index; by storage, where its answers are not what commits say.

    Raises: as `find`; CorruptData where storage, too, has not what commits say.
    """
    try:
        return find()
    except CorruptData as error:
        if not index.ask_storage(error):
            raise
    return find()


def require_named_files(index: FileIndex, partitions: Iterable[PartitionPath]) -> None:
    """Check that what commits name of the newest slices of some partitions is there, where the index is checked.

    An index that a metadata table answers for asks storage from then on, where it lacks any of it.

    Cost:   as `slices_to_read`.
    Raises: CorruptData naming the file; SnapshotExpired where it was taken away since the timeline was read.
    """
    wanted = list(partitions)
    if index.is_checked:
        listing_again(index, lambda: _newest(index, wanted, None, is_checked=True))


def visible_slices(
    index: FileIndex,
    partitions: Iterable[PartitionPath] | None = None,
    *,
    read_among: ReadAmong | None = None,
) -> list[FileSlice]:
    """List the visible file slices of some partitions, or of all, to read them; see `slices_to_read`."""
    given = None if partitions is None else list(partitions)
    return as_file_slices(listing_again(index, lambda: slices_to_read(index, given, read_among=read_among)))


def slices_to_read(
    index: FileIndex,
    partitions: Iterable[PartitionPath] | None = None,
    *,
    read_among: ReadAmong | None = None,
) -> pa.Table:
    """Return the visible file slices of some partitions, or of all, sorted by partition and file id.

    `read_among` tells of partitions that are not listed any more which of them would be read, too.

    Shape:  `filegroup.view.SLICES`.
    Cost:   what the index costs; of a moment in the past also one listing of the timeline, and reads of cleans since;
            where the index is checked, what `require_committed` costs.
    Raises: SnapshotExpired for a moment of which a clean took files; NotBuilt for base files that are not parquet, or
            of which only the keys are in the table; CorruptData naming a base file or log that a commit wrote and that
            is missing or cut.
    Spec:   Reader Expectations 2-4.
    """
    slices = _newest(index, partitions, read_among, is_checked=index.is_checked)
    is_parquet = pc.fill_null(pc.ends_with(slices.column("base"), _PARQUET), True)
    for one in as_file_slices(slices.filter(pc.invert(is_parquet)).slice(0, 1)):
        assert one.base is not None, "what is no base file is not refused"
        format_name = one.base.extension.removeprefix(".").upper()
        raise NotBuilt(
            f"pyhudi does not read base files in {format_name} yet; use Apache Hudi for this table", file=one.base.path
        )
    for path in _keys_only(index.state.config, slices)[:1]:
        raise NotBuilt(
            "pyhudi does not read bootstrapped tables whose columns are still in the files that they were made from; "
            "use Apache Hudi for this table",
            file=path,
            bootstrapped_from=index.state.config.bootstrap_path,
        )
    return slices


def slices_of_any_format(index: FileIndex) -> list[FileSlice]:
    """List all visible file slices, whatever their base files are, and whether or not what commits name is there.

    Cost:   as `slices_to_read`.
    Raises: SnapshotExpired for a moment of which a clean took files.
    """
    return as_file_slices(_newest(index, None, None, is_checked=False))


def files_of_keys(index: FileIndex) -> list[str]:
    """Return the visible base files that have meta columns alone: a bootstrap of metadata left the others elsewhere.

    Cost:   as `slices_to_read`.
    Raises: SnapshotExpired for a moment of which a clean took files.
    """
    return _keys_only(index.state.config, _newest(index, None, None, is_checked=False))


def _keys_only(config: TableConfig, slices: pa.Table) -> list[str]:
    """Return the paths of base files without columns of rows.   Shape: `filegroup.view.SLICES`."""
    if not config.bootstrap_path:
        return []
    is_one = pc.fill_null(pc.ends_with(slices.column("base"), f"_{_BOOTSTRAP_OF_METADATA}{_PARQUET}"), False)
    return [one.base.path for one in as_file_slices(slices.filter(is_one)) if one.base is not None]


def _newest(
    index: FileIndex, partitions: Iterable[PartitionPath] | None, read_among: ReadAmong | None, *, is_checked: bool
) -> pa.Table:
    wanted = frozenset(index.partitions() if partitions is None else partitions)
    if read_among is None:
        read_among = list if partitions is None else wanted.intersection
    replaced = replaced_file_groups(index.timeline, partial(read_commit_metadata, index.state))
    files = index.files(wanted)
    require_kept(index, files, replaced, read_among)
    slices = newest_slices(file_groups(files, index.timeline, replaced))
    if is_checked:
        require_committed(index, slices, replaced, lambda named: wanted.union(read_among(named - wanted)))
    return slices


def table_schema(state: TableState, timeline: Timeline) -> pa.Schema:
    """Return the table's columns, without meta columns: the newest commit's schema, else the one it was made with.

    Partition columns that base files do not have come last where the commit leaves them out, as Apache Hudi's do; they
    have the type the table was made with, else they are text.

    Where later commits than the active ones were archived, as of a moment before the active timeline begins, these say
    it. A timeline cut to before the first commit of a table that does not say what it was made with has its later
    schema.

    Cost:   the newest commits, down to the first that may change columns; where savepoints are, and in the past, what
            the history costs of the time since each of these.
    Raises: CorruptData for a table that says neither; NotBuilt where names do not tell its columns apart.
    """
    _require_columns_by_name(state, timeline)
    stored, file = committed_schema(state, timeline)
    if not stored:
        stored, file = state.config.create_schema, PROPERTIES_PATH
    if not stored and timeline.until is not None:
        stored, file = committed_schema(state, load_timeline(state))
    if stored:
        return _with_dropped(state.config, without_meta_fields(read_table_schema(stored, file)))
    raise CorruptData("neither a commit nor the table's properties tell its schema", table=state.storage.url)


def _require_columns_by_name(state: TableState, timeline: Timeline) -> None:
    """Refuse a table whose columns were renamed under schema-on-read: by name, old files would show nulls.

    Cost: nothing more than the newest write, unless it has column ids; then a listing and a read.
    """
    changes = (said for said, _ in said_newest_first(state, timeline) if said.can_change_columns)
    newest = next(changes, None)
    latest = newest.extra.get("latest_schema") if newest is not None else ""
    if not latest:
        return
    history = read_schema_history(state)
    moved = moved_columns(history, latest) if history else []
    if moved:
        raise NotBuilt("pyhudi does not match columns by id yet, and these were renamed", columns=moved)


def _with_dropped(config: TableConfig, schema: pa.Schema) -> pa.Schema:
    if not config.columns_in_paths:
        return schema
    first = read_table_schema(config.create_schema, PROPERTIES_PATH) if config.create_schema else pa.schema([])
    for name in config.columns_in_paths:
        if name not in schema.names:
            schema = schema.append(first.field(name) if name in first.names else pa.field(name, pa.string()))
    return schema

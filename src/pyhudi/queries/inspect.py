"""What there is: timeline, commits, files, slices, partitions, pending instants, each as an Arrow table.

Start at `Inspect`; every method is one question and reads metadata only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.arguments import as_count
from pyhudi.errors import FileMissing, NotBuilt
from pyhudi.filegroup.log_scan import VisibleInstants, log_blocks, merge_order
from pyhudi.filegroup.model import BaseFile, FileSlice, LogFile
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock
from pyhudi.metadata.listing import file_index
from pyhudi.queries.indexes import list_indexes
from pyhudi.queries.slices import slices_of_any_format
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline, read_commit_metadata, timeline_zone
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.instant import Instant
from pyhudi.timeline.view import completed_writes, is_committed, pending_instants

__all__ = ["Inspect"]

_TIMELINE: Final = pa.schema(
    [(name, pa.string()) for name in ("requested_time", "completion_time", "action", "state", "file_name")]
)
_COMMITS: Final = pa.schema(
    [
        ("instant", pa.string()),
        ("completion_time", pa.string()),
        ("action", pa.string()),
        ("operation", pa.string()),
        ("inserted", pa.int64()),
        ("updated", pa.int64()),
        ("deleted", pa.int64()),
        ("rows", pa.int64()),
        ("files_written", pa.int64()),
        ("file_groups_replaced", pa.int64()),
        ("partitions", pa.int64()),
        ("bytes_written", pa.int64()),
        ("extra_metadata", pa.map_(pa.string(), pa.string())),
    ]
)
_FILES: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("kind", pa.string()),
        ("path", pa.string()),
        ("instant", pa.string()),
        ("size_bytes", pa.int64()),
        ("is_committed", pa.bool_()),
    ]
)
_SLICES: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("base_instant", pa.string()),
        ("base_file", pa.string()),
        ("base_size_bytes", pa.int64()),
        ("log_files", pa.list_(pa.string())),
    ]
)
_BLOCKS: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("path", pa.string()),
        ("position", pa.int64()),
        ("kind", pa.string()),
        ("instant", pa.string()),
        ("size_bytes", pa.int64()),
        ("content_bytes", pa.int64()),
        ("is_merged", pa.bool_()),
        ("headers", pa.map_(pa.string(), pa.string())),
    ]
)
_PARTITIONS: Final = pa.schema([("partition", pa.string()), ("file_groups", pa.int64()), ("size_bytes", pa.int64())])
_PENDING: Final = pa.schema(
    [
        ("instant", pa.string()),
        ("action", pa.string()),
        ("state", pa.string()),
        ("age_ms", pa.int64()),
        ("writer", pa.string()),
        ("owner", pa.string()),
        ("what_to_do", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, repr=False)
class Inspect:
    """Questions about one table; each answer is read afresh."""

    state: TableState
    writer_of: Callable[[Instant], tuple[str, str, str]]
    """Tells of a pending instant whether its writer lives, which process that is, and what to do about it."""

    def __repr__(self) -> str:
        """Show the table, and what can be asked."""
        asked = sorted(name for name in dir(self) if not name.startswith("_") and name not in {"state", "writer_of"})
        return f"Inspect({self.state.config.name!r}: {', '.join(asked)})"

    def timeline(self) -> pa.Table:
        """List the instants of the active timeline, by requested time."""
        instants = load_timeline(self.state).instants
        return _table(
            _TIMELINE,
            ((one.requested_time, one.completion_time, one.action, one.state, one.file_name) for one in instants),
        )

    def commits(self, limit: int | None = None) -> pa.Table:
        """List completed writes with what they did, newest first; no more than `limit`.

        Cost: one read a commit that is listed.
        """
        limit = None if limit is None else as_count("limit", limit)
        newest_first = list(reversed(completed_writes(load_timeline(self.state))))[:limit]
        return _table(_COMMITS, (self._commit(one) for one in newest_first))

    def files(self) -> pa.Table:
        """List every data file in storage, also those no commit names."""
        timeline = load_timeline(self.state)
        index = file_index(self.state, timeline)
        files = index.files(index.partitions())
        found = (
            file
            for partition, name, size_bytes in zip(*(column.to_pylist() for column in files.columns), strict=True)
            if (file := parse_file(partition, FileStatus(path=name, size_bytes=size_bytes, modified_ms=0))) is not None
        )
        return _table(_FILES, ((*_described(file), is_committed(timeline, file.instant)) for file in found))

    def file_slices(self) -> pa.Table:
        """List the visible file slices, by partition and file id."""
        slices = slices_of_any_format(file_index(self.state, load_timeline(self.state)))
        return _table(
            _SLICES,
            (
                (
                    one.group.partition,
                    one.group.file_id,
                    one.base_instant,
                    one.base.path if one.base else None,
                    one.base.size_bytes if one.base else None,
                    [log.path for log in one.logs],
                )
                for one in slices
            ),
        )

    def partitions(self) -> pa.Table:
        """List partitions with their visible file groups and size."""
        slices = slices_of_any_format(file_index(self.state, load_timeline(self.state)))
        sizes = [(one.base.size_bytes if one.base else 0) + sum(log.size_bytes for log in one.logs) for one in slices]
        named = pa.table({"partition": [one.group.partition for one in slices], "size_bytes": sizes})
        sums = named.group_by("partition").aggregate([("size_bytes", "count"), ("size_bytes", "sum")])
        ordered = sums.sort_by("partition")
        columns = [ordered["partition"], ordered["size_bytes_count"], ordered["size_bytes_sum"]]
        return pa.table(columns, schema=_PARTITIONS)

    def pending(self) -> pa.Table:
        """List instants that are not completed: how old, whose, and what to do."""
        zone, now_ms = timeline_zone(self.state), self.state.env.now_ms()
        return _table(
            _PENDING,
            (
                (
                    one.requested_time,
                    one.action,
                    one.state,
                    now_ms - instant_ms(one.requested_time, zone),
                    *self.writer_of(one),
                )
                for one in pending_instants(load_timeline(self.state))
            ),
        )

    def log_blocks(self, path: str | None = None) -> pa.Table:
        """List the blocks of every log file in storage, in the order of the file; or of the one with this path.

        `is_merged` tells whether a reader of the newest file slice merges the block. What a torn write left has the
        kind `corrupt`.

        Cost:   a read of each log file up to 1 MiB; of larger ones some a block.
        Raises: NotFound where no log file has this path; CorruptData.
        """
        timeline = load_timeline(self.state)
        index = file_index(self.state, timeline)
        found = self.files()
        files = found.filter(pc.equal(found["kind"], "log"))
        logs = [log for one in files.to_pylist() if (log := _log(one)) is not None and path in (None, log.path)]
        if path is not None and not logs:
            raise FileMissing("the table has no log file of this path; inspect.files() lists them", path=path)
        blocks = log_blocks(self.state.storage, logs, has_torn=True)
        merged = _merged(blocks, slices_of_any_format(index), VisibleInstants.of(timeline, {}))
        return _table(_BLOCKS, (_block(log, block, is_merged=id(block) in merged) for log, block in blocks))

    def column_stats(self) -> NoReturn:
        """Raise NotBuilt: the footers of base files have the statistics of their columns."""
        raise NotBuilt("pyhudi does not have inspect.column_stats yet; pyarrow.parquet.read_metadata shows a footer")

    def indexes(self) -> pa.Table:
        """List the indexes of the metadata table: those that are ready, that are being built, and that are planned.

        Cost: the file of index definitions.
        """
        return list_indexes(open_state(self.state.storage, self.state.env))

    def metadata_files(self) -> NoReturn:
        """Raise NotBuilt: only the files of the table itself are listed, by `files()`."""
        raise NotBuilt("pyhudi does not list files of the metadata table yet; inspect.files() lists those of the table")

    def _commit(self, instant: Instant) -> tuple[Any, ...]:
        metadata = read_commit_metadata(self.state, instant)
        stats = [stat for found in metadata.stats.values() for stat in found]
        replaced = metadata.replaced or {}
        return (
            instant.requested_time,
            instant.completion_time,
            instant.action,
            metadata.operation,
            sum(stat.num_inserts or 0 for stat in stats),
            sum(stat.num_update_writes or 0 for stat in stats),
            sum(stat.num_deletes or 0 for stat in stats),
            sum(stat.num_writes or 0 for stat in stats),
            len(stats),
            sum(len(ids) for ids in replaced.values()),
            len({*metadata.stats, *replaced}),
            sum(stat.total_write_bytes or 0 for stat in stats),
            list(metadata.extra.items()),
        )


def _log(row: Mapping[str, Any]) -> LogFile | None:
    partition, name = row["partition"], row["path"].rsplit("/", 1)[-1]
    file = parse_file(partition, FileStatus(path=name, size_bytes=row["size_bytes"], modified_ms=0))
    return file if isinstance(file, LogFile) else None


def _merged(
    blocks: Sequence[tuple[LogFile, LogBlock]], slices: Iterable[FileSlice], instants: VisibleInstants
) -> set[int]:
    """Return which blocks are merged, by identity."""
    by_path: dict[str, list[tuple[LogFile, LogBlock]]] = {}
    for log, block in blocks:
        if block.kind is not BlockKind.CORRUPT:
            by_path.setdefault(log.path, []).append((log, block))
    in_order = ((pair for log in one.logs for pair in by_path.get(log.path, ())) for one in slices)
    return {id(block) for pairs in in_order for block in merge_order(pairs, instants.counts)}


def _block(log: LogFile, block: LogBlock, *, is_merged: bool) -> tuple[Any, ...]:
    return (
        *(log.partition, log.file_id, log.path, block.position, block.kind.name.lower()),
        *(block.headers.get(HeaderKey.INSTANT_TIME), block.size_bytes, block.content_bytes, is_merged),
        [(key.name, value) for key, value in block.headers.items()],
    )


def _described(file: BaseFile | LogFile) -> tuple[Any, ...]:
    kind = "base" if isinstance(file, BaseFile) else "log"
    return file.partition, file.file_id, kind, file.path, file.instant, file.size_bytes


def _table(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Make a table of metadata rows: one a file or an instant, never one a record."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )

"""What other programs do to a table: writers without a heartbeat, services that rely on their plans, new properties.

They keep to Apache Hudi's order of files and to the table lock, keep a metadata table, and look at no file groups.
Start at `cluster`.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.parquet as pq
from tests.file_names import base_file_name
from tests.simulation.explorer.scenario import TOKEN, Seat, Verb

from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.names import marker_path
from pyhudi.formats.avro import encode_container
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.partitions.api import RowsTold
from pyhudi.metadata.partitions.changes import records_of_commit
from pyhudi.metadata.state import open_metadata
from pyhudi.metadata.table.commit import publish_changes, remove_instant, remove_logs
from pyhudi.options import Settings
from pyhudi.queries.slices import visible_slices
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import complete, load_timeline, read_commit_metadata, request, start, timeline_zone
from pyhudi.timeline.clock import next_instant_time
from pyhudi.timeline.codec import encode_commit
from pyhudi.timeline.codec.schemas import REQUESTED_REPLACE_METADATA
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.view import latest_write, newest_time, pending_instants
from pyhudi.txn.locks import lock_for
from pyhudi.txn.locks.api import Lease

_COMPACTION_PLAN = {
    "type": "record",
    "name": "HoodieCompactionPlan",
    "fields": [
        {
            "name": "operations",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "HoodieCompactionOperation",
                    "fields": [{"name": "partitionPath", "type": "string"}, {"name": "fileId", "type": "string"}],
                },
            },
        }
    ],
}


@dataclass(frozen=True)
class Done:
    """What a foreign verb gives back, as ours do."""

    instant: str


def cluster(city: str) -> Verb:
    """Plan a clustering of a partition, move its files to other file groups, replace the old ones."""

    def do(seat: Seat) -> Any:
        state = seat.table().state
        with _locked(state, seat):
            instant, slices = _planned(state, city, Action.CLUSTERING)
        stats = [_copied(state, one, f"c{one.group.file_id[1:]}", instant) for one in slices]
        replaced = {city: tuple(one.group.file_id for one in slices)}
        return _finished(state, seat, instant, WriteOperation.CLUSTER, city, stats, replaced)

    return Verb(about=f"cluster {city}", do=do, means=dict)


def compact(city: str) -> Verb:
    """Plan a compaction of a partition and write its file slices anew, as they were when it was planned."""

    def do(seat: Seat) -> Any:
        state = seat.table().state
        with _locked(state, seat):
            instant, slices = _planned(state, city, Action.COMPACTION)
        stats = [_copied(state, one, one.group.file_id, instant) for one in slices]
        return _finished(state, seat, instant, WriteOperation.COMPACT, city, stats, None)

    return Verb(about=f"compact {city}", do=do, means=dict)


def rewrite(city: str) -> Verb:
    """Write a partition's files anew without a heartbeat, as Apache Hudi's single writer does, and change nothing."""

    def do(seat: Seat) -> Any:
        state = seat.table().state
        with _locked(state, seat):
            instant, slices = _planned(state, city, Action.COMMIT)
        stats = [_copied(state, one, one.group.file_id, instant) for one in slices]
        return _finished(state, seat, instant, WriteOperation.UPSERT, city, stats, None)

    return Verb(about=f"rewrite {city} from elsewhere", do=do, means=dict)


def rewrite_and_die(city: str) -> Verb:
    """As `rewrite`, but never finish: what is left has markers and no heartbeat."""

    def do(seat: Seat) -> Any:
        state = seat.table().state
        with _locked(state, seat):
            instant, slices = _planned(state, city, Action.COMMIT)
        for one in slices:
            _copied(state, one, one.group.file_id, instant)

    return Verb(about=f"rewrite {city} from elsewhere and die", do=do)


def set_properties(**changes: str) -> Verb:
    """Change the table's properties under the lock: `hoodie__table__x` for `hoodie.table.x`."""
    named = {name.replace("__", "."): text for name, text in changes.items()}

    def do(seat: Seat) -> Any:
        state = seat.table().state
        with _locked(state, seat):
            update_properties(state.storage, state.env, named)
        return Done("")

    return Verb(about=f"set {named}", do=do)


def _locked(state: TableState, seat: Seat) -> AbstractContextManager[Lease]:
    return lock_for(state, Settings.of(seat.options)).hold()


def _planned(state: TableState, city: str, action: Action) -> tuple[Instant, Sequence[FileSlice]]:
    """Request and start an instant, with a plan of the partition's file slices where the action has one."""
    timeline = load_timeline(state)
    slices = visible_slices(file_index(state, timeline), [PartitionPath(city)])
    time = next_instant_time(state.env, newest_time(timeline), timeline_zone(state))
    wanted = Instant(requested_time=time, action=action, state=State.REQUESTED)
    request(state, wanted, _plan(action, slices, state))
    return start(state, wanted), slices


def _plan(action: Action, slices: Sequence[FileSlice], state: TableState) -> bytes:
    named = [{"partitionPath": one.group.partition, "fileId": one.group.file_id} for one in slices]
    sync_marker = state.env.nonce()
    if action is Action.COMPACTION:
        return encode_container(_COMPACTION_PLAN, {"operations": named}, sync_marker)
    if action is Action.CLUSTERING:
        plan = {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": [{"slices": named}]}}
        return encode_container(REQUESTED_REPLACE_METADATA, plan, sync_marker)
    return b""


def _copied(state: TableState, one: FileSlice, file_id: str, instant: Instant) -> WriteStat:
    """Copy a slice's base file into a file group, as of an instant, and tell of it."""
    assert one.base is not None, one
    data = state.storage.get(one.base.path)
    path = f"{one.group.partition}/{base_file_name(file_id, '0-0-0', instant.requested_time)}"
    state.storage.put(marker_path(instant.requested_time, path, "MERGE"), b"")
    state.storage.put(path, data, PutMode.CREATE)
    return WriteStat(
        file_id=file_id,
        path=path,
        prev_commit=one.base.instant,
        partition_path=one.group.partition,
        num_writes=pq.ParquetFile(io.BytesIO(data)).metadata.num_rows,
        num_inserts=0,
        file_size_in_bytes=len(data),
    )


def _finished(
    state: TableState,
    seat: Seat,
    instant: Instant,
    operation: WriteOperation,
    city: str,
    stats: Iterable[WriteStat],
    replaced: Mapping[str, tuple[str, ...]] | None,
) -> Done:
    newest = latest_write(load_timeline(state))
    assert newest is not None
    metadata = CommitMetadata(
        operation=operation,
        stats={city: tuple(stats)},
        extra={TOKEN: seat.token, "schema": read_commit_metadata(state, newest).extra["schema"]},
        replaced=replaced,
    )
    with _locked(state, seat):
        known = _tell_metadata(state, seat, instant, metadata)
        newest_known = max(one for one in (newest_time(load_timeline(state)), known) if one)
        completion = next_instant_time(state.env, newest_known, timeline_zone(state))
        data = encode_commit(metadata, state.layout.timeline_layout, state.env.nonce())
        done = complete(state, instant, data, completion)
    state.storage.delete_tree(f".hoodie/.temp/{instant.requested_time}")
    return Done(done.requested_time)


def _tell_metadata(state: TableState, seat: Seat, instant: Instant, metadata: CommitMetadata) -> InstantTime | None:
    """Keep the metadata table as Apache Hudi does: all that is pending there is rolled back, whichever writer's it is.

    Returns when the delta commit completed; None for a table without one.
    """
    now = open_state(state.storage, state.env)
    if not now.config.metadata_partitions:
        return None
    table = open_metadata(now, load_timeline(now))
    for one in pending_instants(table.timeline):
        remove_logs(now, one.requested_time)
        remove_instant(table, one.requested_time)
    settings = Settings.of(seat.options)
    records = partial(records_of_commit, metadata=metadata, settings=settings, run=_one_by_one, tell_rows=_no_rows)
    issued = next_instant_time(now.env, newest_time(load_timeline(now)), timeline_zone(now))
    publish_changes(now, instant.requested_time, records, settings, lambda: issued)
    return issued


def _one_by_one(task: Callable[[Any], Any], given: Sequence[Any]) -> list[Any]:
    return [task(one) for one in given]


def _no_rows() -> RowsTold:
    raise NotImplementedError("tables of the explorer have no index of rows")

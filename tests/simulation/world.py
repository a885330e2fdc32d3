"""A small world that can be stopped anywhere: tables in memory, copied as they are, and what must hold of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip
from tests.fixed_env import FixedEnv

from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import FileStatus, Storage, StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.codec import decode_clean_metadata, decode_clean_plan, decode_commit
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import WRITE_ACTIONS, Action
from pyhudi.timeline.lsm import read_history_columns
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, pending_instants

DEAD_MS = 130_000
"""Longer than a heartbeat is believed."""
OPTIONS = TINY_FILTERS
URL = "memory://world"


class FarStorage(MemoryStorage):
    """Memory that makes itself out to be an object store: no lock of this host, other processes see it."""

    @property
    def traits(self) -> StorageTraits:
        return replace(super().traits, has_guard=False, is_shared=True)


class World:
    """One table's bytes and the clock beside them."""

    def __init__(self, storage: MemoryStorage, env: FixedEnv) -> None:
        self.storage = storage
        self.env = env

    @staticmethod
    def new(version: int, index: Iterable[tuple[str, object]] = (), table_type: str = "cow") -> "World":
        """Make a table of two partitions and five rows, written by two commits under an index."""
        env = FixedEnv()
        storage = MemoryStorage(URL, env)
        builder = TableBuilder(table_type)
        builder.env = env
        table = builder.create(TRIPS, version=version, storage=storage, options=dict(index))
        options = {**OPTIONS, **dict(index)}
        table.upsert([trip(f"k{n}", "ab"[n % 2], fare=float(n)) for n in range(4)], options=options)
        table.upsert([trip("k1", "b", ts=2, fare=11.0), trip("k9", "b", fare=9.0)], options=options)
        return World(storage, env)

    def copy(self, later_ms: int = 0, *, is_object_store: bool = False) -> "World":
        """Return the same bytes and times, apart from the original."""
        env = FixedEnv(self.env.now_ms() + later_ms, seed=self.env.now_ms())
        storage = (FarStorage if is_object_store else MemoryStorage)(URL, env)
        storage._content.files.update(self.storage._content.files)
        return World(storage, env)

    def table(self, storage: Storage | None = None) -> Table:
        """Open the table as a process that knows nothing would."""
        return Table(open_state(storage or self.storage, self.env))

    def files(self) -> dict[str, bytes]:
        """Return every file's bytes."""
        return {path: stored.data for path, stored in self.storage._content.files.items()}

    def fingerprint(self) -> str:
        """Name these bytes."""
        digest = hashlib.sha256()
        for path, data in sorted(self.files().items()):
            digest.update(f"{path}:{len(data)}:".encode())
            digest.update(data)
        return digest.hexdigest()

    def rows(self) -> dict[tuple[str, str], float]:
        """Read the table: (key, partition) to fare; a key that is there twice shows."""
        found = self.table().scan(["uuid", "city", "fare"]).to_arrow().to_pylist()
        keys = [(row["uuid"], row["city"]) for row in found]
        assert len(set(keys)) == len(keys), f"duplicate keys: {keys}"
        return {(row["uuid"], row["city"]): row["fare"] for row in found}


def require_clean(table: Table, *, may_times_meet: bool = False) -> None:
    """Check a table at rest against the invariants: nothing pending, nothing missing, nothing left over."""
    state = table.state
    timeline = load_timeline(state)
    assert pending_instants(timeline) == (), pending_instants(timeline)
    require_times_in_order(timeline, may_meet=may_times_meet)
    require_one_rollback_each(state, timeline)
    paths = {status.path for status in state.storage.list("")}
    archived = archived_commits(state)
    committed = {*timeline.completed, *archived}
    said = [read_commit_metadata(state, one) for one in timeline.completed.values()]
    said += [metadata for _, metadata in archived.values()]
    named = {stat.path for metadata in said for stats in metadata.stats.values() for stat in stats}
    lost = named - paths - cleaned_files(state)
    assert not lost, f"missing: {lost}"
    # At version 6 logs of failed writes stay, and others say of them that they do not count.
    is_deleted = not timeline.layout.rollbacks_write_commands
    data = {path for path in paths if is_data(path) and (is_deleted or path.endswith(".parquet"))}
    orphans = {path for path in data if _instant_of(path) not in committed} | (data - named)
    assert orphans == set(), orphans
    left = [path for path in paths if path.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/", ".hoodie/.locks/h"))]
    assert left == [], left


def is_data(path: str) -> bool:
    """Return whether a path is that of a base file or a log of the table."""
    return not path.startswith(".hoodie/") and (path.endswith(".parquet") or ".log." in path)


def archived_commits(state: TableState) -> dict[str, tuple[str, CommitMetadata]]:
    """Return the writes of the history: completion and what they say, by requested time."""
    found = {}
    for path in Past(state, ()).files():
        for batch in read_history_columns(state, path, "instantTime", "completionTime", "action", "metadata"):
            for row in batch.to_pylist():
                if row["action"] in WRITE_ACTIONS:
                    found[row["instantTime"]] = row["completionTime"], decode_commit(row["metadata"], path)
    return found


def cleaned_files(state: TableState) -> set[str]:
    """Name the files that cleans took, or may be taking."""
    folder = state.layout.timeline_path
    plans = [name for name in _timeline_names(state) if name.endswith(".clean.requested")]
    found = [decode_clean_plan(state.storage.get(f"{folder}/{name}"), name).files for name in plans]
    for path in Past(state, ()).files():
        for batch in read_history_columns(state, path, "action", "metadata"):
            cleans = [row["metadata"] for row in batch.to_pylist() if row["action"] == Action.CLEAN]
            said = [decode_clean_metadata(data, path).partitions for data in cleans]
            found += [{where: one.deleted for where, one in partitions.items()} for partitions in said]
    return {f"{where}/{name}" for files in found for where, names in files.items() for name in names}


def require_times_in_order(timeline: Timeline, *, may_meet: bool = False) -> None:
    """I10: no time is used twice, and an instant completes after it was requested.

    Of two that both believe that they hold the lock, because a lease ended, one may be given as its begin the time at
    which the other's commit completes; no two begin, and no two complete, at one time.
    """
    if not timeline.layout.has_completion_times:
        return
    begun = [one.requested_time for one in timeline.instants if one.action is not Action.SAVEPOINT]
    done = [one.completion_time for one in timeline.instants if one.completion_time]
    for times in (begun, done) if may_meet else (begun + done,):
        assert len(set(times)) == len(times), times
    assert all(one.requested_time < one.completion_time for one in timeline.instants if one.completion_time)


def require_one_rollback_each(state: TableState, timeline: Timeline) -> None:
    """No instant is taken back twice, and no rollback completes twice."""
    from pyhudi.txn.checks import rollback_target

    rollbacks = [one for one in timeline.instants if one.action is Action.ROLLBACK]
    targets = [rollback_target(state, one) for one in rollbacks]
    assert len(set(targets)) == len(targets), targets
    completed = [name for name in _timeline_names(state) if name.endswith(".rollback")]
    assert len(completed) == len(rollbacks), completed


def _timeline_names(state: TableState) -> list[str]:
    return [status.name for status in state.storage.list_directory(state.layout.timeline_path).files]


def _instant_of(path: str) -> str:
    partition, _, name = path.rpartition("/")
    file = parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
    assert file is not None, path
    return file.instant

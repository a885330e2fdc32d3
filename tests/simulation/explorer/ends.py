"""What must hold when all actors have stopped: one function an invariant, named after its number.

Each gives texts about what is wrong. They are asked once for every different end. Start at `ENDS`.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.building import trip
from tests.simulation.explorer.scenario import BYSTANDERS, ONE_ATTEMPT, TOKEN, Play, Rows, Scenario, trust
from tests.simulation.world import DEAD_MS, OPTIONS, World, require_clean

from pyhudi.errors import HudiError, SnapshotExpired, WriteConflict
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.log import BlockKind, read_blocks
from pyhudi.formats.parquet import BaseFileFooter, base_file_footer
from pyhudi.kernels.bucket import bucket_number, bucket_of
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import SECONDARY_PREFIX, MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.state import open_metadata
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.queries.slices import visible_slices
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import decode_clean_plan, decode_commit, decode_restore_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.restore import RestorePlan
from pyhudi.timeline.view import is_committed
from pyhudi.txn.fence import fence_of
from pyhudi.txn.locks.api import ProcessLease
from pyhudi.txn.recovery.rollback import recover_failed_writes

NEXT = ("next", "n")
WHATEVER = {"hoodie.metadata.enable": False, "hoodie.write.set.null.for.missing.columns": True}
"""The next writer gets along with what others made of the table."""
LEASE_MS = 301_000
"""Longer than a storage lock is respected."""
MOVES = frozenset({WriteOperation.CLUSTER, WriteOperation.COMPACT, WriteOperation.LOG_COMPACT})
_OF_ROWS = (MetadataPartition.RECORD_INDEX.value, SECONDARY_PREFIX)
"""Other indexes have an entry a file, whose key ends with the file's, or one a partition, which begins the file's."""
_PARTITION_ID = 12
"""How many characters of a file's key are of its partition."""
_COMMIT_TIME = "_hoodie_commit_time"
_BUCKETS = "hoodie.bucket.index.num.buckets"


@dataclass(frozen=True)
class End:
    """How a run ended: the table at rest, and what was told to whom."""

    play: Play
    world: World

    @staticmethod
    def of(play: Play) -> "End":
        """Take the bytes as they are now, apart from the run, and publish what a fence has decided."""
        world = World(play.run.disk.storage, play.run.disk.clock).copy()
        with suppress(HudiError):  # a table that cannot be opened is for the checks
            fence_of(world.table().state)
        return End(play, world)

    @property
    def scenario(self) -> Scenario:
        return self.play.scenario

    @cached_property
    def table(self) -> Table:
        return self.world.table()

    def said(self, one: Instant) -> CommitMetadata:
        """Return what a completed instant says."""
        path = f"{self.table.state.layout.timeline_path}/{one.file_name}"
        return decoded(path, self.stored[path])

    @cached_property
    def stored(self) -> dict[str, bytes]:
        return self.world.files()

    @cached_property
    def commits(self) -> list[tuple[Instant, str]]:
        """Return (instant, token) of completed writes since the beginning, in the order in which they showed."""
        state = self.table.state
        came = {name: number for number, name in enumerate(self.play.published)}
        timeline = load_timeline(state)
        begun = {one.requested_time for one in load_timeline(self.play.world.world.table().state).completed.values()}
        found = []
        for one in timeline.completed.values():
            if one.requested_time in begun or one.action not in {"commit", "deltacommit", "replacecommit"}:
                continue
            token = (self.said(one).extra or {}).get(TOKEN, "")
            found.append((one, token))
        if (
            not timeline.layout.has_completion_times
        ):  # readers go by when it was requested; what a fence has decided comes last
            return sorted(found, key=lambda each: came.get(each[0].file_name, len(came)))
        return sorted(found, key=lambda each: timeline.point(each[0]))

    @cached_property
    def rows(self) -> list[tuple[tuple[str, str], float, str]]:
        """Read the table: (key, partition), fare and the commit that wrote the row, in no order."""
        found = self.table.scan(["uuid", "city", "fare", _COMMIT_TIME]).to_arrow().to_pylist()
        return [((row["uuid"], row["city"]), row["fare"], row[_COMMIT_TIME]) for row in found]

    @cached_property
    def expected(self) -> list[Rows]:
        """Return the rows after each committed write, from the beginning on, as a dictionary would have them."""
        meanings = {
            f"{name}/{number}": verb.means
            for name, verbs in self.scenario.actors.items()
            for number, verb in enumerate(verbs)
            if verb.means is not None
        }
        rows = [self.rows_at_first]
        for one, token in self.commits:
            is_service = not token and self.said(one).operation in MOVES
            rows.append(rows[-1] if is_service else meanings[token](rows[-1]))
        return rows

    @cached_property
    def cleaned(self) -> set[str]:
        """Return the files that cleans took, or may be taking."""
        plans = [path for path in self.stored if path.endswith(".clean.requested")]
        found = [(path, decode_clean_plan(self.stored[path], path)) for path in plans]
        return {f"{where}/{name}" for _, plan in found for where, names in plan.files.items() for name in names}

    @cached_property
    def restores(self) -> dict[str, RestorePlan]:
        """Return the plans of restores, completed or not, by instant."""
        found = {path: data for path, data in self.stored.items() if path.endswith(".restore.requested")}
        return {
            path.rsplit("/", 1)[-1].partition(".")[0]: decode_restore_plan(data, path) for path, data in found.items()
        }

    @cached_property
    def taken_back(self) -> set[str]:
        """Return the instants that restores took back."""
        return {time for plan in self.restores.values() for time, _ in plan.instants}

    @cached_property
    def rows_at_first(self) -> Rows:
        """Return the rows from which the commits that are left went on: a restore commits last of all before them."""
        if not self.restores:
            return self.play.world.rows()
        target = self.restores[max(self.restores)].target
        return _as_rows(self.play.world.world.table().scan(["uuid", "city", "fare"], as_of=target))

    @cached_property
    def files(self) -> dict[str, tuple[bytes | None, WriteStat]]:
        """Return the files that completed commits name: path to (bytes, write stat)."""
        commits = [self.said(one) for one in load_timeline(self.table.state).completed.values()]
        return {
            stat.path: (self.stored.get(stat.path), stat)
            for commit in commits
            for stats in commit.stats.values()
            for stat in stats
            if stat.path
        }


def i2_a_reader_sees_one_moment(end: End) -> Iterator[str]:
    expected = [*end.expected]
    if end.restores:  # what was there before: one writer at most is beside a restore
        first = end.play.world.rows()
        verbs = [verb for verbs in end.scenario.actors.values() for verb in verbs if verb.means is not None]
        expected += [first, *(verb.means(first) for verb in verbs if verb.means is not None)]
    moments = [tuple(sorted((key, city, fare) for (key, city), fare in rows.items())) for rows in expected]
    for token, first, second in end.play.seen:
        if first != second:
            yield f"{token} read {first}, then {second}"
        if end.scenario.is_serializable and first not in moments:
            yield f"{token} read {first}, which the table never was"


def i3_the_table_is_what_committed_writes_made_one_after_the_other(end: End) -> Iterator[str]:
    """Rows and columns: no write takes back a column that another one brought."""
    brought = [end.said(one).extra.get("schema", "") for one, _ in end.commits]
    lost = {name for text in brought if text for name in _columns(text)} - set(end.table.schema.names)
    if lost:
        yield f"columns {sorted(lost)} of committed writes are gone"
    if not end.scenario.is_serializable:
        return
    found = {place: fare for place, fare, _ in end.rows}
    if found != end.expected[-1]:
        yield f"rows are {difference(found, end.expected[-1])}"


def i4_no_update_is_lost(end: End) -> Iterator[str]:
    """No call counts twice, and no row was written before the last commit that changed it."""
    for token, times in Counter(token for _, token in end.commits if token).items():  # services have none
        if times > 1:
            yield f"{token} is committed {times} times"
    if not end.scenario.is_serializable:
        return
    order: dict[str, int] = {one.requested_time: number for number, (one, _) in enumerate(end.commits)}
    last: dict[tuple[str, str], int] = {}
    for number, (before, after) in enumerate(pairwise(end.expected)):
        last |= {place: number for place, fare in after.items() if before.get(place) != fare}
    for place, _, written in end.rows:
        if order.get(written, -1) < last.get(place, -1):
            yield f"{place} was written at {written}, and changed by {end.commits[last[place]][1]} later"


def i5_no_key_is_there_twice(end: End) -> Iterator[str]:
    """A plain insert looks nothing up, and may."""
    if not end.scenario.is_serializable:
        return
    is_global = str(end.scenario.index.get("hoodie.index.type", "")).startswith("GLOBAL")
    keys = Counter(place[0] if is_global else place for place, _, _ in end.rows)
    twice = sorted(key for key, times in keys.items() if times > 1)
    if twice:
        yield f"{twice} are there more than once"


def i6_what_was_acknowledged_is_there(end: End) -> Iterator[str]:
    committed = {token: one.requested_time for one, token in end.commits}
    for outcome in end.play.outcomes:
        if outcome.result != "ok" or not outcome.instant or outcome.instant in end.taken_back:
            continue
        if committed.get(outcome.token) != outcome.instant:
            yield f"{outcome.token} ({outcome.verb.about}) was acknowledged and is not there"


def i7_what_failed_is_not_there(end: End) -> Iterator[str]:
    committed = {token for _, token in end.commits}
    for outcome in end.play.outcomes:
        if outcome.result not in {"ok", "died", "CommitUnknown"} and outcome.token in committed:
            yield f"{outcome.token} ({outcome.verb.about}) raised {outcome.result} and is committed"


def i9_the_next_writer_puts_the_table_right(end: End) -> Iterator[str]:
    """Recovery twice is recovery once; after it nothing pending, stray or missing is left."""
    is_store = end.scenario.is_object_store
    later = end.world.copy(end.scenario.patience_ms or (LEASE_MS if is_store else DEAD_MS), is_object_store=is_store)
    trust(later.storage)
    before = {place: fare for place, fare, _ in end.rows}
    done = {path.rsplit("/", 1)[-1][:17] for path in end.stored if path.endswith(".restore")}
    for restore, plan in end.restores.items():  # one that died is finished by the next, and by no writer
        if restore not in done:
            later.table().restore(plan.target or "")
    left = {one.action for one in load_timeline(later.table().state).instants if not one.is_completed}
    services = (
        (Action.COMPACTION, Table.compact),
        (Action.LOGCOMPACTION, Table.log_compact),
        (Action.CLUSTERING, Table.cluster),
        (Action.INDEXING, Table.index),
    )
    for action, run in services:
        if action in left:  # so is a plan whose process died
            with suppress(WriteConflict):  # of which others have left nothing: it is removed
                run(later.table())
    state = later.table().state
    recover_failed_writes(state, load_timeline(state), Settings(), ProcessLease())
    once = later.files()
    recover_failed_writes(state, load_timeline(state), Settings(), ProcessLease())
    if later.files() != once:
        yield f"the second recovery changed {sorted(later.files().keys() ^ once.keys())}"
    options = {**OPTIONS, **ONE_ATTEMPT, **WHATEVER, **end.scenario.index}
    later.table().upsert([trip(*NEXT, fare=1.0)], options=options)
    if later.rows() != {**before, NEXT: 1.0}:
        yield f"after the next write rows are {difference(later.rows(), {**before, NEXT: 1.0})}"
    require_clean(later.table(), may_times_meet=any(one.startswith("expire") for one in end.scenario.events))


def i11_a_metadata_table_names_the_files_of_commits(end: End) -> Iterator[str]:
    """And no others; of pending writes it says nothing to readers."""
    state, timeline = end.table.state, load_timeline(end.table.state)
    if not state.config.metadata_partitions:
        return
    indexes = (file_index(state, timeline), storage_index(state, timeline))
    told, stored = ({tuple(one.values()) for one in index.files(index.partitions()).to_pylist()} for index in indexes)
    if getattr(indexes[0], "is_listed", False):  # it is broken, and readers see that
        return
    has_logs = timeline.layout.logs_name_their_instant  # else they count as far as commits say
    times = {file: _instant_of(*file) for file in stored if has_logs or file[1].endswith(".parquet")}
    counting = {file for file, time in times.items() if time and is_committed(timeline, InstantTime(time))}
    for file in {file for file in told if has_logs or file[1].endswith(".parquet")} ^ counting:
        yield f"{file} is {'not stored' if file in told else 'not in the metadata table'}"


def i12_what_files_say_of_their_keys_is_true(end: End) -> Iterator[str]:
    """Key ranges and bloom filters, which the bloom index believes; buckets, which the bucket index does."""
    buckets_count = int(str(end.scenario.index.get(_BUCKETS, 0)))
    for path, (data, _) in sorted(end.files.items()):
        if data is not None and path.endswith(".parquet"):
            yield from _untrue_of_keys(path, data, buckets_count, end.table.config.record_key)
    if buckets_count:
        yield from _doubled_buckets(end.table.state)
    yield from _untrue_places(end)


def _untrue_places(end: End) -> Iterator[str]:
    """A record index, of either form, has each key once, in the partition of its row."""
    state = end.table.state
    if MetadataPartition.RECORD_INDEX not in state.config.metadata_partitions:
        return
    told = read_places(open_metadata(state, load_timeline(state))).select(["key", "partition"]).to_pylist()
    found = Counter((one["key"], one["partition"]) for one in told)
    if found != Counter(place for place, _, _ in end.rows):
        yield f"the record index has {sorted(found)}"


def i13_the_past_stays(end: End) -> Iterator[str]:
    if end.scenario.version == 6 or not end.scenario.is_serializable:
        return
    for (one, _), rows in zip(end.commits, end.expected[1:], strict=True):
        try:
            found = _rows_as_of(end, one)
        except SnapshotExpired as error:
            file = str(error.values.get("file"))
            if file not in end.cleaned:
                yield f"as of {one.completion_time} it is refused for {file}, which no clean took"
            continue
        if found != rows:
            yield f"as of {one.completion_time} rows are {difference(found, rows)}"


def i14_changes_are_what_the_commits_between_have_changed(end: End) -> Iterator[str]:
    """Whatever window: all rows that another moment had otherwise, and of every row what it is at the window's end."""
    if end.scenario.version == 6 or not end.scenario.is_serializable or not end.commits:
        return
    begun = [one.completion_time or "" for one in load_timeline(end.play.world.world.table().state).completed.values()]
    moments = list(zip([max(begun), *(one.completion_time or "" for one, _ in end.commits)], end.expected, strict=True))
    for number, (after, before) in enumerate(moments):
        for until, rows in moments[number + 1 :]:
            try:
                found = _changed(end.table, after, until)
            except SnapshotExpired as error:
                if str(error.values.get("file")) not in end.cleaned:
                    yield f"({after}, {until}] is refused: {error}, and no clean took that"
                continue
            missing = {place for place, fare in rows.items() if before.get(place) != fare} - found.keys()
            if missing or not found.items() <= rows.items():
                yield f"({after}, {until}] changed {found}, without {missing}; rows are {rows}"


def i16_services_change_no_row(end: End) -> Iterator[str]:
    """What moves rows to other files, or takes back what was never visible, leaves what readers see."""
    for (before, _), (one, token) in pairwise(end.commits):
        if end.said(one).operation in MOVES and end.scenario.version != 6:
            found, wanted = _rows_as_of(end, one), _rows_as_of(end, before)
            if found != wanted:
                yield f"after {token} rows are {difference(found, wanted)}"


def i16_an_index_that_was_built_is_whole(end: End) -> Iterator[str]:
    """What it says is true, and it says something of each row or file, whatever was committed beside its building."""
    state = end.table.state
    built = {*state.config.metadata_partitions} - {*end.play.world.world.table().config.metadata_partitions}
    if not built or all(one.action is not Action.INDEXING for one in load_timeline(state).instants):
        return  # another program may have written the property, and nothing else
    for problem in end.table.check(all_keys=True).problems.to_pylist():
        if problem["repair"]:
            yield f"{problem['path']} has {problem['found']}, and not {problem['expected']}"
    timeline = load_timeline(state)
    table, slices = open_metadata(state, timeline), visible_slices(file_index(state, timeline))
    bases = [(one.base.partition, one.base.name) for one in slices if one.base is not None]
    keys = file_keys(*(pa.array(column, pa.string()) for column in zip(*bases, strict=True))).to_pylist()
    for name in sorted(one for one in built if not one.startswith(_OF_ROWS)):
        told = read_entries(table, name, Wanted()).newest(state.config.table_version)["key"].to_pylist()
        wanted = [key[:_PARTITION_ID] for key in keys] if name == MetadataPartition.PARTITION_STATS else keys
        known = {key.decode()[-len(wanted[0]) :] for key in told}
        lacking = [file for file, key in zip(bases, wanted, strict=True) if key not in known]
        yield from (f"{name} says nothing of {file}" for file in lacking)


def i17_what_a_savepoint_keeps_can_be_read(end: End) -> Iterator[str]:
    """As of each commit that has a savepoint rows are what they were, whatever was cleaned."""
    if end.scenario.version == 6 or not end.scenario.is_serializable:
        return
    timeline = load_timeline(end.table.state)
    begun = load_timeline(end.play.world.world.table().state).completed
    times = [max(begun), *(one.requested_time for one, _ in end.commits)]
    kept = {one.requested_time for one in timeline.instants if one.action is Action.SAVEPOINT and one.is_completed}
    for time, rows in zip(times, end.expected, strict=True):
        if time in kept:
            found = _rows_as_of(end, timeline.completed[time])
            if found != rows:
                yield f"as of the savepoint {time} rows are {difference(found, rows)}"


def i17_a_restore_leaves_nothing_of_what_it_takes_back(end: End) -> Iterator[str]:
    """That it gives back what was there, and no more, is I3."""
    begun = {one.requested_time for one in load_timeline(end.play.world.world.table().state).completed.values()}
    for restore, plan in end.restores.items():
        if not any(path.endswith(".restore") and restore in path for path in end.stored):
            continue
        for time in begun & {time for time, _ in plan.instants}:
            left = sorted(path for path in end.stored if time in path and path.endswith((".parquet", "requested")))
            if left:
                yield f"of {time}, which was taken back, {left} are left"


def i19_nobody_reaches_outside(end: End) -> Iterator[str]:
    """Every path lies below the table's, and what is there and is not Hudi's is neither read nor changed."""
    for move in end.play.run.trace:
        path = move.operation.path
        if path.startswith(("/", "~")) or ":" in path or ".." in path.split("/"):
            yield f"{move.actor} went to {move.operation}"
        if path in BYSTANDERS:
            yield f"{move.actor} touched what is not Hudi's: {move.operation}"
    for path, data in BYSTANDERS.items():
        if end.stored.get(path) != data:
            yield f"{path}, which is not Hudi's, was changed"


def i20_what_a_commit_names_can_be_read_whole(end: End) -> Iterator[str]:
    for path, (data, stat) in sorted(end.files.items()):
        if data is None and path in end.cleaned:
            continue
        if data is None:
            yield f"{path} is missing"
        elif len(data) != stat.file_size_in_bytes:
            yield f"{path} has {len(data)} bytes, and its commit says {stat.file_size_in_bytes}"
        elif _rows_in(path, data) != stat.num_writes:
            yield f"{path} has {_rows_in(path, data)} rows, and its commit says {stat.num_writes}"


def l1_somebody_wins(end: End) -> Iterator[str]:
    """No actor meets a bug of ours; where nothing befell any, none waits for ever, and of writers one commits."""
    bugs = [outcome.token for outcome in end.play.outcomes if outcome.result == "InternalError"]
    if bugs:
        yield f"{bugs} met a bug"
    if len(end.scenario.events) > len(end.play.run.events) and end.play.run.budget < end.scenario.budget:
        return
    writers = [outcome for outcome in end.play.outcomes if not outcome.verb.is_read]
    if writers and not any(outcome.result == "ok" for outcome in writers):
        yield f"no writer committed: {[(outcome.token, outcome.result) for outcome in writers]}"
    is_rolled_back = any(outcome.verb.means is None and not outcome.verb.is_read for outcome in end.play.outcomes)
    killed = [outcome.token for outcome in end.play.outcomes if outcome.result == "HeartbeatExpired"]
    if killed and not is_rolled_back:
        yield f"{killed} was alive and taken for dead"
    stuck = [outcome.token for outcome in end.play.outcomes if outcome.result == "LockNotAcquired"]
    if stuck:
        yield f"{stuck} waited for a lock that was never free"


ENDS = (
    i2_a_reader_sees_one_moment,
    i3_the_table_is_what_committed_writes_made_one_after_the_other,
    i4_no_update_is_lost,
    i5_no_key_is_there_twice,
    i6_what_was_acknowledged_is_there,
    i7_what_failed_is_not_there,
    i9_the_next_writer_puts_the_table_right,
    i11_a_metadata_table_names_the_files_of_commits,
    i12_what_files_say_of_their_keys_is_true,
    i13_the_past_stays,
    i14_changes_are_what_the_commits_between_have_changed,
    i16_services_change_no_row,
    i16_an_index_that_was_built_is_whole,
    i17_what_a_savepoint_keeps_can_be_read,
    i17_a_restore_leaves_nothing_of_what_it_takes_back,
    i19_nobody_reaches_outside,
    i20_what_a_commit_names_can_be_read_whole,
    l1_somebody_wins,
)


def judged_end(end: End, checks: Iterable[Callable[[End], Iterable[str]]] = ENDS) -> list[str]:
    """Return what is wrong with an end; a table that cannot be read is wrong too."""
    found = []
    for check in checks:
        number = check.__name__.partition("_")[0].upper()
        try:
            found += [f"{number}: {text}" for text in check(end)]
        except (HudiError, AssertionError) as error:
            found.append(f"{number}: {type(error).__name__}: {error}")
    return found


def difference(found: Rows, wanted: Rows) -> str:
    """Describe how two sets of rows differ."""
    missing = {place: wanted[place] for place in wanted.keys() - found.keys()}
    extra = {place: found[place] for place in found.keys() - wanted.keys()}
    wrong = {
        place: (found[place], wanted[place]) for place in found.keys() & wanted.keys() if found[place] != wanted[place]
    }
    return f"missing {missing}, extra {extra}, wrong {wrong} (found, expected)"


def _instant_of(partition: str, name: str, size: int) -> str:
    """Return which instant wrote a file; empty for one that is not the table's."""
    file = parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=size, modified_ms=0))
    return "" if file is None else file.instant


def _rows_as_of(end: End, one: Instant) -> dict[tuple[str, str], float]:
    return _as_rows(end.table.scan(["uuid", "city", "fare"], as_of=one.completion_time))


def _as_rows(scan: Scan) -> dict[tuple[str, str], float]:
    return {(row["uuid"], row["city"]): row["fare"] for row in scan.to_arrow().to_pylist()}


def _changed(table: Table, after: str, until: str) -> dict[tuple[str, str], float]:
    found = table.changes(after, until, columns=["uuid", "city", "fare"]).to_arrow().to_pylist()
    return {(row["uuid"], row["city"]): row["fare"] for row in found}


@lru_cache(maxsize=4_096)
def decoded(path: str, data: bytes) -> CommitMetadata:
    """Read what a completed write says."""
    return decode_commit(data, path)


@lru_cache(maxsize=4_096)
def _keys_of(data: bytes) -> tuple[pa.Array, BaseFileFooter]:
    """Return a base file's record keys and what its footer says of them."""
    file = pq.ParquetFile(io.BytesIO(data))
    said = {name.decode(): text.decode() for name, text in (file.metadata.metadata or {}).items()}
    keys = file.read(columns=["_hoodie_record_key"]).column(0)
    return keys.combine_chunks(), base_file_footer(said)


@lru_cache(maxsize=4_096)
def _rows_in(path: str, data: bytes) -> int:
    """Count the rows of a base file, or of the parquet blocks of a log."""
    if path.endswith(".parquet"):
        return len(_keys_of(data)[0])
    blocks = read_blocks(lambda offset, length: data[offset : offset + length], len(data))
    return sum(len(_keys_of(block.read_content())[0]) for block in blocks if block.kind is BlockKind.PARQUET)


@lru_cache(maxsize=4_096)
def _untrue_of_keys(path: str, data: bytes, buckets_count: int, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a base file says of its keys and is not so."""
    keys, footer = _keys_of(data)
    if not len(keys):
        return ()
    found = []
    if (footer.min_key, footer.max_key) != tuple(pc.min_max(keys).as_py().values()):
        found.append(f"{path} says that its keys are {footer.min_key} to {footer.max_key}")
    bloom = footer.bloom()
    if bloom is None or not pc.all(might_contain(bloom, keys)).as_py():
        found.append(f"the filter of {path} does not know all of its keys")
    if buckets_count:
        numbers = set(bucket_of(keys, fields, fields, buckets_count).to_pylist())
        if numbers != {bucket_number(path.rsplit("/", 1)[-1])}:
            found.append(f"{path} holds keys of the buckets {sorted(numbers)}")
    return tuple(found)


def _doubled_buckets(state: TableState) -> list[str]:
    """Name the buckets that have more than one file group in a partition: a key is looked for in one of them."""
    groups = [one.group for one in visible_slices(file_index(state, load_timeline(state)))]
    times = Counter((group.partition, bucket_number(group.file_id)) for group in groups)
    return [f"bucket {number} of {partition} has {n} file groups" for (partition, number), n in times.items() if n > 1]


@lru_cache(maxsize=64)
def _columns(schema: str) -> tuple[str, ...]:
    return tuple(without_meta_fields(avro_to_arrow(schema)).names)

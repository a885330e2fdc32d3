"""The invariants, each by its number: what must hold of every run, whatever was done and whatever befell it.

`Watcher` looks at every write the moment it was applied, with one function an invariant; the functions of `ends` judge
a table at rest. What cannot be checked before something is built is listed in `UNBUILT`. Start at `judged`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tests.simulation.explorer.actors import Actor
from tests.simulation.explorer.disk import Disk
from tests.simulation.explorer.ends import End, decoded, judged_end
from tests.simulation.explorer.kernel import Run
from tests.simulation.explorer.operations import Operation
from tests.simulation.explorer.scenario import TIMELINES, Play
from tests.simulation.world import archived_commits, is_data

from pyhudi.errors import HudiError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, METADATA_TABLE_PATH
from pyhudi.state.properties_file import load_properties, open_state
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import decode_clean_plan, decode_restore_plan, decode_rollback_plan
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, parse_name
from pyhudi.timeline.metadata import CommitMetadata

MOST_VISIBLE = 20_000
"""How many answers are remembered."""


def judged(play: Play) -> list[str]:
    """Return what is wrong with a run that is over: texts that begin with the invariant's number."""
    return [*play.run.violations, *judged_end(End.of(play))]


# --- while a run goes on


@dataclass(frozen=True)
class Sight:
    """What the disk shows at one moment, as far as it concerns readers."""

    completed: dict[str, bytes]
    """Files of completed instants, but for those that were rolled back when they landed, and what a restore takes."""
    pending: frozenset[str]
    """Paths of other files of the timeline."""
    files: dict[str, bytes]
    """Data files."""
    taken: frozenset[str]
    """Paths of completed writes that a restore takes back, while they are there with their pending files."""
    disk: Disk = field(repr=False)

    @staticmethod
    def of(disk: Disk) -> "Sight":
        completed, pending, files = {}, set(), {}
        for path, stored in disk.files.items():
            if path.rpartition("/")[0] in TIMELINES:
                instant = parse_name(path.rsplit("/", 1)[-1])
                if instant is not None and instant.is_completed:
                    completed[path] = stored.data
                elif instant is not None:
                    pending.add(path)
            elif is_data(path):
                files[path] = stored.data
        restored = _restored(disk, pending)
        counting = {_instant(one).requested_time for one in pending} & set(restored)  # else it landed late
        taken = {one for one in completed if _instant(one).requested_time in counting and ".commit" in one}
        undone = {*_taken_back(disk, pending), *restored}
        counted = {path: data for path, data in completed.items() if _instant(path).requested_time not in undone}
        return Sight(counted, frozenset(pending), files, frozenset(taken), disk)

    @property
    def writing(self) -> set[str]:
        """Return the requested times of writes under way, where it is known what was visible to them."""
        done = {(one.requested_time, one.comparable_action) for one in map(_instant, self.completed)}
        begun = {_instant(path) for path in self.pending}
        is_known = any(path.startswith(".hoodie/timeline/") for path in self.pending)
        return {
            one.requested_time
            for one in begun
            if is_known and one.action in WRITE_ACTIONS and (one.requested_time, one.comparable_action) not in done
        }

    @property
    def planned(self) -> set[str]:
        """Return the files that plans of cleans name."""
        plans = [path for path in self.pending if path.endswith(".clean.requested")]
        return {file for path in plans for file in _planned_by(path, self.disk.files[path].data)}

    @property
    def named(self) -> set[str]:
        """Return the files that completed instants name."""
        return {path for one in self.completed.items() for path in _named_by(*one)}


class Watcher:
    """Looks at every write the moment it was applied."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.before = self.now = Sight.of(play.run.disk)
        self.doomed: dict[str, set[str]] = {}
        """What each rollback that was requested has to take away."""
        self.visible: dict[object, frozenset[str]] = {}
        """The base files that readers see, by what there is; all watchers of one hunt share it."""

    def __call__(self, run: Run, actor: Actor, operation: Operation) -> None:
        if operation.path and not _concerns_readers(operation.path):
            return
        self.before, self.now = self.now, Sight.of(run.disk)
        for watch in WATCHES:
            number = watch.__name__.partition("_")[0].upper()
            try:
                run.violations += [f"{number}: {text}, by {actor.name}: {operation}" for text in watch(self)]
            except HudiError as error:
                run.violations.append(f"{number}: {type(error).__name__}: {error}, by {actor.name}: {operation}")

    @property
    def new(self) -> list[tuple[str, Instant]]:
        """Return (path, instant) of instants that were completed just now."""
        return [(path, _instant(path)) for path in sorted(self.now.completed.keys() - self.before.completed.keys())]


def i1_what_is_visible_is_made_of_whole_commits(watch: Watcher) -> Iterator[str]:
    """What a reader finds is what completed commits say one after the other; nothing that counts is replaced."""
    for path in watch.now.completed.keys() & watch.before.completed.keys():
        if watch.now.completed[path] != watch.before.completed[path]:
            yield f"the completed instant {path} was replaced"
    for path in watch.now.files.keys() & watch.before.files.keys():
        if watch.now.files[path] != watch.before.files[path]:
            yield f"the file {path} was replaced"
    found, said = _visible(watch), _said(watch.now)
    if found != said:
        yield f"readers see {sorted(found - said)} and not {sorted(said - found)}"


def i8_what_a_commit_names_stays(watch: Watcher) -> Iterator[str]:
    """But for what the stored plan of a clean names, and that only where no pending write may read it."""
    gone = sorted((watch.before.named & watch.before.files.keys()) - watch.now.files.keys())
    planned = watch.now.planned if gone else set()
    for path in gone:
        if path not in planned:
            yield f"{path}, which a commit names, was removed"
    for time in sorted(watch.now.writing) if gone else ():
        read = _said_before(watch.before, time)
        for path in sorted(read.intersection(gone)):
            yield f"{path}, which the write that began at {time} reads, was removed"


def i9_a_rollback_takes_away_what_it_was_requested_for(watch: Watcher) -> Iterator[str]:
    """When it completes, nothing is left of what its target had stored when it was requested."""
    for path in sorted(watch.now.pending - watch.before.pending):
        if path.endswith(".rollback.requested"):
            target = _target_of(path, watch.now.disk.files[path].data)
            watch.doomed[_instant(path).requested_time] = {one for one in watch.now.files if _writer_of(one) == target}
    for path, new in watch.new:
        left = watch.doomed.get(new.requested_time, set()) & watch.now.files.keys()
        if new.action is Action.ROLLBACK and left:
            yield f"{path} leaves {sorted(left)}"


def i10_times_increase(watch: Watcher) -> Iterator[str]:
    """A savepoint has the time of its commit."""
    others = [_instant(path) for path in watch.before.completed]
    for path, new in watch.new:
        if new.action is not Action.SAVEPOINT and new.requested_time in {one.requested_time for one in others}:
            yield f"{path} is the second instant of its time"
        times = [one.completion_time for one in others if one.completion_time]
        if new.completion_time and times and new.completion_time <= max(times):
            yield f"{path} is not later than what was visible before"
        if new.completion_time and new.completion_time <= new.requested_time:
            yield f"{path} completed before it was requested"
    known = {_instant(path) for path in [*watch.before.completed, *watch.before.pending]}
    taken = {one.requested_time: one.comparable_action for one in known}
    for path in sorted(watch.now.pending - watch.before.pending):
        one = _instant(path)
        if (
            one.action is not Action.SAVEPOINT
            and taken.get(one.requested_time, one.comparable_action) is not one.comparable_action
        ):
            yield f"{path} has the time of another instant"


def i11_nothing_is_committed_beside_what_a_table_keeps(watch: Watcher) -> Iterator[str]:
    """A commit is of the table as it is by then, and a metadata table has a delta commit of it."""
    done = {path: new for path, new in watch.new if new.action in WRITE_ACTIONS}
    if not done:
        return
    properties = load_properties(watch.now.disk.storage, watch.now.disk.clock)
    own = f"{properties['hoodie.table.name']}_record".encode()
    for path in done:
        data = watch.now.disk.files[path].data
        if b"_record" in data and own not in data:
            yield f"{path} is of a table with another name"
    if properties.get(METADATA_TABLE_KEYS[0]):
        told = {path.rsplit("/", 1)[-1][:17] for path in watch.now.disk.files if _is_delta_commit(path)}
        for new in done.values():
            if new.requested_time not in told:
                yield f"{new.requested_time}, which the metadata table does not know"


def _is_delta_commit(path: str) -> bool:
    return path.startswith(f"{METADATA_TABLE_PATH}/.hoodie/") and path.endswith(".deltacommit")


def i17_what_a_restore_takes_back_is_not_committed_later(watch: Watcher) -> Iterator[str]:
    for path in sorted(watch.now.taken - watch.before.taken - watch.before.completed.keys()):
        yield f"{path} was completed, though a restore takes it back"


def i18_completed_instants_stay(watch: Watcher) -> Iterator[str]:
    """But for those that a restore takes back, or that are in the history already."""
    restored = _restored(watch.now.disk, watch.now.pending)
    gone = sorted(watch.before.completed.keys() - watch.now.completed.keys())
    archived = _archived(watch.now.disk) if gone else {}
    for path in gone:
        one = _instant(path)
        goes_along = archived and one.action in {Action.CLEAN, Action.ROLLBACK}
        if one.requested_time in restored or one.requested_time in archived or goes_along:
            continue
        yield f"the completed instant {path} was taken away"


def i20_commits_name_files_that_are_there(watch: Watcher) -> Iterator[str]:
    for path, _ in watch.new:
        for name in sorted(_named_by(path, watch.now.completed[path]) - watch.now.files.keys()):
            yield f"{path} names {name}: no such file"


WATCHES = (
    i1_what_is_visible_is_made_of_whole_commits,
    i8_what_a_commit_names_stays,
    i9_a_rollback_takes_away_what_it_was_requested_for,
    i10_times_increase,
    i11_nothing_is_committed_beside_what_a_table_keeps,
    i17_what_a_restore_takes_back_is_not_committed_later,
    i18_completed_instants_stay,
    i20_commits_name_files_that_are_there,
)


def _concerns_readers(path: str) -> bool:
    """Separate paths of the timeline, of data and of whole directories from locks, heartbeats, markers and slots."""
    hidden = (".hoodie/.", ".hoodie/hoodie.properties", ".hoodie/lock")
    return not path.startswith(hidden)


def _taken_back(disk: Disk, pending: Collection[str]) -> Collection[str]:
    """Name the instants that rollbacks took off the timeline: nothing pending is left of them."""
    plans = [path for path in pending if path.endswith(".rollback.requested")]
    left = {_instant(path).requested_time for path in pending}
    return {_target_of(path, disk.files[path].data) for path in plans} - left if plans else ()


def _restored(disk: Disk, pending: Collection[str]) -> Collection[str]:
    """Name the instants that restores take back, from their request on."""
    plans = [path for path in pending if path.endswith(".restore.requested")]
    return {time for path in plans for time in _restored_by(path, disk.files[path].data)} if plans else ()


@lru_cache(maxsize=4_096)
def _restored_by(path: str, data: bytes) -> tuple[str, ...]:
    return tuple(time for time, _ in decode_restore_plan(data, path).instants)


@lru_cache(maxsize=4_096)
def _target_of(path: str, data: bytes) -> str:
    return decode_rollback_plan(data, path).instant


def _visible(watch: Watcher) -> frozenset[str]:
    """Name the base files that a reader sees, and the logs where their names tell whether they count."""
    sight, visible = watch.now, watch.visible
    history = frozenset(path for path in sight.disk.files if path.startswith(".hoodie/timeline/history/"))
    key = (frozenset(sight.completed.items()), sight.pending, frozenset(sight.files), history)
    if key not in visible:
        state = open_state(sight.disk.storage, sight.disk.clock)
        slices = visible_slices(file_index(state, load_timeline(state)))
        bases = {one.base.path for one in slices if one.base is not None}
        logs = {log.path for one in slices for log in one.logs if state.layout.has_completion_times}
        visible[key] = frozenset(bases | logs)
        if len(visible) > MOST_VISIBLE:
            del visible[next(iter(visible))]
    return visible[key]


@lru_cache(maxsize=4_096)
def _planned_by(path: str, data: bytes) -> frozenset[str]:
    plan = decode_clean_plan(data, path)
    return frozenset(f"{where}/{name}" for where, names in plan.files.items() for name in names)


def _said(sight: Sight) -> frozenset[str]:
    """Name the files that completed commits leave, done one after the other."""
    return _said_before(sight, "9")


def _said_before(sight: Sight, time: str) -> frozenset[str]:
    """Name those that commits left which were completed before a time.

    A base file takes the place of what was completed before it was begun: logs that came since lie on top of it.
    """
    live: dict[tuple[str, str], dict[str, str]] = {}
    archived = _archived(sight.disk)
    is_named_by_writer = any(path.startswith(".hoodie/timeline/") for path in sight.completed)
    said = [(done, commit) for done, commit in archived.values()]
    for path, data in sight.completed.items():
        commit = _decoded(path, data)
        if commit is not None and _instant(path).requested_time not in archived:
            said.append((_point(_instant(path)), commit))
    for done, commit in sorted((one for one in said if one[0] < time), key=lambda one: one[0]):
        for partition, file_ids in (commit.replaced or {}).items():
            for file_id in file_ids:
                live.pop((partition, file_id), None)
        for partition, stats in commit.stats.items():
            for stat in [one for one in stats if one.path]:
                path, below = str(stat.path), live.get((partition, stat.file_id or ""), {})
                if not stat.is_log:
                    begun = path.rsplit("_", 1)[-1].partition(".")[0]
                    below = {log: at for log, at in below.items() if ".log." in log and at >= begun}
                counts = is_named_by_writer or not stat.is_log
                live[partition, stat.file_id or ""] = below | ({path: done} if counts else {})
    return frozenset(path for paths in live.values() for path in paths)


def _archived(disk: Disk) -> dict[str, tuple[str, CommitMetadata]]:
    """Return the writes that are in the history."""
    is_there = any(path.startswith(".hoodie/timeline/history/_version_") for path in disk.files)
    return archived_commits(open_state(disk.storage, disk.clock)) if is_there else {}


def _point(instant: Instant) -> str:
    return instant.completion_time or instant.requested_time


def _instant(path: str) -> Instant:
    instant = parse_name(path.rsplit("/", 1)[-1])
    assert instant is not None, path
    return instant


def _decoded(path: str, data: bytes) -> CommitMetadata | None:
    """Read what a completed commit says; None for a rollback."""
    return decoded(path, data) if _instant(path).action in WRITE_ACTIONS else None


@lru_cache(maxsize=4_096)
def _named_by(path: str, data: bytes) -> frozenset[str]:
    commit = _decoded(path, data)
    return (
        frozenset()
        if commit is None
        else frozenset(stat.path for stats in commit.stats.values() for stat in stats if stat.path)
    )


@lru_cache(maxsize=4_096)
def _writer_of(path: str) -> str:
    partition, _, name = path.rpartition("/")
    file = parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
    assert file is not None, path
    return file.instant


# --- what cannot be meant yet


@dataclass(frozen=True, kw_only=True)
class Unbuilt:
    """A part of an invariant that waits for something; a test fails once one of its signs is there."""

    invariant: str
    part: str
    because: str
    signs: tuple[str, ...]
    """Modules or packages of pyhudi, or methods of Table, any of which means that it is built."""


UNBUILT = (
    Unbuilt(
        invariant="I15",
        part="changes with images lead from one state to the next",
        because="changes are read as latest state only, and tables with cdc are not written",
        signs=("queries.cdc", "actions.cdc", "filegroup.cdc"),
    ),
)

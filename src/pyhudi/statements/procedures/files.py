"""Procedures about a table's files: sizes, slices, what is at a path, what a file became. Start at `FILES_SHOWN`."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, InvalidInput, NotBuilt, TableNotFound
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.view import as_file_slices, file_groups, newest_slices
from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.listing import file_index
from pyhudi.state.model import TableState
from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.statements.procedures.commits import newest_first
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_service_metadata
from pyhudi.timeline.codec import decode_plan
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline, as_of_requested, completed_writes, replaced_file_groups

__all__ = ["FILES_SHOWN"]

_ALL: Final = "ALL_PARTITIONS"
_ROOT_PARTS: Final = ("/", ":")
_UNITS: Final = ("B", "KB", "MB", "GB", "TB", "PB")
_DELETES: Final = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE)
_BASE: Final = ".parquet"


def _show_table_properties(call: ProcedureCall) -> Rows:
    """List what hoodie.properties says, by key."""
    return call.limited(sorted(call.open().state.config.properties.items()))


def _stats_file_sizes(call: ProcedureCall) -> Rows:
    """Describe the sizes of files by the commit that wrote them, and of all; partitions may be chosen by a pattern."""
    files, pattern = call.open().inspect.files(), call.text("partition_path").strip("/")
    if pattern:
        files = files.filter(_are_like(files["partition"], pattern))
    sizes = files["size_bytes"].to_numpy()
    times = files["instant"].to_pylist()
    by_time = [(time, sizes[np.array([one == time for one in times])]) for time in sorted(set(times))]
    yield from call.limited((time, *_described(of_time)) for time, of_time in by_time)
    if by_time:
        yield ("ALL", *_described(sizes))


def _described(sizes: npt.NDArray[np.int64]) -> tuple[Any, ...]:
    """Return least, 10th, median, mean, 95th and greatest, how many, and the deviation of a sample."""
    ordered = np.sort(sizes)
    tenth, middle, most = (float(np.quantile(ordered, at, method="weibull")) for at in (0.1, 0.5, 0.95))
    deviation = float(ordered.std(ddof=1)) if len(ordered) > 1 else 0.0
    return int(ordered[0]), tenth, middle, float(ordered.mean()), most, int(ordered[-1]), len(ordered), deviation


def _stats_wa(call: ProcedureCall) -> Rows:
    """Show how many rows commits wrote for each that they updated, oldest first, and all together."""
    state = call.open().state
    counted = []
    for one in reversed(newest_first(state)):
        if one.action is not Action.DELTACOMMIT:
            stats = [stat for found in read_commit_metadata(state, one).stats.values() for stat in found]
            updated, written = (
                sum(getattr(stat, name) or 0 for stat in stats) for name in ("num_update_writes", "num_writes")
            )
            counted.append((str(one.requested_time), updated, written))
    total = ("Total", sum(one[1] for one in counted), sum(one[2] for one in counted))
    rows = ((time, updated, written, _ratio(updated, written)) for time, updated, written in counted)
    return [*call.limited(rows), (*total, _ratio(*total[1:]))]


def _ratio(updated: int, written: int) -> str:
    return f"{written / updated:.2f}" if updated else "0"


def _show_fs_path_detail(call: ProcedureCall) -> Rows:
    """Count directories, files and bytes below a path of a table, or below each of its children."""
    table, inner = _table_above(call, call.text("path"))
    storage = table.state.storage
    below = [(file.path, file.size_bytes) for file in storage.list(inner)]
    places = [inner]
    if call.switch("is_sub"):
        directory = storage.list_directory(inner)
        places = [*directory.directories, *(file.path for file in directory.files)]
    found = [_detail(f"{table.path}/{place}".rstrip("/"), place, below) for place in places]
    if call.switch("sort"):
        found.sort(key=lambda row: int(row[2]), reverse=True)
    return call.limited(found)


def _detail(shown: str, place: str, below: list[tuple[str, int]]) -> tuple[Any, ...]:
    files = [(path, size) for path, size in below if not place or path == place or path.startswith(f"{place}/")]
    parents = {tuple(path.split("/")[:depth]) for path, _ in files for depth in range(1, path.count("/") + 1)}
    start = place.count("/") + 1 if place else 0
    directories = len({one for one in parents if len(one) > start}) + 1
    size = sum(size for _, size in files)
    is_file = [path for path, _ in files] == [place]
    return 0 if is_file else directories, len(files), size, _readable(size), shown, -1, size, -1


def _readable(size: float) -> str:
    """Return bytes with two digits and the unit that fits."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.2f}{unit}"
        size /= 1024
    return f"{size:.2f}{_UNITS[-1]}"


def _show_invalid_parquet(call: ProcedureCall) -> Rows:
    """List the base files below a path whose footer cannot be read."""
    if call.switch("needDelete"):
        raise NotBuilt("pyhudi deletes no file that a commit names; rollback_to_instant takes a commit back")
    table, inner = _table_above(call, call.text("path"))
    partitions, instants = (set(filter(None, call.text(name).split(","))) for name in ("partitions", "instants"))
    files = table.inspect.files()
    files = files.filter(pc.and_(pc.equal(files["kind"], "base"), pc.ends_with(files["path"], _BASE)))
    wrong = (
        (f"{table.path}/{row['path']}",)
        for row in files.select(["partition", "path", "instant"]).to_pylist()
        if row["path"].startswith(f"{inner}/" if inner else "")
        and (not partitions or row["partition"] in partitions)
        and (not instants or row["instant"] in instants)
        and _is_damaged(table.state, row["path"])
    )
    return call.limited(wrong)


def _is_damaged(state: TableState, path: str) -> bool:
    try:
        with state.storage.open_input(path) as source:
            read_footer(source)
    except (CorruptData, pa.ArrowInvalid):
        return True
    except FileMissing:  # cleaned since it was listed
        return False
    return False


def _show_fsview_all(call: ProcedureCall) -> Rows:
    """List every slice of the visible file groups, newest first in each."""
    table = call.open()
    slices = as_file_slices(_slices(call, table, call.text("path_regex")))
    slices.sort(key=lambda one: one.base_instant, reverse=True)
    slices.sort(key=lambda one: (one.group.partition, one.group.file_id))
    return call.limited(
        (*_slice(table.path, one), len(one.logs), sum(log.size_bytes for log in one.logs), _logs(table.path, one, ", "))
        for one in slices
    )


def _show_fsview_latest(call: ProcedureCall) -> Rows:
    """List the newest slice of each visible file group, with its logs and how they compare with its base file."""
    table, regex, partition = call.open(), call.text("path_regex"), call.text("partition_path")
    if _ALL not in {regex, partition}:
        raise InvalidInput("choose path_regex or partition_path; leave one out")
    chosen = regex if regex != _ALL else partition
    return call.limited(_latest(table.path, one) for one in as_file_slices(newest_slices(_slices(call, table, chosen))))


def _latest(url: str, one: FileSlice) -> tuple[Any, ...]:
    size, base = sum(log.size_bytes for log in one.logs), one.base.size_bytes if one.base else 0
    ratios = (size / base, 0.0) if base else (-1.0, -1.0)
    same = [log for log in one.logs if log.instant == one.base_instant]
    others = [log for log in one.logs if log.instant != one.base_instant]
    texts = (_log_texts(url, logs, ",") for logs in (same, others))
    return (*_slice(url, one), len(one.logs), size, size, 0, *ratios, *texts)


def _slices(call: ProcedureCall, table: Table, chosen: str) -> pa.Table:
    """Return the slices that a moment shows in chosen partitions.   Shape: `filegroup.view.SLICES`."""
    if call.switch("include_in_flight"):
        raise NotBuilt("pyhudi shows no files of writes that are not completed; table.inspect.files() lists them")
    state = table.state
    timeline = load_timeline(state)
    index = file_index(state, timeline)
    partitions = [one for one in index.partitions() if chosen == _ALL or fnmatchcase(one, chosen.strip("/"))]
    shown = _until(timeline, call.text("max_instant"), is_included=call.switch("include_max"))
    replaced = replaced_file_groups(shown, partial(read_commit_metadata, state))
    return file_groups(index.files(partitions), shown, replaced)


def _until(timeline: Timeline, last: str, *, is_included: bool) -> Timeline:
    """Cut a timeline to what was requested before a time, or at it too."""
    if not last or is_included:
        return as_of_requested(timeline, InstantTime(last)) if last else timeline
    before = [one.requested_time for one in completed_writes(timeline) if one.requested_time < last]
    return as_of_requested(timeline, max(before, default=InstantTime("0")))


def _slice(url: str, one: FileSlice) -> tuple[Any, ...]:
    path, size = (f"{url}/{one.base.path}", one.base.size_bytes) if one.base else ("", 0)
    return one.group.partition, one.group.file_id, one.base_instant, path, size


def _logs(url: str, one: FileSlice, separator: str) -> str:
    return _log_texts(url, one.logs, separator)


def _log_texts(url: str, logs: Iterable[Any], separator: str) -> str:
    """Return logs as Apache Hudi prints them, the newest first."""
    texts = [f"HoodieLogFile(pathStr={url}/{log.path}, fileSize={log.size_bytes})" for log in logs]
    return f"[{separator.join(reversed(texts))}]"


def _show_file_status(call: ProcedureCall) -> Rows:
    """Return whether a file of a partition is there, or what deleted it."""
    table, name, partition = call.open(), call.text("file"), call.text("partition").strip("/")
    path = f"{partition}/{name}" if partition else name
    try:
        table.state.storage.head(path)
    except FileMissing:
        return [next(_deleted(table.state, partition, name), ("unknown", "", "", "", ""))]
    return [("exist", "", "", "active", f"{table.path}/{path}")]


def _deleted(state: TableState, partition: str, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield what cleans, rollbacks and restores say of a file, the newest first."""
    for one in reversed(load_timeline(state).instants):
        if one.action in _DELETES and one.is_completed:
            for path in _paths(read_service_metadata(state, one), partition, name):
                yield "deleted", one.action, one.requested_time, "active", path
    for old in archived_instants(state, actions=_DELETES):
        for path in _paths(decode_plan(old.metadata, old.path) if old.metadata else {}, partition, name):
            yield "deleted", old.instant.action, old.instant.requested_time, "archived", path


def _paths(said: Mapping[str, Any], partition: str, name: str) -> Iterator[str]:
    """Yield the paths of a file of this name that an action deleted."""
    for files in (
        said.get("partitionMetadata") or {},
        *(one.get("partitionMetadata") or {} for one in _rollbacks(said)),
    ):
        for path in (files.get(partition) or {}).get("successDeleteFiles") or ():
            if path.rsplit("/", 1)[-1] == name:
                yield path


def _rollbacks(said: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for found in (said.get("hoodieRestoreMetadata") or {}).values():
        yield from found


def _are_like(partitions: pa.ChunkedArray, pattern: str) -> pa.Array:
    """Return which partition paths fit a pattern.   Raises: InvalidInput for one of another depth."""
    found = partitions.unique().to_pylist()
    depths = {one.count("/") for one in found}
    if found and pattern.count("/") not in depths:
        raise InvalidInput(
            "the pattern needs as many levels as partitions have", partition_path=pattern, example=found[0]
        )
    return pc.is_in(partitions, pa.array([one for one in found if fnmatchcase(one, pattern)], pa.string()))


def _table_above(call: ProcedureCall, path: str) -> tuple[Table, str]:
    """Open the table that a path is in, and return the path inside of it.

    Raises: TableNotFound where it is in none.
    """
    place = path.rstrip("/")
    while place and not place.endswith(_ROOT_PARTS):
        try:
            table = call.runner.open(place)
        except TableNotFound:
            place = place.rpartition("/")[0]
            continue
        return table, path.rstrip("/")[len(place) :].strip("/")
    raise TableNotFound("the path is in no table; name a table or a directory of one", path=path)


_FILTER: Final = Parameter(name="filter", default="")
_VIEW: Final = (
    PATH,
    Parameter(name="max_instant", default=""),
    Parameter(name="include_max", type=BOOLEAN, default=False),
    Parameter(name="include_in_flight", type=BOOLEAN, default=False),
    Parameter(name="exclude_compaction", type=BOOLEAN, default=False),
    Parameter(name="limit", type=INT, default=10),
    Parameter(name="path_regex", default=_ALL),
    _FILTER,
)
_SLICE: Final = {
    "partition": STRING,
    "file_id": STRING,
    "base_instant": STRING,
    "data_file": STRING,
    "data_file_size": LONG,
    "num_delta_files": LONG,
    "total_delta_file_size": LONG,
}

FILES_SHOWN: Final[tuple[Procedure, ...]] = (
    about_table(
        "show_table_properties",
        "List what hoodie.properties says",
        _show_table_properties,
        columns(key=STRING, value=STRING),
        PATH,
        Parameter(name="limit", type=INT, default=10),
        _FILTER,
    ),
    about_table(
        "stats_file_sizes",
        "Describe file sizes by commit",
        _stats_file_sizes,
        pa.schema(
            [
                ("commit_time", STRING),
                ("min", LONG),
                *((name, DOUBLE) for name in ("10th", "50th", "avg", "95th")),
                ("max", LONG),
                ("num_files", INT),
                ("std_dev", DOUBLE),
            ]
        ),
        Parameter(name="partition_path", default=""),
        Parameter(name="limit", type=INT, default=10),
    ),
    about_table(
        "stats_wa",
        "Show how many rows commits wrote for each that they updated",
        _stats_wa,
        columns(commit_time=STRING, total_upserted=LONG, total_written=LONG, write_amplification_factor=STRING),
        Parameter(name="limit", type=INT, default=10),
    ),
    Procedure(
        name="show_fs_path_detail",
        summary="Count directories, files and bytes below a path of a table",
        parameters=(
            Parameter(name="path", is_required=True),
            Parameter(name="is_sub", type=BOOLEAN, default=False),
            Parameter(name="sort", type=BOOLEAN, default=True),
            Parameter(name="limit", type=INT, default=100),
            _FILTER,
        ),
        columns=pa.schema(
            [
                ("path_num", LONG),
                ("file_num", LONG),
                ("storage_size", LONG),
                ("storage_size(unit)", STRING),
                ("storage_path", STRING),
                ("space_consumed", LONG),
                ("quota", LONG),
                ("space_quota", LONG),
            ]
        ),
        function=_show_fs_path_detail,
    ),
    Procedure(
        name="show_invalid_parquet",
        summary="List base files below a path that cannot be read",
        parameters=(
            Parameter(name="path", is_required=True),
            Parameter(name="parallelism", type=INT, default=100),
            Parameter(name="limit", type=INT, default=100),
            Parameter(name="needDelete", type=BOOLEAN, default=False),
            Parameter(name="partitions", default=""),
            Parameter(name="instants", default=""),
            _FILTER,
        ),
        columns=columns(path=STRING),
        function=_show_invalid_parquet,
    ),
    about_table(
        "show_fsview_all",
        "List every slice of the visible file groups",
        _show_fsview_all,
        columns(**_SLICE, delta_files=STRING),
        *_VIEW,
    ),
    about_table(
        "show_fsview_latest",
        "List the newest slice of each visible file group",
        _show_fsview_latest,
        columns(
            **_SLICE,
            delta_size_compaction_scheduled=LONG,
            delta_size_compaction_unscheduled=LONG,
            delta_to_base_radio_compaction_scheduled=DOUBLE,
            delta_to_base_radio_compaction_unscheduled=DOUBLE,
            delta_files_compaction_scheduled=STRING,
            delta_files_compaction_unscheduled=STRING,
        ),
        *_VIEW,
        Parameter(name="partition_path", default=_ALL),
        Parameter(name="merge", type=BOOLEAN, default=True),
    ),
    about_table(
        "show_file_status",
        "Show whether a file is there, or what deleted it",
        _show_file_status,
        columns(status=STRING, action=STRING, instant=STRING, timeline=STRING, full_path=STRING),
        PATH,
        Parameter(name="partition"),
        Parameter(name="file", is_required=True),
        _FILTER,
    ),
)

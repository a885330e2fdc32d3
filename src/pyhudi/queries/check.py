"""What does not agree in a table: timeline, storage, metadata table, statistics. Start at `check_table`.

Spec: format/timeline 5, 6; format/metadata-table 5.1, 8.3.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptData, FileMissing, HudiError, NotBuilt, Unsupported
from pyhudi.filegroup.file_index import FileIndex, storage_index
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.committed_files import groups_of_rows
from pyhudi.metadata.file_listing import read_files
from pyhudi.metadata.keys import ALL_PARTITIONS, partition_path
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import slice_entries
from pyhudi.metadata.state import MetadataTable, has_other_layout, open_metadata
from pyhudi.metadata.table.upkeep import planned_partitions
from pyhudi.queries.check_filters import find_wrong_filters
from pyhudi.queries.check_indexes import find_wrong_indexes
from pyhudi.queries.check_keys import find_repeated_keys
from pyhudi.queries.check_places import find_wrong_places
from pyhudi.queries.check_statistics import find_wrong_statistics
from pyhudi.queries.committed_files import CommittedFile, Group, committed_files
from pyhudi.queries.display import facts_html
from pyhudi.queries.lost_properties import find_lost_lines
from pyhudi.queries.problems import PLANNED, Problem, ProblemKind, problems_table, rebuilt
from pyhudi.queries.slices import files_of_keys
from pyhudi.state.metadata_table import METADATA_TABLE_PATH, lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import PROPERTIES_PATH, open_state
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.cleans import cleaned_since, files_being_cleaned
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, is_committed, pending_instants, replaced_file_groups

__all__ = ["CheckReport", "check_table"]

_TRIES: Final = 3
_ORPHAN: Final = "no reader sees it; delete it"
_Files = dict[tuple[str, str], int]
"""Sizes by partition path and name."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckReport:
    """What was found: nothing, where the table is as it says it is."""

    problems: pa.Table
    """`kind`, `path`, `expected`, `found`, `what_to_do`, and in `repair` what `Table.repair` takes; a row each."""

    @property
    def ok(self) -> bool:
        """Return whether there is no problem."""
        return not self.problems.num_rows

    @property
    def to_repair(self) -> tuple[str, ...]:
        """Return the partitions of the metadata table that are to be built anew."""
        return tuple(sorted(set(self.problems.column("repair").to_pylist()) - {""}))

    def __str__(self) -> str:
        """Describe it in one line."""
        counts = self.problems.column("kind").value_counts().to_pylist()
        return ", ".join(f"{one['counts']} x {one['values']}" for one in counts) or "no problems"

    def __repr__(self) -> str:
        """Count the kinds; `problems` has the rest."""
        return f"CheckReport({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return facts_html("check", {"problems": self.problems.num_rows, "kinds": str(self)})


def check_table(
    state: TableState, writer_of: Callable[[Instant], tuple[str, str, str]], *, all_keys: bool = False
) -> CheckReport:
    """Compare what timeline, storage and metadata table say of each other, and statistics with the files' own.

    Keys that stand twice, and what secondary and expression indexes lack, are looked for in some file groups, with
    `all_keys` in all.

    `writer_of` tells of a pending instant whether its writer lives, which process that is, and what to do about it.
    Where others commit meanwhile it is done again, a few times.

    Cost: a listing of every directory, a read of each active commit, all of the metadata table, and where statistics
          are kept the footer of each base file; as `find_repeated_keys`.
    """
    for _ in range(_TRIES):
        fresh = open_state(state.storage, state.env)
        timeline = load_timeline(fresh)
        found = [*_unfinished(timeline, writer_of), *_half_built(fresh, timeline), *_lost_lines(fresh, timeline)]
        found += _wrong_files(fresh, timeline, all_rows=all_keys)
        # where files are missing or damaged, that comes first
        found += [] if found else find_repeated_keys(fresh, timeline, all_keys=all_keys)
        if not found or load_timeline(fresh).instants == timeline.instants:
            break
    return CheckReport(problems=problems_table(found))


def _unfinished(timeline: Timeline, writer_of: Callable[[Instant], tuple[str, str, str]]) -> Iterator[Problem]:
    """Find pending instants that no living process works on; plans that wait to be run are no problem."""
    for one in pending_instants(timeline):
        verdict, owner, advice = writer_of(one)
        if verdict not in {"alive", PLANNED}:
            yield Problem(
                kind=ProblemKind.UNFINISHED,
                path=f"{one.requested_time}.{one.action}",
                expected="completed, or a living writer",
                found=f"{one.state}, {verdict}{f', {owner}' if owner else ''}",
                what_to_do=advice,
            )


def _half_built(state: TableState, timeline: Timeline) -> Iterator[Problem]:
    """Find partitions of the metadata table that are being built, and that no plan is going to build."""
    left = sorted({*state.config.partitions_being_built} - planned_partitions(state, timeline))
    if left:
        yield Problem(
            kind=ProblemKind.METADATA_TABLE,
            path=METADATA_TABLE_PATH,
            expected="no partition that is being built",
            found=", ".join(left),
            what_to_do="let Apache Hudi finish it, or write once with hoodie.metadata.enable=false",
        )


def _lost_lines(state: TableState, timeline: Timeline) -> Iterator[Problem]:
    with suppress(HudiError):  # files that cannot be read are found below
        for lost in find_lost_lines(state, timeline):
            yield Problem(
                kind=ProblemKind.PROPERTIES,
                path=PROPERTIES_PATH,
                expected=f"a line {lost.key}, by {lost.shown_by}",
                found=lost.found,
                what_to_do="put the line back as the table was made with it; no write passes until then",
            )


def _wrong_files(state: TableState, timeline: Timeline, *, all_rows: bool) -> Iterator[Problem]:
    index = storage_index(state, timeline)
    partitions = index.partitions()
    listed = index.files(partitions)
    rows = zip(*(listed.column(name).to_pylist() for name in listed.column_names), strict=True)
    stored: _Files = {(where, name): size for where, name, size in rows}
    yield from _missing_files(state, timeline, stored)
    yield from _keys_only(state, index)
    told = None
    if has_other_layout(state):
        text = "one of a later version, as Apache Hudi's run_compaction and run_clustering leave it"
        part = MetadataPartition.FILES
        yield rebuilt(ProblemKind.METADATA_TABLE, METADATA_TABLE_PATH, "one of the table's version", text, part)
    elif lists_files(state.config.metadata_partitions):
        part = MetadataPartition.FILES
        try:
            table = open_metadata(state, timeline)
            told, known = _told(table)
            going = files_being_cleaned(state, timeline)
            yield from _unlike_storage(told, stored, going)
            began = _partitions_of_commits(state, timeline, set(partitions), stored)
            emptied = {where for where, _ in told} - {where for where, _ in told.keys() - going}
            there = known & set(partitions)
            yield from _unlike_partitions((known - emptied) | there, began | there)
            part = MetadataPartition.COLUMN_STATS
            yield from find_wrong_statistics(state, timeline, table, [one for one in told if one in stored])
            part = MetadataPartition.BLOOM_FILTERS
            yield from find_wrong_filters(state, timeline, table, [*told])
            part = MetadataPartition.RECORD_INDEX
            yield from find_wrong_places(state, timeline, table)
            yield from find_wrong_indexes(state, timeline, table, all_rows=all_rows)
        except NotBuilt as error:
            yield Problem(
                kind=ProblemKind.COLUMN_STATISTICS,
                path=METADATA_TABLE_PATH,
                expected="columns that pyhudi reads",
                found=str(error),
                what_to_do="nothing in the metadata table is wrong; read and write this table with Apache Hudi",
            )
        except (CorruptData, FileMissing, Unsupported) as error:
            for name, text in (_unreadable(state, timeline) or {part: str(error)}).items():
                expected = "a metadata table that can be read"
                yield rebuilt(ProblemKind.METADATA_TABLE, METADATA_TABLE_PATH, expected, text, name)
    yield from _unnamed(state, timeline, stored, told)


def _unreadable(state: TableState, timeline: Timeline) -> dict[str, str]:
    """Return what is wrong with each partition of the metadata table whose entries cannot be read.

    Cost: all of the metadata table; asked for where some of it was found to be damaged.
    """
    found: dict[str, str] = {}
    with suppress(CorruptData, FileMissing):
        table = open_metadata(state, timeline)
        found = {name: text for name in table.partitions if (text := _wrong_entries(table, name))}
    return found


def _wrong_entries(table: MetadataTable, partition: str) -> str:
    try:
        for group in groups_of_rows(table, partition):
            slice_entries(table, group)
    except (CorruptData, FileMissing, Unsupported) as error:
        return str(error)
    return ""


def _told(table: MetadataTable) -> tuple[_Files, set[str]]:
    """Return the files and the partitions that the metadata table has."""
    rows = read_files(table)
    columns = (rows.column(name).to_pylist() for name in ("key", "name", "size_bytes"))
    entries = list(zip(*columns, strict=True))
    files = {(partition_path(key), name): size for key, name, size in entries if key != ALL_PARTITIONS}
    return files, {partition_path(name) for key, name, _ in entries if key == ALL_PARTITIONS}


def _missing_files(state: TableState, timeline: Timeline, stored: _Files) -> Iterator[Problem]:
    """Find what commits name and is not there, or has another size than they say.

    That is the newest base file of each file group, and logs: in layout 1 others may append to these. Of a base file
    that a savepoint kept, the commit of a newer one may be archived.
    """
    replaced = replaced_file_groups(timeline, partial(read_commit_metadata, state))
    cleaned = cache(lambda: cleaned_since(state, timeline))
    newest = cache(lambda: _newest_bases(timeline, stored))
    for group, wanted in _named(state, timeline):
        if group in replaced:
            continue
        where, name = group[0], wanted.path.rsplit("/", 1)[-1]
        size, is_log = stored.get((where, name)), name.startswith(".")
        may_grow = is_log and not timeline.layout.logs_name_their_instant
        expected = f"{wanted.size_bytes} bytes, by commit {wanted.instant}"
        if size is None:
            is_old = is_log or newest().get(group, "") > wanted.instant
            if is_old and name in cleaned().get(where, ()):
                continue
            yield Problem(
                kind=ProblemKind.MISSING_FILE,
                path=wanted.path,
                expected=expected,
                found="no such file",
                what_to_do="restore it from a copy, or roll the commit back",
            )
        elif size < wanted.size_bytes or (0 < wanted.size_bytes < size and not may_grow):
            yield Problem(
                kind=ProblemKind.FILE_SIZE,
                path=wanted.path,
                expected=expected,
                found=f"{size} bytes",
                what_to_do="it was cut or written over: restore it from a copy, or roll the commit back",
            )


def _newest_bases(timeline: Timeline, stored: _Files) -> dict[Group, str]:
    """Return the base instant of the newest base file of each file group that a commit wrote."""
    found: dict[Group, str] = {}
    for where, name in stored:
        file = parse_file(PartitionPath(where), FileStatus(path=name, size_bytes=0, modified_ms=0))
        if isinstance(file, BaseFile) and is_committed(timeline, file.instant):
            group = (where, file.file_id)
            found[group] = max(found.get(group, ""), file.instant)
    return found


def _keys_only(state: TableState, index: FileIndex) -> Iterator[Problem]:
    """Find base files whose columns are not in the table."""
    if not state.config.bootstrap_path:
        return
    for path in files_of_keys(index):
        yield Problem(
            kind=ProblemKind.UNREADABLE_FILE,
            path=path,
            expected="all columns",
            found=f"meta columns alone: a bootstrap left the others in {state.config.bootstrap_path}",
            what_to_do="use Apache Hudi for this table; rewritten by it, a file group has all its columns",
        )


def _named(state: TableState, timeline: Timeline) -> Iterator[tuple[Group, CommittedFile]]:
    """Return the newest base file of each file group, and the logs of all."""
    named = committed_files(state, timeline)
    yield from named.bases.items()
    for row in named.logs.to_pylist():
        file = CommittedFile(InstantTime(row["instant"]), row["path"], row["size_bytes"])
        yield (row["partition"], row["file_id"]), file


def _unlike_storage(told: _Files, stored: _Files, going: Collection[tuple[str, str]]) -> Iterator[Problem]:
    """Find files that the metadata table lists and storage does not, or with another size.

    Those that a pending clean takes may be `going`.
    """
    for (where, name), size in told.items():
        found = stored.get((where, name))
        if found is None and (where, name) not in going:
            expected = f"{size} bytes, by the metadata table"
            yield _of_files(ProblemKind.MISSING_FILE, _path(where, name), expected, "no such file")
        elif found is not None and found != size:
            expected = f"{size} bytes, by the metadata table"
            yield _of_files(ProblemKind.FILE_SIZE, _path(where, name), expected, f"{found} bytes")


def _partitions_of_commits(
    state: TableState, timeline: Timeline, partitions: set[PartitionPath], stored: _Files
) -> set[str]:
    """Leave out partitions without committed files: a write makes its own before it commits, and may fail.

    One of which commits named files that are cleaned since may be made again by such a write.
    """
    named = {one.path for _, one in _named(state, timeline)}
    found = set()
    for where, name in stored:
        file = parse_file(PartitionPath(where), FileStatus(path=name, size_bytes=0, modified_ms=0))
        if _path(where, name) in named or (file is not None and is_committed(timeline, file.instant)):
            found.add(where)
    return {one for one in partitions if one in found}


def _unlike_partitions(told: set[str], stored: set[str]) -> Iterator[Problem]:
    for where in sorted(told ^ stored):
        found = "in storage only" if where in stored else "in the metadata table only"
        yield _of_files(ProblemKind.PARTITION, where, "in storage and in the metadata table", found)


def _unnamed(state: TableState, timeline: Timeline, stored: _Files, told: _Files | None) -> Iterator[Problem]:
    """Find files in storage that the metadata table lacks, or that no commit has named."""
    pending = {one.requested_time for one in pending_instants(timeline)}
    by_commits = {wanted.path for _, wanted in _named(state, timeline)}
    for (where, name), size in stored.items():
        if told is not None and (where, name) in told:
            continue
        status = FileStatus(path=name, size_bytes=size, modified_ms=0)
        file = parse_file(PartitionPath(where), status)
        is_told = _path(where, name) in by_commits
        if file is None or (not is_told and (file.instant in pending or _is_untold(state, file))):
            continue
        named = is_told or _is_named(state, timeline, file)
        if named and told is not None:
            found = f"in storage only, {size} bytes"
            yield _of_files(ProblemKind.UNLISTED_FILE, _path(where, name), "in the metadata table", found)
        elif not named:
            yield Problem(
                kind=ProblemKind.ORPHAN_FILE,
                path=_path(where, name),
                expected="a commit that names it",
                found=f"{size} bytes",
                what_to_do=_ORPHAN,
            )


def _of_files(kind: ProblemKind, path: str, expected: str, found: str) -> Problem:
    return rebuilt(kind, path, expected, found, MetadataPartition.FILES)


def _is_untold(state: TableState, file: BaseFile | LogFile) -> bool:
    """Return whether a name does not say which instant wrote the file: logs of layout 1."""
    return isinstance(file, LogFile) and not state.layout.logs_name_their_instant


def _is_named(state: TableState, timeline: Timeline, file: BaseFile | LogFile) -> bool:
    """Return whether a commit has this file; what archived ones named is not looked at."""
    done = timeline.completed.get(file.instant)
    if done is None:
        return is_committed(timeline, file.instant)
    metadata = read_commit_metadata(state, done)
    stats = metadata.stats.get(file.partition, ())
    paths = [path for stat in stats for path in (stat.path, *(stat.cdc_stats or {})) if path]
    return any(path.rsplit("/", 1)[-1] == file.name for path in paths)


def _path(where: str, name: str) -> str:
    return f"{where}/{name}" if where else name

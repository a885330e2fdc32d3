"""Tag a write's rows: find the file groups that hold their keys. Start at `tag`.

Spec: Writer Expectations 2.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.call import WRITE_MEMORY
from pyhudi.commit.sinks import appends_of, stored_slices
from pyhudi.commit.sizing import sizing_of
from pyhudi.commit.write_plan import Appends, sole_files
from pyhudi.engine.api import FILE_INDEX, KEY, Engine, Frame, KeyedRows, Moves, too_many_keys
from pyhudi.engine.frames import LocalFrame
from pyhudi.filegroup.log_spec import has_positions
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, PartitionPath
from pyhudi.filegroup.view import logs_may_add_keys
from pyhudi.index.api import Index
from pyhudi.index.bloom import BLOOM, GLOBAL_BLOOM, by_metadata
from pyhudi.index.record import has_places, told_places
from pyhudi.index.tag import Found, KeysInLogs, find_keys
from pyhudi.index.told_slices import slices_told
from pyhudi.state.merging import merge_spec
from pyhudi.txn.checks import FindKeys
from pyhudi.txn.conflicts import ReadSet

__all__ = [
    "TaggedRows",
    "footer_index",
    "key_search",
    "looks_everywhere",
    "read_set_of",
    "require_room_for_keys",
    "search",
    "tag",
    "untagged",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedRows:
    """Which file slice holds which key of the rows, as far as it was looked up."""

    rows: KeyedRows
    frame: Frame | None
    """As `index.lookup.locate` returns it; None where nothing was looked up."""
    slices: tuple[FileSlice, ...]
    """What FILE_INDEX counts."""
    rows_by_slice: Mapping[int, int]
    rows_by_partition: Mapping[str, int]
    sole: Mapping[PartitionPath, FileSlice]
    """Partitions in which no look-up was needed."""
    index: Index
    hidden: frozenset[int] = frozenset()
    """As `index.tag.Found` has it."""
    finds_hidden: bool = False

    @property
    def hidden_by_slice(self) -> Mapping[int, int]:
        """Return how many keys are found only behind deletes that hide them, by slice."""
        return {number: rows for number, rows in self.rows_by_slice.items() if number in self.hidden}


def untagged(write: WriteContext) -> TaggedRows:
    """Return rows of which no key was looked up."""
    return TaggedRows(
        rows=write.rows,
        frame=None,
        slices=(),
        rows_by_slice={},
        rows_by_partition={},
        sole={},
        index=write.index,
    )


def tag(
    write: WriteContext, *, looks_in_all: bool = False, finds_hidden: bool = True, asks_metadata: bool = False
) -> TaggedRows:
    """Find the file slices that hold the rows' keys; skip partitions whose only base file takes all rows anyway.

    `looks_in_all` skips none: for a write that has to know of every key whether it is stored. With `finds_hidden` a
    key is also found where deletes hide its rows and it is nowhere else: for a write that adds rows. With
    `asks_metadata` files are left out by what the metadata table says of the keys, whatever the index.
    """
    call, index = write.call, write.index
    if index.is_computed and not (write.has_unknown_partitions or looks_in_all):
        return untagged(write)
    with write.phases.step("find keys"):
        sole = {} if looks_in_all else _sole(write)
        slices = [one for one in write.slices if one.group.partition not in sole]
        if not slices:
            return replace(untagged(write), sole=sole)
        find = partial(
            _find,
            write,
            slices=slices,
            sees_deletes=looks_in_all,
            finds_hidden=finds_hidden,
            asks_metadata=asks_metadata,
        )
        found = _in_shares(call.engine, write.rows, find)
        return replace(_counted(write, found, sole, index), finds_hidden=finds_hidden)


def _find(
    write: WriteContext,
    rows: KeyedRows,
    *,
    slices: Sequence[FileSlice],
    sees_deletes: bool,
    finds_hidden: bool,
    asks_metadata: bool,
) -> Found:
    """Look rows up as the table's index does."""
    call, index = write.call, write.index
    columns = merge_spec(call.state.config).ordering if index.moves is Moves.DELETE_AND_INSERT else ()
    if index.is_told and has_places(call.state):
        by_partition = not looks_everywhere(write)
        told = told_places(call.engine, call.state, write.snapshot, rows, slices, by_partition=by_partition)
        if told is not None and not columns:
            return Found(frame=told[0], slices=tuple(slices), rows=told[1])
        if told is not None:
            slices = _holding(slices, told[0])
    if asks_metadata and not index.is_told and len(slices) > 1:
        rows = call.engine.fetch_keys(rows)
        slices = slices if rows.keys is None else slices_told(write.files, rows.keys.column(KEY), slices)
    looking = index.everywhere() if write.has_unknown_partitions else index
    looking = by_metadata(looking, write.files) if looking.asks_metadata else looking
    return search(
        write,
        rows,
        slices,
        looking,
        columns=columns,
        sees_deletes=sees_deletes,
        finds_hidden=finds_hidden,
        numbers_rows=appends_of(write) is not Appends.NOTHING and has_positions(call.settings, call.state.layout),
    )


def _in_shares(engine: Engine, rows: KeyedRows, find: Callable[[KeyedRows], Found]) -> Found:
    """Look rows up at once, or, where their keys do not fit into memory together, in shares."""
    places: dict[tuple[FileGroupId, bool], int] = {}
    slices: list[FileSlice] = []

    def find_some(some: KeyedRows) -> LocalFrame:
        """Look a share up; its FILE_INDEX then counts the slices of all shares."""
        found, numbers = find(some), []
        for number, one in enumerate(found.slices):
            numbers.append(places.setdefault((one.group, number in found.hidden), len(places)))
            slices.extend([one] if len(places) > len(slices) else [])
        known = found.frame.narrow([FILE_INDEX]).column(FILE_INDEX)
        frame: LocalFrame = found.frame.putting({FILE_INDEX: pa.array(numbers, pa.int32()).take(known)})
        return frame

    frame = engine.in_shares(rows, find_some)
    if frame is None:
        return find(rows)
    hidden = frozenset(number for (_, is_hidden), number in places.items() if is_hidden)
    return Found(frame=frame, slices=tuple(slices), rows=rows, hidden=hidden)


def require_room_for_keys(write: WriteContext) -> None:
    """Refuse an upsert whose keys have to be in memory together and do not fit: those of a global index.

    Raises: InvalidInput.
    """
    if write.index.is_global:
        raise too_many_keys(write.call.settings.get(WRITE_MEMORY), sum(write.rows_by_partition.values()))


def _sole(write: WriteContext) -> dict[PartitionPath, FileSlice]:
    """Find the partitions that need no look-up, as all of their rows go to the only base file."""
    can_skip = not (write.index.is_global or write.has_unknown_partitions)
    can_skip = can_skip and appends_of(write) is Appends.NOTHING
    can_skip = can_skip and bool(write.slices)
    return sole_files(write.slices, write.rows_by_partition, sizing_of(write), write.closed) if can_skip else {}


def key_search(write: WriteContext, tagged: TaggedRows) -> FindKeys:
    """Make the function that counts which of the rows' keys are in other commits' files.

    Cost: the footers of the files, and the keys of those files that may hold one.
    """

    def find(files: Sequence[BaseFile]) -> Mapping[BaseFile, int]:
        index = footer_index(write)
        partitions = None if index.is_global else write.rows_by_partition
        near = [file for file in files if partitions is None or file.partition in partitions]
        if not near:
            return {}
        alone = {one.group: one for one in map(_base_alone, near)}
        bases = dict(zip(alone, near, strict=True))
        found = search(write, tagged.rows, list(alone.values()), index)
        counts = write.call.engine.count(found.frame, [FILE_INDEX])
        numbers, rows = counts.column(FILE_INDEX).to_pylist(), counts.column("rows").to_pylist()
        return {bases[found.slices[number].group]: count for number, count in zip(numbers, rows, strict=True)}

    return find


def read_set_of(tagged: TaggedRows) -> ReadSet:
    """Return the file groups in which keys were found: what a serializable write has read."""
    found = (one.group for number, one in enumerate(tagged.slices) if tagged.rows_by_slice.get(number))
    return ReadSet(groups=frozenset(found))


def footer_index(write: WriteContext) -> Index:
    """Return an index that looks where the table's does, but leaves files out by their footers first."""
    return GLOBAL_BLOOM if looks_everywhere(write) else BLOOM


def looks_everywhere(write: WriteContext) -> bool:
    """Return whether the write's keys are looked for in all partitions."""
    return write.index.is_global or write.has_unknown_partitions


def search(
    write: WriteContext,
    rows: KeyedRows,
    slices: Sequence[FileSlice],
    index: Index,
    *,
    columns: Sequence[str] = (),
    sees_deletes: bool = False,
    finds_hidden: bool = False,
    numbers_rows: bool = False,
) -> Found:
    """Look rows up in file slices, as the index does.

    With `sees_deletes`, and where rows of one key may be in several file groups, or new keys in logs, keys that logs
    delete are not found.
    """
    has_all = sees_deletes or index.sees_all_logs or bool(columns)
    ahead = frozenset(one.group for one in slices if logs_may_add_keys(one, write.snapshot))
    merging = KeysInLogs(spec=stored_slices(write), has_all=has_all, ahead=ahead, finds_hidden=finds_hidden)

    def find(some: KeyedRows) -> Found:
        return find_keys(
            engine=write.call.engine,
            storage=write.call.state.storage,
            rows=some,
            slices=slices,
            spec=write.keys,
            index=index,
            columns=columns,
            merging=merging,
            numbers_rows=numbers_rows,
        )

    return _in_shares(write.call.engine, rows, find)


def _holding(slices: Sequence[FileSlice], located: LocalFrame) -> list[FileSlice]:
    """Return the slices in which keys were found."""
    return [slices[number] for number in sorted(set(located.narrow([FILE_INDEX])[FILE_INDEX].to_pylist()))]


def _base_alone(file: BaseFile) -> FileSlice:
    group = FileGroupId(partition=file.partition, file_id=file.file_id)
    return FileSlice(group=group, base_instant=file.instant, base=file)


def _counted(write: WriteContext, found: Found, sole: Mapping[PartitionPath, FileSlice], index: Index) -> TaggedRows:
    frame = write.keep(found.frame)
    counts = write.call.engine.count(frame, [FILE_INDEX])
    by_slice = dict(zip(counts.column(FILE_INDEX).to_pylist(), counts.column("rows").to_pylist(), strict=True))
    by_partition: dict[str, int] = defaultdict(int)
    for number, rows in by_slice.items():
        by_partition[found.slices[number].group.partition] += rows
    return TaggedRows(
        rows=found.rows,
        frame=frame,
        slices=found.slices,
        rows_by_slice=by_slice,
        rows_by_partition=by_partition,
        sole=sole,
        index=index,
        hidden=found.hidden,
    )

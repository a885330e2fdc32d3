"""From keys to where they are, as an index that looks for them has it. Start at `find_keys`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import FILE_INDEX, KEY, LOCATED, PARTITION, Engine, Frame, KeyedRows
from pyhudi.engine.frames import LocalFrame
from pyhudi.filegroup.model import FileGroupId, FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import may_delete
from pyhudi.index.api import Index
from pyhudi.index.hidden_keys import Hiding, add_hidden
from pyhudi.index.live_keys import Suspect, dead_keys, dead_rows
from pyhudi.index.log_keys import are_in_logs
from pyhudi.index.lookup import Located, WantedKeys, locate
from pyhudi.index.merged_keys import MergedSlices
from pyhudi.index.stored_keys import base_scan
from pyhudi.kernels.keys import KeySpec
from pyhudi.storage.api import Storage

__all__ = ["Found", "KeysInLogs", "find_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where keys were found: `frame` as `index.lookup.locate` returns it, its FILE_INDEX counting `slices`."""

    frame: Frame
    slices: tuple[FileSlice, ...]
    rows: KeyedRows
    """The rows, with their keys where the look-up brought them here."""
    hidden: frozenset[int] = frozenset()
    """Places in `slices`, by which keys are found that no reader sees: only rows behind deletes are there of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysInLogs:
    """Which slices hold the keys that their readers see.

    Any other slice holds those of its base file, its logs some of these. Where a key that they delete is found nowhere
    else, a row of it goes back there, as Apache Hudi's writers send it.
    """

    spec: SliceSpec
    has_all: bool
    """False: only slices without a base file, and those of `ahead`."""
    ahead: frozenset[FileGroupId] = frozenset()
    """File groups whose logs have other keys than their base files: see `filegroup.view.logs_may_add_keys`."""
    finds_hidden: bool = False
    """Keys are found, too, of which only rows are there that deletes hide."""

    def concerns(self, one: FileSlice) -> bool:
        """Return whether a slice is merged to be looked into."""
        return bool(one.logs) and (self.has_all or one.base is None or one.group in self.ahead)

    @property
    def may_hide(self) -> bool:
        """Return whether keys that deletes hide are looked for, and can be there."""
        return self.finds_hidden and self.spec.merge.orders_log


def find_keys(
    *,
    engine: Engine,
    storage: Storage,
    rows: KeyedRows,
    slices: Sequence[FileSlice],
    spec: KeySpec,
    index: Index,
    columns: Sequence[str] = (),
    merging: KeysInLogs | None = None,
    numbers_rows: bool = False,
) -> Found:
    """Look up which of the slices holds which key, and, with `numbers_rows`, in which row where that is seen.

    Cost: reads the key column of the base files that may hold a key; of merged slices the logs, too, and of others
          where several of a partition have a key. A base file is not read where the logs on it have all keys that are
          wanted of its partition, and no other file group is there.
    """
    together = [] if merging is None else [one for one in slices if merging.concerns(one)]
    rows, logged = _in_logs(engine, storage, rows, slices, merging)
    elsewhere = {one.group for one in (*together, *logged)}
    kept = [one for one in slices if one.base is not None and one.group not in elsewhere]
    by_partition = not index.is_global
    rows, kept = index.narrow(engine, storage, rows, kept, by_partition)
    scanned = [base_scan(one.base) for one in kept if one.base is not None]
    merged = MergedSlices(slices=tuple(together), spec=merging.spec) if merging is not None else None
    found = locate(
        engine,
        storage,
        rows,
        scanned,
        spec,
        by_partition=by_partition,
        columns=columns,
        merged=merged,
        numbers_rows=numbers_rows,
    )
    places = (*kept, *together)
    if merging is not None and by_partition:
        found = replace(found, frame=_settled(engine, storage, found.frame, kept, merging.spec))
    if logged:
        found = replace(found, frame=_with_located(found, logged, len(places)))
        places = (*places, *logged)
    if merging is None or not merging.may_hide:
        return Found(frame=found.frame, slices=places, rows=found.rows)
    hiding = Hiding(slices=tuple(one for one in together if one.logs), first=len(places), spec=merging.spec)
    frame = add_hidden(engine, storage, found, hiding, by_partition=by_partition)
    slices = (*places, *hiding.slices)
    return Found(frame=frame, slices=slices, rows=found.rows, hidden=frozenset(range(len(places), len(slices))))


def _settled(engine: Engine, storage: Storage, found: Frame, slices: Sequence[FileSlice], spec: SliceSpec) -> Frame:
    """Leave out base files whose logs delete a key that is elsewhere; these slices are the first that were looked up.

    Cost: where what was found is here, the keys that several base files have, of those with logs; else the keys of the
          base files on which logs lie that delete any.
    """
    logged = [(index, one) for index, one in enumerate(slices) if one.logs]
    if not logged or len(slices) < 2:
        return found
    if not isinstance(found, LocalFrame):
        checks = engine.run(partial(may_delete, storage=storage, spec=spec), [one for _, one in logged])
        places = [place for place, may in zip(logged, checks, strict=True) if may]
        dead = engine.rows(partial(dead_rows, storage=storage, spec=spec), places, LOCATED)
        return engine.settle(found, dead) if places else found
    suspects = _suspects(found.narrow(LOCATED.names), dict(logged))
    tables = engine.run(partial(dead_keys, storage=storage, spec=spec), suspects)
    deleted = pa.concat_tables([LOCATED.empty_table(), *tables])
    return engine.settle(found, LocalFrame.of(deleted)) if deleted.num_rows else found


def _suspects(located: pa.Table, logged: Mapping[int, FileSlice]) -> list[Suspect]:
    """Gather the keys of each slice with logs that other slices of its partition have, too."""
    homes = located.group_by([KEY, PARTITION]).aggregate([([], "count_all")])
    repeated = homes.filter(pc.greater(homes["count_all"], 1)).drop_columns(["count_all"])
    if not repeated.num_rows:
        return []
    several = located.join(repeated, [KEY, PARTITION], join_type="inner")
    files = several[FILE_INDEX]
    return [
        Suspect(index=index, slice=one, keys=pc.unique(several.filter(pc.equal(files, index))[KEY]))
        for index, one in logged.items()
        if pc.any(pc.equal(files, index)).as_py()
    ]


def _in_logs(
    engine: Engine, storage: Storage, rows: KeyedRows, slices: Sequence[FileSlice], merging: KeysInLogs | None
) -> tuple[KeyedRows, list[FileSlice]]:
    """Find slices that are the only ones of their partition, and whose logs have all keys that are wanted of it."""
    count = Counter(one.group.partition for one in slices)
    alone = [one for one in slices if one.base is not None and one.logs and count[one.group.partition] == 1]
    if merging is None:
        return rows, []
    alone = [one for one in alone if not merging.concerns(one)]
    if not alone:
        return rows, []
    rows = engine.fetch_keys(rows)
    if rows.keys is None:
        return rows, []
    keys = WantedKeys.of(rows.keys, by_partition=True)
    look = partial(are_in_logs, keys=keys, storage=storage, spec=merging.spec)
    return rows, [one for one, has_all in zip(alone, engine.run(look, alone), strict=True) if has_all]


def _with_located(found: Located, logged: Sequence[FileSlice], first: int) -> Frame:
    """Add the keys of slices whose logs have them all; the first of the slices has this place in the list."""
    assert isinstance(found.frame, LocalFrame), "keys that are here are looked up from here"
    assert found.rows.keys is not None
    keys, table = WantedKeys.of(found.rows.keys, by_partition=True), found.frame.table()
    tables = [table]
    for index, one in enumerate(logged, first):
        mine = keys.in_partition(one.group.partition)
        places = [pa.repeat(one.group.partition, len(mine)), pa.repeat(pa.scalar(index, pa.int32()), len(mine))]
        tables.append(pa.table([mine, *places], schema=LOCATED))
    return LocalFrame.of(pa.concat_tables(tables, promote_options="default"))

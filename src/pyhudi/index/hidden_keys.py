"""Keys whose rows lie hidden behind deletes in the logs of merged file slices, and are found nowhere else.

A row of such a key belongs into the same log: anywhere else there would be two once a compaction takes the delete
alone. Start at `add_hidden`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, LOCATED, Engine, Frame
from pyhudi.engine.frames import LocalFrame
from pyhudi.filegroup.graves import hidden_keys
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import may_delete
from pyhudi.index.lookup import Located, WantedKeys
from pyhudi.storage.api import Storage

__all__ = ["Hiding", "add_hidden", "find_hidden", "hidden_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiding:
    """File slices whose logs may hide rows of the keys that are looked up."""

    slices: tuple[FileSlice, ...]
    first: int
    """What FILE_INDEX counts the first of them as."""
    spec: SliceSpec

    @property
    def numbered(self) -> list[tuple[int, FileSlice]]:
        """Return the slices with their places in the list."""
        return list(enumerate(self.slices, self.first))


def add_hidden(engine: Engine, storage: Storage, found: Located, hiding: Hiding, *, by_partition: bool) -> Frame:
    """Add the places where keys of the rows are hidden in their own partition, of keys that were not found.

    A key that is hidden in several slices is found in the first of them. Without `by_partition`, where a key may have
    been found in other partitions, only keys that are in this process are looked for.

    Cost: the keys and the ordering columns of logs that have deletes.
    """
    if not hiding.slices:
        return found.frame
    if found.rows.keys is not None and isinstance(found.frame, LocalFrame):
        keys = WantedKeys.of(found.rows.keys, by_partition=True)
        find = partial(find_hidden, keys=keys, storage=storage, spec=hiding.spec)
        hidden = pa.concat_tables([LOCATED.empty_table(), *engine.run(find, hiding.numbered)])
        if not by_partition:
            hidden = hidden.filter(pc.invert(pc.is_in(hidden[KEY], value_set=found.frame.narrow([KEY])[KEY])))
        if not hidden.num_rows:
            return found.frame
        together = pa.concat_tables([found.frame.table(), hidden], promote_options="default")
        return engine.settle(LocalFrame.of(together), LocalFrame.of(hidden))
    if not by_partition:
        return found.frame
    checks = engine.run(partial(may_delete, storage=storage, spec=hiding.spec), hiding.slices)
    tasks = [one for one, may in zip(hiding.numbered, checks, strict=True) if may]
    if not tasks:
        return found.frame
    everything = engine.rows(partial(hidden_rows, storage=storage, spec=hiding.spec), tasks, LOCATED)
    places = engine.match_keys(everything, found.rows, by_partition=True)
    wider = engine.conform(places, engine.schema(found.frame))
    return engine.settle(engine.union([found.frame, wider]), places)


def find_hidden(numbered: tuple[int, FileSlice], *, keys: WantedKeys, storage: Storage, spec: SliceSpec) -> pa.Table:
    """Find which of some keys the logs of one slice hide, given its place in the list.   Shape: LOCATED."""
    index, one = numbered
    wanted = keys.in_partition(one.group.partition)
    found = hidden_keys(one, wanted, storage=storage, spec=spec) if len(wanted) else wanted
    return _located(index, one, found)


def hidden_rows(numbered: tuple[int, FileSlice], *, storage: Storage, spec: SliceSpec) -> Iterator[pa.RecordBatch]:
    """Yield every key that the logs of one slice hide, given its place in the list.   Shape: LOCATED."""
    index, one = numbered
    yield from _located(index, one, hidden_keys(one, storage=storage, spec=spec)).to_batches()


def _located(index: int, one: FileSlice, keys: pa.Array) -> pa.Table:
    places = [pa.repeat(one.group.partition, len(keys)), pa.repeat(pa.scalar(index, pa.int32()), len(keys))]
    return pa.table([keys, *places], schema=LOCATED)

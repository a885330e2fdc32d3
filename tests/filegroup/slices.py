"""File slices of random histories, and what a reader that holds rows in a dict makes of them."""

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.building import trip
from tests.filegroup.test_writer import LAYOUT, TASK, keyed, spec_at

from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.filegroup.rows import base_file_rows
from pyhudi.filegroup.write_task import Sink
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.state.layout import LAYOUTS
from pyhudi.storage.api import FileStatus
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import InstantTime

BY_EVENT = MergeSpec(ordering=("ts",), is_event_time=True)
BY_COMMIT = MergeSpec(ordering=("ts",))
EVERYTHING = VisibleInstants(completed=frozenset(), hidden=frozenset(), first_write="9", until="", is_named=True)
_ROWS_A_GROUP = 7
_FORMAT = "hoodie.logfile.data.block.format"


def instant(number):
    return InstantTime(f"{20260101000000000 + number}")


@dataclass
class Change:
    """A row, or a delete of a key; one without ordering value wins whatever is there."""

    key: str
    ts: int
    fare: float = 0.0
    is_delete: bool = False
    is_unordered: bool = False


@dataclass
class History:
    """A base file, and delta commits on top of it."""

    merge: MergeSpec = BY_EVENT
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    stored: dict = field(default_factory=dict)
    """The rows of the base file in order, by key."""
    commits: list = field(default_factory=list)
    base: BaseFile | None = None
    logs: list = field(default_factory=list)
    layout: object = LAYOUT

    def write_base(self, *changes):
        self.stored = {one.key: one for one in changes}
        rows = keyed(*(trip(one.key, ts=one.ts, fare=one.fare) for one in changes))
        name = f"{TASK.file_id}_0-0-0_{instant(0)}.parquet"
        sink = pa.BufferOutputStream()
        whole = base_file_rows(rows, self.layout, instant(0), 0, name)
        pq.write_table(whole, sink, row_group_size=_ROWS_A_GROUP, use_dictionary=["rider", "city"])
        data = sink.getvalue().to_pybytes()
        self.storage.put(f"sf/{name}", data)
        self.base = BaseFile(
            partition=PartitionPath("sf"),
            file_id=TASK.file_id,
            write_token="0-0-0",
            instant=instant(0),
            extension=".parquet",
            size_bytes=len(data),
        )

    def append(self, *changes, has_positions=False, block_format="parquet"):
        number = len(self.commits) + 1
        settings = Settings.of({_FORMAT: block_format, "hoodie.write.record.positions": has_positions})
        logs = log_spec(settings, LAYOUTS[9], self.layout, "trips")
        spec = spec_at(instant(number), layout=self.layout, logs=logs, merge=self.merge)
        task = replace(TASK, sink=Sink.LOG, base=self.base, logs=tuple(self.logs), base_instant=instant(0))
        for status in append_changes(self.storage, spec, task, self._changes(changes, has_positions)):
            found = FileStatus(path=status.path, size_bytes=status.size_bytes, modified_ms=0)
            self.logs.append(parse_file(PartitionPath("sf"), found))
        self.commits.append([one for one in changes if not one.is_delete] + [one for one in changes if one.is_delete])

    def _changes(self, changes, has_positions):
        rows = keyed(*(trip(one.key, ts=one.ts, fare=one.fare) for one in changes))
        places = {key: place for place, key in enumerate(self.stored)}
        return RowChanges(
            keys=rows["_hoodie_record_key"],
            rows=rows,
            is_delete=np.array([one.is_delete for one in changes], np.bool_),
            is_unordered=np.array([one.is_unordered for one in changes], np.bool_),
            positions=np.array([places.get(one.key, -1) for one in changes], np.int64) if has_positions else None,
        )

    @property
    def slice(self):
        group = FileGroupId(partition=PartitionPath("sf"), file_id=TASK.file_id)
        return FileSlice(group=group, base_instant=instant(0), base=self.base, logs=tuple(self.logs))

    def rows(self):
        """Return (key, ts, fare, commit) of the rows that are left, sorted."""
        entries, graves = {}, {}
        for number, changes in enumerate(self.commits, start=1):
            for one in changes:
                known = entries.get(one.key)
                if known is None or self._replaces(one, known[0]):
                    if known is not None and known[0].is_delete:
                        graves.setdefault(one.key, []).append(known[0])
                    entries[one.key] = (one, number)
        merged = {key: (one, 0) for key, one in self.stored.items()}
        for key, (one, number) in entries.items():
            tried = [one, *graves.get(key, ())]
            if key not in merged or any(self._wins(change, merged[key][0]) for change in tried):
                merged[key] = (one, number)
        left = ((one, number) for one, number in merged.values() if not one.is_delete)
        return sorted((one.key, one.ts, one.fare, str(instant(number))) for one, number in left)

    def _replaces(self, one, known):
        if not self.merge.is_event_time:
            return True
        if one.is_delete and known.is_unordered:
            return False
        return one.is_unordered or known.is_unordered or one.ts >= known.ts

    def _wins(self, one, stored):
        return not self.merge.is_event_time or one.is_unordered or one.ts >= stored.ts


def random_history(seed, merge, *, has_positions=None):
    """Make a history of some commits; with positions only where all changes are of stored rows."""
    random_ = random.Random(seed)
    history = History(merge=merge)
    keys = [f"k{number:03}" for number in range(60)]
    has_base = has_positions or random_.random() < 0.85
    if has_base:
        history.write_base(*(Change(key, random_.randint(1, 9), float(number)) for number, key in enumerate(keys[:40])))
    chosen = keys[:40] if has_positions else keys
    for number in range(random_.randint(1, 5)):
        changes = [
            _change(random_, key, 100.0 * (number + 1)) for key in random_.sample(chosen, random_.randint(1, 25))
        ]
        history.append(*changes, has_positions=bool(has_positions), block_format=random_.choice(["avro", "parquet"]))
    return history


def _change(random_, key, fare):
    ts, kind = random_.randint(1, 9), random_.random()
    if kind < 0.7:
        return Change(key, ts, fare + random_.randint(0, 9))
    return Change(key, ts, is_delete=True, is_unordered=kind > 0.85)

"""What a task writes is held against tables in `services.compact.test_log_compact`; here is what is no table's."""

from dataclasses import replace

import pytest
from tests.building import TIMELINE_LAYOUTS, TRIPS
from tests.filegroup.slices import BY_COMMIT, BY_EVENT, Change, History, instant, random_history
from tests.filegroup.test_reader import read, rows_of, spec_of
from tests.filegroup.test_writer import spec_at

from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.model import FileGroupId, FileId, FileSlice, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.write_task import WriteSpec
from pyhudi.formats.parquet import parquet_options
from pyhudi.kernels.keys import KeyGenerator, KeySpec
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.state.layout import LAYOUTS
from pyhudi.storage.api import FileStatus
from pyhudi.storage.memory import MemoryStorage
from pyhudi.tasks.compact import SliceTask
from pyhudi.tasks.log_compact import compact_logs
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import timeline_of


def test_logs_without_a_block_that_counts_give_no_file():
    layout = RowLayout(schema=TRIPS, key_spec=KeySpec(generator=KeyGenerator.SIMPLE, record_key=("uuid",)))
    instants = VisibleInstants.of(timeline_of([], TIMELINE_LAYOUTS[2]), {})
    reads = SliceSpec(layout=layout, merge=MergeSpec(), instants=instants, columns=tuple(layout.file_schema.names))
    time, storage = InstantTime("20260101000000001"), MemoryStorage()
    writes = WriteSpec(instant=time, layout=layout, merge=MergeSpec(), parquet=parquet_options(Settings()), bloom=None)
    group = FileGroupId(partition=PartitionPath("p"), file_id=FileId("f"))
    task = SliceTask(slice=FileSlice(group=group, base_instant=time, base=None), write_token="0-0-0")
    assert compact_logs(task, storage=storage, reads=reads, writes=writes) == []
    assert storage.list("") == []


def put_together(history, number=90, **said):
    """Compact the logs of a history's slice; the block that comes of it stands for all others."""
    reads = replace(spec_of(history.merge), columns=tuple(history.layout.file_schema.names))
    logs = log_spec(Settings.of(said), LAYOUTS[9], history.layout, "trips")
    writes = spec_at(instant(number), layout=history.layout, logs=logs, merge=history.merge)
    task = SliceTask(slice=history.slice, write_token="0-0-0")
    for status in compact_logs(task, storage=history.storage, reads=reads, writes=writes):
        found = FileStatus(path=status.path, size_bytes=status.size_bytes, modified_ms=0)
        history.logs.append(parse_file(PartitionPath("sf"), found))


@pytest.mark.parametrize("merge", [BY_EVENT, BY_COMMIT], ids=["event", "commit"])
@pytest.mark.parametrize("has_positions", [False, True])
def test_what_is_put_together_is_read_as_it_was(merge, has_positions):
    for seed in range(30):
        history = random_history(seed, merge, has_positions=has_positions)
        before = rows_of(read(history))
        put_together(history)
        assert rows_of(read(history)) == before == history.rows(), seed


def test_a_deleted_row_does_not_come_back_by_what_is_put_together():
    history = History()
    history.write_base(Change("a", 28, 28.0), Change("b", 28, 1.0))
    history.append(Change("a", 0, is_delete=True, is_unordered=True))
    history.append(Change("a", 13, 13.0))
    put_together(history)
    history.append(Change("a", 14, 14.0), Change("b", 27, 27.0))
    assert [row[:3] for row in rows_of(read(history))] == [("a", 14, 14.0), ("b", 28, 1.0)]


def test_a_task_that_runs_again_writes_what_its_first_log_lacks():
    history = History()
    history.write_base(Change("a", 28, 28.0))
    history.append(Change("a", 0, is_delete=True, is_unordered=True))
    history.append(Change("a", 13, 13.0))
    before = history.logs[:]
    put_together(history, **{"hoodie.logfile.max.size": 1})
    first, second = history.logs[2:]
    history.storage.delete(second.path)
    history.logs = before[:]
    put_together(history, **{"hoodie.logfile.max.size": 1})
    assert history.logs[2:] == [first, second]
    assert [row[:3] for row in rows_of(read(history))] == [("a", 13, 13.0)]

"""What a task writes is held against whole tables in `tests.actions.test_log_compact`; here is what is no table's."""

from tests.building import TRIPS

from pyhudi.actions.tasks.compact import SliceTask
from pyhudi.actions.tasks.log_compact import compact_logs
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.model import FileGroupId, FileId, FileSlice, PartitionPath
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.writer import WriteSpec
from pyhudi.formats.parquet import parquet_options
from pyhudi.kernels.keys import KeyGenerator, KeySpec
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import timeline_of


def test_logs_without_a_block_that_counts_give_no_file():
    layout = RowLayout(schema=TRIPS, key_spec=KeySpec(generator=KeyGenerator.SIMPLE, record_key=("uuid",)))
    instants = VisibleInstants.of(timeline_of([], 2))
    reads = SliceSpec(layout=layout, merge=MergeSpec(), instants=instants, columns=tuple(layout.file_schema.names))
    time, storage = InstantTime("20260101000000001"), MemoryStorage()
    writes = WriteSpec(instant=time, layout=layout, merge=MergeSpec(), parquet=parquet_options(Settings()), bloom=None)
    group = FileGroupId(partition=PartitionPath("p"), file_id=FileId("f"))
    task = SliceTask(slice=FileSlice(group=group, base_instant=time, base=None), write_token="0-0-0")
    assert compact_logs(task, storage=storage, reads=reads, writes=writes) == []
    assert storage.list("") == []

from functools import partial

import pytest
from tests.new_states import new_state

from pyhudi.commit.tag import TaggedRows
from pyhudi.commit.work import FilesWork, RowsWork, WriteWork, group_of
from pyhudi.commit.write_plan import WritePlan
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice
from pyhudi.filegroup.write_task import FileTask
from pyhudi.index.api import Recheck
from pyhudi.index.choice import index_of
from pyhudi.options import Settings

STORED = BaseFile(partition="a", file_id="f0", write_token="0-0-0", instant="1", extension=".parquet", size_bytes=1)


def task(number, base=None):
    instant = None if base is None else "1"
    return FileTask(
        partition="a", file_id=f"f{number}", write_token=f"{number}-0-0", number=number, base=base, base_instant=instant
    )


def routed(kind, *files):
    index = index_of(Settings({"hoodie.index.type": kind}), new_state().config)
    tagged = TaggedRows(rows=None, frame=None, slices=(), rows_by_slice={}, rows_by_partition={}, sole={}, index=index)
    plan = WritePlan(files=files, routes=None, tasks_count=1, new_rows={}, update_rows={})
    return RowsWork(tagged=tagged, plan=plan, task=partial(iter), recheck=Recheck.NOTHING)


@pytest.mark.parametrize(("kind", "numbers"), [("SIMPLE", [0]), ("BUCKET", [0, 1])])
def test_new_file_groups_are_of_no_other_writer_unless_they_are_buckets(kind, numbers):
    files = (task(0, STORED), task(1))
    assert WriteWork(rows=routed(kind, *files)).groups == {group_of(files[number]) for number in numbers}


def test_file_groups_that_are_rewritten_or_replaced_are_other_writers_too():
    group = FileGroupId(partition="a", file_id="f9")
    replaced = FileSlice(group=group, base_instant="1", base=STORED)
    work = WriteWork(files=FilesWork(files=(task(0, STORED),), task=group_of, reads=None), replaced=(replaced,))
    assert work.groups == {group, FileGroupId(partition="a", file_id="f0")}
    assert work.replaced_ids == {"a": ("f9",)}
    assert WriteWork().replaced_ids is None

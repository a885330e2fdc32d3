import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import CorruptData
from pyhudi.services.compact.planned_slices import slices_of_plan
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import CompactionOperation


@pytest.fixture
def table():
    table = TableBuilder().create(version=9)
    table.upsert([trip("k")])
    return table


def operation(base, *logs):
    file_id, _, instant = base.removesuffix(".parquet").split("_")
    return CompactionOperation(partition="sf", file_id=file_id, base_instant=instant, base=base, logs=logs)


def base_of(table):
    [path] = [one.path for one in table.state.storage.list("") if one.path.endswith(".parquet")]
    return path.rsplit("/", 1)[-1]


def log(file_id, instant):
    return f".{file_id}_{instant}.log.1_0-0-0"


def test_a_plan_s_slices_have_the_files_that_it_names_and_their_sizes(table):
    base = base_of(table)
    file_id, instant = base.split("_")[0], table.latest_instant
    table.state.storage.put(f"sf/{log(file_id, instant)}", b"log")
    table.state.storage.put(f"sf/{log(file_id, '20991231000000000')}", b"later")
    planned = operation(base, log(file_id, instant))
    [found] = slices_of_plan(table.state, load_timeline(table.state), [planned])
    assert (found.base.name, found.base_instant) == (base, instant)
    assert [(one.name, one.size_bytes) for one in found.logs] == [(planned.logs[0], 3)]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_log_that_is_gone_may_have_been_rolled_back_but_not_if_it_was_committed(table, is_committed):
    base = base_of(table)
    time = table.latest_instant if is_committed else "20991231000000000"
    planned = operation(base, log(base.split("_")[0], time))
    timeline = load_timeline(table.state)
    if is_committed:
        with pytest.raises(CorruptData, match="planned compaction is gone"):
            slices_of_plan(table.state, timeline, [planned])
    else:
        assert slices_of_plan(table.state, timeline, [planned])[0].logs == ()


def test_a_base_file_that_is_gone_is_never_passed_over(table):
    base = base_of(table)
    table.state.storage.delete(f"sf/{base}")
    with pytest.raises(CorruptData, match="planned compaction is gone"):
        slices_of_plan(table.state, load_timeline(table.state), [operation(base)])

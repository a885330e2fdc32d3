import pyarrow as pa
import pytest
from tests.building import TRIPS, TableBuilder, trip
from tests.golden.catalogue import kept_tables

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.options import Settings
from pyhudi.services.cluster.plan import FILE_BYTES, operations_of, plan_clustering, rules_of
from pyhudi.services.cluster.strategy import Execution
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import decode_clustering_plan, encode_clustering_plan

SORT = "hoodie.clustering.plan.strategy.sort.columns"
APART = {"hoodie.parquet.small.file.limit": 0}


def planned(table, **options):
    return plan_clustering(table.state, load_timeline(table.state), Settings.of(options))


def filled(table_type="cow", **said):
    """Make a table with two file groups in each of two partitions."""
    table = TableBuilder(table_type).create(**said)
    for at in range(2):
        table.insert([trip(f"{at}-sf", fare=at), trip(f"{at}-rio", "rio", fare=at)], options=APART)
    return table


def test_groups_are_of_one_partition_and_say_what_they_read():
    table = filled()
    plan = planned(table)
    assert [{one.partition for one in group.slices} for group in plan.groups] == [{"rio"}, {"sf"}]
    sizes = {status.path: status.size_bytes for status in table.state.storage.list("")}
    for group in plan.groups:
        read = sum(sizes[f"{one.partition}/{one.base}"] for one in group.slices)
        assert (len(group.slices), group.outputs_count, group.metrics[FILE_BYTES]) == (2, 1, read)
    assert plan.strategy == Execution.SORT_AND_SIZE.class_name


def test_a_plan_takes_no_more_groups_than_it_may():
    assert len(planned(filled(), **{"hoodie.clustering.plan.strategy.max.num.groups": 1}).groups) == 1


def test_slices_that_are_planned_already_are_left_out():
    table = filled()
    table.cluster(schedule=True)
    assert planned(table) is None
    merged = filled("mor")
    merged.upsert([trip("0-sf", ts=2)])
    merged.compact(schedule=True)
    assert [one.partition for one in planned(merged).slices] == ["rio", "rio"]


def test_logs_are_part_of_a_plan():
    table = filled("mor")
    table.upsert([trip("0-sf", ts=2)])
    [with_logs] = [one for one in planned(table).slices if one.logs]
    [operation] = [one for group in planned(table).groups for one in operations_of(group) if one.logs]
    assert (operation.partition, operation.base, operation.logs) == ("sf", with_logs.base, with_logs.logs)
    assert with_logs.base.endswith(f"_{operation.base_instant}.parquet")


def test_columns_that_cannot_be_sorted_by_are_refused():
    for columns in ("nothing", "fare,nothing"):
        with pytest.raises(InvalidInput, match="cannot be ordered"):
            planned(filled(), **{SORT: columns})
    assert planned(filled(), **{SORT: "fare,_hoodie_record_key"}).params[SORT] == "fare,_hoodie_record_key"


def test_a_list_is_nothing_to_order_rows_by():
    table = TableBuilder().create(schema=pa.schema([*TRIPS, pa.field("stops", pa.list_(pa.string()))]))
    for uuid in "ab":
        table.insert([{**trip(uuid), "stops": ["x"]}], options=APART)
    with pytest.raises(InvalidInput, match="cannot be ordered") as error:
        planned(table, **{SORT: "fare,stops"})
    assert error.value.values["nested"] == ["stops"]


def test_under_the_bucket_index_each_file_group_is_sorted_for_itself():
    bucket = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
    builder = TableBuilder()
    table = builder.create()
    table.upsert([trip(str(at)) for at in range(20)], options=bucket)
    table = builder.reopen(table)
    rules = rules_of(table.state, Settings.of({SORT: "fare"}))
    assert rules.keeps_files
    plan = planned(table, **{SORT: "fare"})
    assert (len(plan.groups), plan.strategy) == (2, Execution.SINGLE_FILE.class_name)
    with pytest.raises(OptionError, match="bucket index"):
        planned(table)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_plan_of_apache_hudi_is_read_and_ours_reads_the_same(tmp_path, version):
    [golden] = [one for one in kept_tables() if one.name == f"cow_clustering_requested-v{version}"]
    root = golden.unpack(tmp_path)
    [path] = [one for one in root.rglob("*.requested") if "cluster" in one.name or "replace" in one.name]
    plan = decode_clustering_plan(path.read_bytes(), path.name)
    assert plan.keeps_commits
    assert [len(group.slices) for group in plan.groups] == [2]
    assert all(one.base and (root / one.partition / one.base).exists() for one in plan.slices)
    again = encode_clustering_plan(plan, {one.partition: f"file:{root}" for one in plan.slices}, b"0" * 16)
    assert decode_clustering_plan(again, "again") == plan

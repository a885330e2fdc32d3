import pytest
from tests.new_states import new_state

from pyhudi.errors import OptionError
from pyhudi.filegroup.model import FileGroupId
from pyhudi.options import Settings
from pyhudi.timeline.codec import ClusteringSlice, CompactionOperation
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.conflicts import (
    ConflictRules,
    ReadSet,
    Resolution,
    can_retry_in_place,
    files_with_new_keys,
    find_overlaps,
    find_read_changes,
    footprint,
    place_of,
    plan_footprint,
    resolution_for,
    rules_for,
)

STRATEGY = "hoodie.write.lock.conflict.resolution.strategy"


def touching(operation=WriteOperation.UPSERT, replaced=None, is_log=False, **groups):
    prefix = "." if is_log else ""
    stats = {
        partition: tuple(WriteStat(file_id=file_id, path=f"{partition}/{prefix}{file_id}") for file_id in ids.split())
        for partition, ids in groups.items()
    }
    return footprint(CommitMetadata(operation=operation, stats=stats, replaced=replaced))


def find_conflict(ours, others, resolution=Resolution.SIMPLE, time="20", **rules):
    return next(iter(find_overlaps(time, ours, others, ConflictRules(resolution=resolution, **rules))), None)


def groups_of(overlap):
    return [(group.partition, group.file_id) for group in overlap.groups]


def test_writes_of_different_file_groups_do_not_conflict():
    assert find_conflict(touching(a="1 2", b="3"), {"10": touching(a="4"), "11": touching(b="1")}) is None


def test_the_same_file_id_in_another_partition_is_another_group():
    assert find_conflict(touching(a="1"), {"10": touching(b="1")}) is None


def test_two_writes_of_one_file_group_conflict():
    overlap = find_conflict(touching(a="1 2"), {"10": touching(a="3"), "11": touching(a="2", b="9")})
    assert (overlap.instant, groups_of(overlap)) == ("11", [("a", "2")])


def test_the_first_conflicting_instant_is_named():
    assert find_conflict(touching(a="1"), {"12": touching(a="1"), "11": touching(a="1")}).instant == "11"


def test_writing_a_group_that_was_replaced_meanwhile_conflicts():
    overlap = find_conflict(touching(a="1"), {"10": touching(WriteOperation.CLUSTER, {"a": ["1"]}, a="7")})
    assert groups_of(overlap) == [("a", "1")]


def test_replacing_a_partition_that_was_written_meanwhile_conflicts():
    ours = touching(WriteOperation.DELETE_PARTITION, {"a": ["1"]})
    overlap = find_conflict(ours, {"10": touching(a="new")})
    assert (overlap.groups, overlap.partitions) == ((), ("a",))


@pytest.mark.parametrize("operation", [WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE])
def test_overwriting_a_partition_that_was_empty_conflicts_with_rows_that_came_meanwhile(operation):
    assert find_conflict(touching(operation, {}, a="1"), {"10": touching(a="new")}).partitions == ("a",)


def test_overwriting_the_whole_table_conflicts_with_every_write():
    ours = touching(WriteOperation.INSERT_OVERWRITE_TABLE, {"a": ["1"]}, a="2")
    assert find_conflict(ours, {"10": touching(z="new")}).partitions == ("z",)
    assert find_conflict(ours, {"10": touching()}) is None


def test_an_insert_beside_an_overwrite_that_came_first_does_not_conflict():
    assert find_conflict(touching(a="new"), {"10": touching(WriteOperation.INSERT_OVERWRITE, {"a": ["1"]})}) is None


def test_a_footprint_names_every_group_it_writes_or_replaces():
    found = touching(WriteOperation.INSERT_OVERWRITE, {"b": ["2"]}, a="1")
    assert found.groups == {FileGroupId(partition="a", file_id="1"), FileGroupId(partition="b", file_id="2")}
    assert found.partitions == {"a", "b"}


def group(partition, file_id):
    return FileGroupId(partition=partition, file_id=file_id)


def test_every_conflicting_instant_is_found_with_both_sides_groups():
    others = {"11": touching(a="1 2"), "12": touching(b="1"), "13": touching(a="2 9")}
    found = find_overlaps("20", touching(a="1 2 3"), others, ConflictRules())
    assert [one.instant for one in found] == ["11", "13"]
    assert found[1].their_groups == (group("a", "2"),)


# by which rule


def test_under_the_bucket_rule_one_bucket_is_one_place():
    ours, theirs = touching(a="00000003-mine-0"), {"10": touching(a="00000003-theirs-0")}
    assert find_conflict(ours, theirs) is None
    overlap = find_conflict(ours, theirs, Resolution.BUCKET)
    assert overlap.groups == (group("a", "00000003-mine-0"),)
    assert overlap.their_groups == (group("a", "00000003-theirs-0"),)
    assert find_conflict(touching(b="00000003-mine-0"), theirs, Resolution.BUCKET) is None


@pytest.mark.parametrize(
    ("options", "resolution"),
    [
        ({}, Resolution.SIMPLE),
        ({"hoodie.index.type": "BUCKET"}, Resolution.BUCKET),
        ({STRATEGY: "PreferWriterConflictResolutionStrategy"}, Resolution.PREFER_WRITER),
        ({STRATEGY: f"org.apache.hudi.client.transaction.{Resolution.SIMPLE}"}, Resolution.SIMPLE),
        ({STRATEGY: Resolution.SIMPLE.value, "hoodie.index.type": "BUCKET"}, Resolution.SIMPLE),
    ],
)
def test_the_rule_is_chosen_by_its_hudi_name_or_by_the_index(options, resolution):
    assert resolution_for(Settings(options), new_state().config) is resolution


def test_an_unknown_rule_is_refused():
    with pytest.raises(OptionError, match="cannot be read"):
        resolution_for(Settings({STRATEGY: "org.example.AlwaysRight"}), new_state().config)


def test_places_of_different_buckets_differ():
    assert place_of(group("a", "00000001-x"), Resolution.BUCKET) != place_of(
        group("a", "00000002-x"), Resolution.BUCKET
    )
    assert place_of(group("a", "1"), Resolution.SIMPLE) != place_of(group("a", "2"), Resolution.SIMPLE)


# services


APPEND, REWRITE = touching(a="1", is_log=True), touching(a="1")
COMPACTION = touching(WriteOperation.COMPACT, a="1")
LOG_COMPACTION = touching(WriteOperation.LOG_COMPACT, is_log=True, a="1")
CLUSTERING = touching(WriteOperation.CLUSTER, {"a": ["1"]}, a="9")
EARLIER, LATER = "10", "30"
LAYOUTS = pytest.mark.parametrize("layout", [1, 2])


def meets(ours, theirs, at, layout=2, **rules):
    """Ask of two actions on one file group, ours requested at 20."""
    return find_conflict(ours, {at: theirs}, has_completion_slicing=layout == 2, **rules) is not None


@pytest.mark.parametrize(
    ("layout", "service", "is_conflict_if_planned_later"),
    [(2, COMPACTION, False), (1, COMPACTION, True), (2, LOG_COMPACTION, True), (1, LOG_COMPACTION, True)],
)
def test_appends_stand_beside_a_compaction_planned_before_them_or_where_completion_tells_the_slice(
    layout, service, is_conflict_if_planned_later
):
    assert not meets(APPEND, service, EARLIER, layout)
    assert meets(APPEND, service, LATER, layout) is is_conflict_if_planned_later
    assert not meets(service, APPEND, LATER, layout)
    assert meets(service, APPEND, EARLIER, layout) is is_conflict_if_planned_later


@LAYOUTS
@pytest.mark.parametrize("at", [EARLIER, LATER])
@pytest.mark.parametrize("other", [REWRITE, COMPACTION, LOG_COMPACTION, CLUSTERING])
@pytest.mark.parametrize("service", [COMPACTION, LOG_COMPACTION, CLUSTERING])
def test_a_service_beside_another_rewriting_of_the_group_conflicts(service, other, at, layout):
    assert meets(service, other, at, layout)
    assert meets(other, service, at, layout)


@LAYOUTS
@pytest.mark.parametrize("at", [EARLIER, LATER])
@pytest.mark.parametrize("other", [APPEND, REWRITE])
def test_two_writes_of_a_group_conflict_whether_they_append_or_not(other, at, layout):
    assert meets(APPEND, other, at, layout)
    assert meets(other, APPEND, at, layout)


@LAYOUTS
def test_writes_that_do_not_block_append_to_one_group_where_completion_tells_the_slice(layout):
    assert meets(APPEND, APPEND, EARLIER, layout, is_non_blocking=True) is (layout == 1)
    assert meets(APPEND, REWRITE, EARLIER, layout, is_non_blocking=True)
    assert meets(REWRITE, APPEND, EARLIER, layout, is_non_blocking=True)


def test_rules_follow_the_options_and_the_tables_version():
    assert rules_for(Settings({}), new_state(9)) == ConflictRules()
    assert not rules_for(Settings({}), new_state(6)).has_completion_slicing
    assert rules_for(Settings({"hoodie.index.type": "BUCKET"}), new_state(9)).resolution is Resolution.BUCKET
    mode = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
    assert rules_for(Settings(mode), new_state(9)).is_non_blocking


def test_a_clustering_takes_log_files_away():
    clustering = {"10": touching(WriteOperation.CLUSTER, {"a": ["1"]}, a="9")}
    overlap = find_conflict(touching(a="1", is_log=True), clustering)
    assert groups_of(overlap) == [("a", "1")]
    assert overlap.is_replaced


def test_a_compactions_plan_names_what_it_touches():
    named = (("a", "1"), ("", "2"))
    plan = [CompactionOperation(partition=at, file_id=one, base_instant="", base=None, logs=()) for at, one in named]
    found = plan_footprint(Action.COMPACTION, plan)
    assert found.groups == {group("a", "1"), group("", "2")}
    assert find_conflict(touching(a="1", is_log=True), {"10": found}) is None


def test_a_clusterings_plan_names_what_it_touches():
    slices = [ClusteringSlice(partition=where, file_id=name, base=None) for where, name in (("a", "1"), ("b", "2"))]
    found = plan_footprint(Action.CLUSTERING, slices)
    assert found.replaced == found.groups == {group("a", "1"), group("b", "2")}


@pytest.mark.parametrize("action", [Action.CLUSTERING, Action.COMPACTION])
def test_an_empty_plan_touches_nothing(action):
    assert plan_footprint(action, ()).groups == frozenset()


# what can be written again


def can_retry(ours, others, time="20"):
    return can_retry_in_place(time, find_overlaps(time, ours, others, ConflictRules()))


def test_groups_that_earlier_writers_rewrote_can_be_written_again():
    assert can_retry(touching(a="1 2"), {"10": touching(a="1"), "11": touching(a="2")})


def test_what_a_later_writer_wrote_cannot():
    assert not can_retry(touching(a="1 2"), {"10": touching(a="1"), "21": touching(a="2")})
    assert not can_retry(touching(a="1"), {"20": touching(a="1")})


def test_what_is_gone_or_overwritten_cannot():
    assert not can_retry(touching(a="1"), {"10": touching(WriteOperation.CLUSTER, {"a": ["1"]})})
    assert not can_retry(touching(WriteOperation.INSERT_OVERWRITE, {}, a="1"), {"10": touching(a="2")})


def test_no_conflict_is_nothing_to_retry():
    assert not can_retry(touching(a="1"), {"10": touching(a="2")})


# what was read


def test_a_group_that_was_read_must_not_change():
    reads = ReadSet(groups=frozenset({group("a", "1")}))
    assert find_read_changes(reads, {"10": touching(a="2"), "11": touching(b="1")}) == ()
    [overlap] = find_read_changes(reads, {"10": touching(a="1")})
    assert (overlap.instant, overlap.groups) == ("10", (group("a", "1"),))


def test_a_partition_that_was_read_must_not_get_rows():
    reads = ReadSet(covers=lambda partition: partition == "a")
    assert find_read_changes(reads, {"10": touching(b="new")}) == ()
    assert find_read_changes(reads, {"10": touching(a="new")})[0].partitions == ("a",)


# where new keys may be


def stat(path, inserts, file_id="g"):
    return WriteStat(file_id=file_id, path=path, num_inserts=inserts, file_size_in_bytes=7)


def names(*commits):
    """Return (instant, operation, stats) as what is looked into: file names with what inserted."""
    concurrent = {
        time: CommitMetadata(operation=operation, stats={"a": tuple(stats)}) for time, operation, stats in commits
    }
    return {file.path: instant for file, instant in files_with_new_keys(concurrent).items()}


FIRST, SECOND = "20260101000000001", "20260101000000002"


def file_of(time, file_id="g"):
    return f"a/{file_id}_0-0-0_{time}.parquet"


@pytest.mark.parametrize(("inserts", "is_looked_into"), [(1, True), (None, True), (0, False)])
def test_only_files_that_got_rows_are_looked_into(inserts, is_looked_into):
    found = names((FIRST, WriteOperation.UPSERT, [stat(file_of(FIRST), inserts)]))
    assert found == ({file_of(FIRST): FIRST} if is_looked_into else {})


def test_of_a_group_that_several_wrote_to_the_newest_file_is_looked_into():
    first = (FIRST, WriteOperation.UPSERT, [stat(file_of(FIRST), 1), stat(file_of(FIRST, "h"), 0, "h")])
    second = (SECOND, WriteOperation.UPSERT, [stat(file_of(SECOND), 0)])
    assert names(first, second) == {file_of(SECOND): FIRST}


@pytest.mark.parametrize("operation", [WriteOperation.CLUSTER, WriteOperation.COMPACT])
def test_services_bring_no_keys(operation):
    assert names((FIRST, operation, [stat(file_of(FIRST), 5)])) == {}


def test_a_stat_without_a_data_file_is_passed_over():
    assert names((FIRST, WriteOperation.UPSERT, [stat(None, 1), stat("a/readme", 1)])) == {}

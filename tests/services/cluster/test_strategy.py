import pytest

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, LogFile
from pyhudi.kernels.curves import Curve
from pyhudi.options import Settings
from pyhudi.services.cluster.strategy import (
    Execution,
    Grouping,
    PartitionFilter,
    clustered_partitions,
    clustering_groups,
    clustering_rules,
    execution_of,
)

PLAN = "hoodie.clustering.plan.strategy."
RUN_PACKAGE = "org.apache.hudi.client.clustering.run.strategy."


def rules(hour=0, **more):
    """Name options by what follows the prefix of plan strategies, or by their whole keys."""
    keys = {key if key.startswith("hoodie.") else PLAN + key: value for key, value in more.items()}
    return clustering_rules(Settings.of(keys), hour)


def file_slice(name, size, logs=0):
    base = BaseFile(
        partition="p", file_id=name, write_token="0-0-0", instant="1", extension=".parquet", size_bytes=size
    )
    log = LogFile(partition="p", file_id=name, instant="1", version=1, write_token="0-0-0", suffix="", size_bytes=1)
    group = FileGroupId(partition="p", file_id=name)
    return FileSlice(group=group, base_instant="1", base=base if size else None, logs=(log,) * logs)


def names(slices, found):
    return [
        "".join(one.group.file_id for one in group) + str(count) for group, count in clustering_groups(slices, found)
    ]


MANY = [file_slice("a", 10), file_slice("b", 30), file_slice("c", 20), file_slice("d", 40)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["dbca1"]),
        ({"small.file.limit": 40}, ["bca1"]),
        ({"small.file.limit": 30}, ["ca1"]),
        ({"small.file.limit": 10}, []),
        ({"target.file.max.bytes": 30}, ["dbca4"]),
        ({"max.bytes.per.group": 50}, ["bc1"]),
        ({"max.bytes.per.group": 50, "sort.columns": "x"}, ["d1", "bc1", "a1"]),
        ({"max.bytes.per.group": 50, "target.file.max.bytes": 25}, ["d2", "bc2"]),
        ({"max.bytes.per.group": 50, "sort.columns": "x", "single.group.clustering.enabled": "false"}, ["bc1"]),
        ({"class": "SparkSingleFileSortPlanStrategy", "sort.columns": "x"}, ["a1", "b1", "c1", "d1"]),
    ],
)
def test_slices_are_put_together_by_size(more, expected):
    assert names(MANY, rules(**more)) == expected


def test_a_slice_alone_is_written_anew_where_that_changes_something():
    assert names([file_slice("a", 10)], rules()) == []
    assert names([file_slice("a", 10, logs=1)], rules()) == ["a1"]
    assert names([file_slice("a", 10)], rules(**{"sort.columns": "x"})) == ["a1"]


def test_slices_of_logs_alone_count_as_files_of_the_wanted_size():
    only_logs = [file_slice(name, 0, logs=1) for name in "ab"]
    assert names(only_logs, rules(**{"target.file.max.bytes": 10})) == ["ab2"]
    assert names(only_logs, rules(**{"target.file.max.bytes": 10, "max.bytes.per.group": 10})) == ["a1", "b1"]


DAYS = ["2026/11/20", "2026/11/21", "2026/11/22", "2026/11/23"]
MODE = "hoodie.clustering.plan.partition.filter.mode"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "0123"),
        ({MODE: "RECENT_DAYS"}, "32"),
        ({MODE: "recent_days", "daybased.lookback.partitions": 1, "daybased.skipfromlatest.partitions": 2}, "1"),
        ({MODE: "SELECTED_PARTITIONS", "cluster.begin.partition": DAYS[1], "cluster.end.partition": DAYS[2]}, "12"),
        ({MODE: "SELECTED_PARTITIONS", "cluster.begin.partition": DAYS[2]}, "23"),
        ({MODE: "DAY_ROLLING"}, "2"),
        ({"partition.regex.pattern": ".*/2[01]"}, "01"),
        ({"partition.regex.pattern": "2[01]"}, ""),
        ({"partition.selected": f"{DAYS[3]}, {DAYS[0]}"}, "03"),
        ({"class": "SparkRecentDaysClusteringPlanStrategy"}, "32"),
        ({"class": "SparkSelectedPartitionsClusteringPlanStrategy", "cluster.end.partition": DAYS[0]}, "0"),
    ],
)
def test_partitions_are_chosen_by_the_filter(more, expected):
    found = clustered_partitions(DAYS, rules(hour=2, **more))
    assert "".join(str(DAYS.index(one)) for one in found) == expected


@pytest.mark.parametrize("engine", ["Spark", "Java", "Flink"])
def test_strategies_are_known_by_their_class_names(engine):
    plan = f"org.apache.hudi.client.clustering.plan.strategy.{engine}SizeBasedClusteringPlanStrategy"
    assert rules(**{"class": plan}).grouping is Grouping.BY_SIZE
    assert execution_of(f"{RUN_PACKAGE}{engine}SortAndSizeExecutionStrategy") is Execution.SORT_AND_SIZE
    assert execution_of(Execution.SINGLE_FILE.class_name) is Execution.SINGLE_FILE


def test_a_strategy_that_is_not_known_is_refused_by_name():
    with pytest.raises(OptionError, match="SparkConsistentBucketClusteringPlanStrategy"):
        rules(**{"class": "SparkConsistentBucketClusteringPlanStrategy"})
    with pytest.raises(NotBuilt, match="does not execute"):
        execution_of(f"{RUN_PACKAGE}SingleSparkJobConsistentHashingExecutionStrategy")


def test_layouts_have_the_names_of_apache_hudi():
    key = "hoodie.layout.optimize.strategy"
    assert [rules(**{key: name}).curve for name in ("linear", "z-order", "ZORDER", "hilbert")] == [
        Curve.LINEAR, Curve.ZORDER, Curve.ZORDER, Curve.HILBERT,
    ]  # fmt: skip
    assert rules(**{key: "zorder", "sort.columns": "a, b"}).params == {PLAN + "sort.columns": "a,b", key: "z-order"}
    assert rules().partition_filter is PartitionFilter.NONE
    with pytest.raises(OptionError):
        rules(**{key: "spiral"})


def test_copying_chunks_and_sorting_contradict_each_other():
    with pytest.raises(OptionError, match="cannot be sorted"):
        rules(
            **{
                "hoodie.clustering.execution.strategy.class": RUN_PACKAGE
                + "SparkBinaryCopyClusteringExecutionStrategy",
                "sort.columns": "x",
            }
        )

from datetime import date

import pytest

from pyhudi.errors import OptionError
from pyhudi.options import Settings
from pyhudi.services.compact.strategy import Metric, chosen_operations, chosen_partitions, compaction_rules
from pyhudi.timeline.codec import CompactionOperation

TODAY = date(2026, 11, 22)
STRATEGY = "hoodie.compaction.strategy"
PACKAGE = "org.apache.hudi.table.action.compact.strategy."
DAYS = ["2026/11/10", "2026/11/21", "2026/11/22", "2026/11/23"]


def rules(strategy=None, **more):
    named = {} if strategy is None else {STRATEGY: strategy}
    return compaction_rules(
        Settings.of(named | {f"hoodie.compaction.{key}": value for key, value in more.items()}), TODAY
    )


def operation(name, partition="p", *, files=1, size=1, io_mb=0):
    metrics = {Metric.LOG_FILES: float(files), Metric.LOG_BYTES: float(size), Metric.IO_MB: float(io_mb)}
    return CompactionOperation(partition=partition, file_id=name, base_instant="1", base=None, logs=(), metrics=metrics)


def names(operations, found):
    return "".join(one.file_id for one in chosen_operations(operations, found))


MANY = [operation("a", files=3, size=10, io_mb=4), operation("b", files=1, size=30, io_mb=4), operation("c", files=2)]


@pytest.mark.parametrize(
    ("strategy", "more", "expected"),
    [
        (None, {}, "bac"),
        (None, {"target.io": 4}, "b"),
        (None, {"target.io": 5}, "ba"),
        (None, {"logfile.size.threshold": 10}, "ba"),
        ("LogFileNumBasedCompactionStrategy", {}, "acb"),
        (PACKAGE + "LogFileNumBasedCompactionStrategy", {"logfile.num.threshold": 2, "target.io": 5}, "ac"),
        ("BoundedIOCompactionStrategy", {"target.io": 8}, "ab"),
        ("BoundedIOCompactionStrategy", {"target.io": 0}, "a"),
        ("UnBoundedCompactionStrategy", {"target.io": 1}, "abc"),
    ],
)
def test_slices_are_ordered_and_taken_until_the_budget_is_used_up(strategy, more, expected):
    assert names(MANY, rules(strategy, **more)) == expected


@pytest.mark.parametrize("style", ["{0}/{1}/{2}", "year={0}/month={1}/day={2}", "day={0}-{1}-{2}"])
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("DayBasedCompactionStrategy", "32"),
        ("BoundedPartitionAwareCompactionStrategy", "321"),
        ("UnBoundedPartitionAwareCompactionStrategy", "0"),
    ],
)
def test_days_are_taken_newest_first_however_partitions_spell_them(style, strategy, expected):
    partitions = [style.format(*day.split("/")) for day in DAYS]
    found = rules(strategy, **{"daybased.target.partitions": 2})
    assert chosen_partitions(partitions, found) == [partitions[int(one)] for one in expected]
    assert names([operation(str(at), one) for at, one in enumerate(partitions)], found) == expected


def test_a_regular_expression_is_found_anywhere_in_a_partition_s_path():
    found = rules("PartitionRegexBasedCompactionStrategy", **{"partition.path.regex": "f$|^r"})
    assert chosen_partitions(["city=sf", "rio", "ohio"], found) == ["city=sf", "rio"]
    assert names([operation("a", "ohio")], found) == "a", "partitions are chosen before anything is listed"


def test_each_strategy_of_a_chain_sees_what_the_one_before_it_left():
    chain = "DayBasedCompactionStrategy, " + PACKAGE + "LogFileSizeBasedCompactionStrategy"
    found = rules(chain, **{"daybased.target.partitions": 2, "logfile.size.threshold": 2})
    operations = [operation(str(at), day, size=at) for at, day in enumerate(DAYS)]
    assert names(operations, found) == "32"
    assert names(operations[1:3], found) == "2"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({STRATEGY: "com.example.Mine"}, "LogFileSizeBasedCompactionStrategy"),
        ({STRATEGY: "CompositeCompactionStrategy"}, "LogFileSizeBasedCompactionStrategy"),
        ({STRATEGY: "PartitionRegexBasedCompactionStrategy"}, "needs a regular expression"),
        ({"hoodie.compaction.partition.path.regex": "("}, "not a regular expression"),
    ],
)
def test_what_names_no_strategy_is_refused(options, says):
    with pytest.raises(OptionError, match=says):
        compaction_rules(Settings.of(options), TODAY)


@pytest.mark.parametrize("partition", ["city=sf", "", "2026/13/01"])
def test_a_strategy_by_days_refuses_partitions_that_are_none(partition):
    with pytest.raises(OptionError, match="goes by days") as refused:
        chosen_partitions([partition], rules("DayBasedCompactionStrategy"))
    assert refused.value.values["partition"] == partition

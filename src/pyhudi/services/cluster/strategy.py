"""Which file slices one clustering takes, how they are grouped, and into how many files their rows go.

Pure. Names, defaults and rules are Apache Hudi's. Start at `clustering_groups`.

Spec: format/timeline 10.6.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.kernels.curves import Curve
from pyhudi.options import MOST, Settings, between, one_of, option, regular_expression

__all__ = [
    "LAYOUT",
    "PLAN_STRATEGY",
    "SAMPLED_ROWS",
    "SORT_COLUMNS",
    "ClusteringRules",
    "Execution",
    "Grouping",
    "PartitionFilter",
    "clustered_partitions",
    "clustering_groups",
    "clustering_rules",
    "columns_of",
    "execution_of",
]

_PACKAGE: Final = "org.apache.hudi.client.clustering"
_MB: Final = 1 << 20


class Grouping(StrEnum):
    """How a plan puts file slices together, by the plan strategies' class names without engine and `Strategy`."""

    BY_SIZE = "SizeBasedClusteringPlan"
    """Small files of a partition, as many as the bytes of a group allow."""
    SINGLE_FILE = "SingleFileSortPlan"
    """Each file slice alone; it keeps its file id."""
    BY_COPY = "StreamCopyClusteringPlan"
    """As BY_SIZE."""


class Execution(StrEnum):
    """How a group's rows become files, by the execution strategies' class names without engine and `Strategy`."""

    SORT_AND_SIZE = "SortAndSizeExecution"
    SINGLE_FILE = "SingleFileSortExecution"
    """The rows of a file slice are sorted into the next base file of its file group."""
    BINARY_COPY = "BinaryCopyClusteringExecution"
    """Column chunks are copied as they are, where they can be."""
    STREAM_COPY = "StreamCopyClusteringExecution"
    """As BINARY_COPY."""

    @property
    def class_name(self) -> str:
        """Return the class as Apache Hudi's Spark names it."""
        return f"{_PACKAGE}.run.strategy.Spark{self}Strategy"


class PartitionFilter(StrEnum):
    """Which partitions a clustering looks into."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    """The newest ones."""
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    """Those from one to another, in the order of their paths."""
    DAY_ROLLING = "DAY_ROLLING"
    """A part of them in each hour of the day: every one once a day."""


_ENGINES: Final = ("Spark", "Flink", "Java", "")
_OLD_PLANS: Final = {
    "RecentDaysClusteringPlanStrategy": PartitionFilter.RECENT_DAYS,
    "SelectedPartitionsClusteringPlanStrategy": PartitionFilter.SELECTED_PARTITIONS,
}
"""Class names that are now a partition filter."""


def _short(text: str) -> str:
    """Take a class name without its package and its engine."""
    name = text.strip().rsplit(".", 1)[-1]
    return next(name.removeprefix(engine) for engine in _ENGINES if name.startswith(engine))


def _plan_strategy(text: str) -> str:
    short = _short(text)
    if short in _OLD_PLANS:
        return short
    return Grouping(short.removesuffix("Strategy"))


def _execution_strategy(text: str) -> str:
    return Execution(_short(text).removesuffix("Strategy"))


def columns_of(text: str) -> tuple[str, ...]:
    """Take names that are separated by commas."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def execution_of(class_name: str) -> Execution:
    """Return how the plan of any writer is to be executed.   Raises: NotBuilt."""
    try:
        return Execution(_execution_strategy(class_name))
    except ValueError as error:
        raise NotBuilt(
            "pyhudi does not execute clusterings by this strategy; let Apache Hudi run the plan, or take it back with"
            " table.rollback(instant)",
            strategy=class_name,
        ) from error


def _curve(text: str) -> str:
    return Curve(text.strip().lower().replace("-", ""))


PLAN_STRATEGY: Final = option(
    "hoodie.clustering.plan.strategy.class",
    Grouping.BY_SIZE.value,
    "Class name of what chooses the file slices that a clustering puts together.",
    parse=_plan_strategy,
)
EXECUTION_STRATEGY: Final = option(
    "hoodie.clustering.execution.strategy.class",
    Execution.SORT_AND_SIZE.value,
    "Class name of how a clustering writes: sorted (SparkSortAndSizeExecutionStrategy), each file for itself "
    "(SparkSingleFileSortExecutionStrategy), or column chunks copied (SparkBinaryCopyClusteringExecutionStrategy). "
    "Without sort columns chunks are copied wherever they can be.",
    parse=_execution_strategy,
)
SORT_COLUMNS: Final = option(
    "hoodie.clustering.plan.strategy.sort.columns",
    "",
    "Columns by which a clustering orders rows, separated by commas.",
)
LAYOUT: Final = option(
    "hoodie.layout.optimize.strategy",
    Curve.LINEAR.value,
    "Order of the rows that a clustering writes: linear, z-order or hilbert.",
    parse=_curve,
)
SAMPLED_ROWS: Final = option(
    "hoodie.layout.optimize.build.curve.sample.size",
    200_000,
    "Rows of a group by which z-order and hilbert learn how values are spread.",
    parse=between(1, MOST),
)
SMALL_FILE_LIMIT: Final = option(
    "hoodie.clustering.plan.strategy.small.file.limit",
    300 * _MB,
    "Units: bytes. Base files that are smaller are put together by a clustering.",
    parse=between(0, 2**63 - 1),
)
TARGET_FILE_BYTES: Final = option(
    "hoodie.clustering.plan.strategy.target.file.max.bytes",
    1024 * _MB,
    "Units: bytes. Size of the base files that a clustering writes.",
    parse=between(1, 2**63 - 1),
)
MOST_GROUP_BYTES: Final = option(
    "hoodie.clustering.plan.strategy.max.bytes.per.group",
    2048 * _MB,
    "Units: bytes. Base files that a clustering sorts together; a group is sorted in memory.",
    parse=between(1, 2**63 - 1),
)
MOST_GROUPS: Final = option(
    "hoodie.clustering.plan.strategy.max.num.groups", 30, "Groups of one clustering.", parse=between(1, MOST)
)
TAKES_SINGLE: Final = option(
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    True,
    "A file slice that is alone in its group is clustered where it is to be sorted, cut or freed of its logs.",
)
PARTITION_FILTER: Final = option(
    "hoodie.clustering.plan.partition.filter.mode",
    PartitionFilter.NONE.value,
    "Which partitions a clustering looks into: NONE (all), RECENT_DAYS, SELECTED_PARTITIONS or DAY_ROLLING.",
    parse=one_of(*PartitionFilter),
)
LOOKBACK: Final = option(
    "hoodie.clustering.plan.strategy.daybased.lookback.partitions",
    2,
    "RECENT_DAYS: the newest so many partitions.",
    parse=between(0, MOST),
)
SKIPPED: Final = option(
    "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
    0,
    "RECENT_DAYS: so many of the newest partitions are left out.",
    parse=between(0, MOST),
)
BEGIN_PARTITION: Final = option(
    "hoodie.clustering.plan.strategy.cluster.begin.partition", "", "SELECTED_PARTITIONS: the first partition path."
)
END_PARTITION: Final = option(
    "hoodie.clustering.plan.strategy.cluster.end.partition", "", "SELECTED_PARTITIONS: the last partition path."
)
PARTITION_REGEX: Final = option(
    "hoodie.clustering.plan.strategy.partition.regex.pattern",
    "",
    "Only partitions whose whole path matches are clustered.",
    parse=regular_expression,
)
PARTITIONS: Final = option(
    "hoodie.clustering.plan.strategy.partition.selected",
    "",
    "Only these partitions are clustered, separated by commas.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringRules:
    """How a clustering chooses and writes. Units: bytes."""

    grouping: Grouping
    execution: Execution
    partition_filter: PartitionFilter
    sort_columns: tuple[str, ...]
    curve: Curve
    small_file_bytes: int
    target_file_bytes: int
    most_group_bytes: int
    most_groups: int
    takes_single: bool
    lookback: int
    skipped: int
    begin_partition: str
    end_partition: str
    partition_regex: str
    partitions: frozenset[str]
    """Empty: any."""
    hour: int
    """Of the day, for DAY_ROLLING."""

    @property
    def keeps_files(self) -> bool:
        """Return whether every file slice is written for itself, under its file id."""
        return self.grouping is Grouping.SINGLE_FILE or self.execution is Execution.SINGLE_FILE

    @property
    def params(self) -> dict[str, str]:
        """Return what a plan tells the process that runs it."""
        if not self.sort_columns:
            return {}
        return {SORT_COLUMNS.key: ",".join(self.sort_columns), LAYOUT.key: _HUDI_NAMES[self.curve]}


_HUDI_NAMES: Final = {Curve.LINEAR: "linear", Curve.ZORDER: "z-order", Curve.HILBERT: "hilbert"}


def clustering_rules(settings: Settings, hour: int = 0) -> ClusteringRules:
    """Read the options.

    Raises: OptionError where copying chunks and sorting rows are both asked for, or one strategy is by file and the
            other is not.
    """
    named = settings.get(PLAN_STRATEGY)
    old = _OLD_PLANS.get(named)
    rules = ClusteringRules(
        grouping=Grouping.BY_SIZE if old is not None else Grouping(named),
        execution=Execution(settings.get(EXECUTION_STRATEGY)),
        partition_filter=old or PartitionFilter(settings.get(PARTITION_FILTER)),
        sort_columns=columns_of(settings.get(SORT_COLUMNS)),
        curve=Curve(settings.get(LAYOUT)),
        small_file_bytes=settings.get(SMALL_FILE_LIMIT),
        target_file_bytes=settings.get(TARGET_FILE_BYTES),
        most_group_bytes=settings.get(MOST_GROUP_BYTES),
        most_groups=settings.get(MOST_GROUPS),
        takes_single=settings.get(TAKES_SINGLE),
        lookback=settings.get(LOOKBACK),
        skipped=settings.get(SKIPPED),
        begin_partition=settings.get(BEGIN_PARTITION),
        end_partition=settings.get(END_PARTITION),
        partition_regex=settings.get(PARTITION_REGEX),
        partitions=frozenset(columns_of(settings.get(PARTITIONS))),
        hour=hour,
    )
    if rules.sort_columns and rules.execution in {Execution.BINARY_COPY, Execution.STREAM_COPY}:
        raise OptionError(
            "column chunks that are copied cannot be sorted; leave one of these options out",
            keys=[EXECUTION_STRATEGY.key, SORT_COLUMNS.key],
        )
    return rules


def clustered_partitions(partitions: Iterable[PartitionPath], rules: ClusteringRules) -> list[PartitionPath]:
    """Return the partitions that are looked into, before any is listed."""
    pattern = re.compile(rules.partition_regex)
    found = [
        one
        for one in sorted(partitions)
        if (not rules.partitions or one in rules.partitions) and (not rules.partition_regex or pattern.fullmatch(one))
    ]
    return _FILTERS[rules.partition_filter](found, rules)


def clustering_groups(slices: Sequence[FileSlice], rules: ClusteringRules) -> list[tuple[tuple[FileSlice, ...], int]]:
    """Put the file slices of one partition into groups, largest first, each with the number of files to write.

    A group takes slices until its bytes are used up. One that would only be written as it is, is left out.
    """
    small = [one for one in slices if (one.base.size_bytes if one.base else 0) < rules.small_file_bytes]
    if rules.keeps_files:
        return [((one,), 1) for one in small]
    groups: list[list[FileSlice]] = []
    left_bytes = 0
    for one in sorted(small, key=lambda one: (-_slice_bytes(one, rules), one.group.file_id)):
        size_bytes = _slice_bytes(one, rules)
        if not groups or size_bytes > left_bytes:
            groups.append([])
            left_bytes = rules.most_group_bytes
        groups[-1].append(one)
        left_bytes -= size_bytes
    found = []
    for group in groups:
        total_bytes = sum(_slice_bytes(one, rules) for one in group)
        outputs_count = max(1, math.ceil(total_bytes / rules.target_file_bytes))
        if len(group) > 1 or _is_changed_alone(group[0], outputs_count, rules):
            found.append((tuple(group), outputs_count))
    return found


def _slice_bytes(one: FileSlice, rules: ClusteringRules) -> int:
    """Return what a slice counts in a group: its base file, or one of the wanted size where there are only logs."""
    return one.base.size_bytes if one.base is not None else min(rules.target_file_bytes, rules.most_group_bytes)


def _is_changed_alone(one: FileSlice, outputs_count: int, rules: ClusteringRules) -> bool:
    return rules.takes_single and (bool(rules.sort_columns) or bool(one.logs) or outputs_count > 1)


def _recent(partitions: list[PartitionPath], rules: ClusteringRules) -> list[PartitionPath]:
    return partitions[::-1][rules.skipped : rules.skipped + rules.lookback]


def _selected(partitions: list[PartitionPath], rules: ClusteringRules) -> list[PartitionPath]:
    first, last = rules.begin_partition, rules.end_partition
    return [one for one in partitions if first <= one and (not last or one <= last)]


def _rolling(partitions: list[PartitionPath], rules: ClusteringRules) -> list[PartitionPath]:
    return [one for at, one in enumerate(partitions) if at % 24 == rules.hour]


_FILTERS: Final[Mapping[PartitionFilter, Callable[[list[PartitionPath], ClusteringRules], list[PartitionPath]]]] = {
    PartitionFilter.NONE: lambda partitions, rules: partitions,
    PartitionFilter.RECENT_DAYS: _recent,
    PartitionFilter.SELECTED_PARTITIONS: _selected,
    PartitionFilter.DAY_ROLLING: _rolling,
}

"""Which of the file slices that have logs one compaction takes, and in which order.

Pure. Names, defaults and rules are Apache Hudi's; several strategies are a chain, each of which sees what the one
before it has left. Start at `chosen_operations`.

Spec: format/timeline 10.5.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from pyhudi.errors import OptionError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.options import MOST, Settings, between, option, regular_expression
from pyhudi.timeline.codec import CompactionOperation

__all__ = [
    "CompactionRules",
    "Metric",
    "Strategy",
    "chosen_operations",
    "chosen_partitions",
    "compaction_rules",
]


class Strategy(StrEnum):
    """Apache Hudi's compaction strategies, by the names of their classes."""

    LOG_FILE_SIZE = "LogFileSizeBasedCompactionStrategy"
    """Most bytes in logs first, as much as the budget allows."""
    LOG_FILE_NUM = "LogFileNumBasedCompactionStrategy"
    """Most log files first, as much as the budget allows."""
    BOUNDED_IO = "BoundedIOCompactionStrategy"
    UNBOUNDED = "UnBoundedCompactionStrategy"
    DAY_BASED = "DayBasedCompactionStrategy"
    """Newest days first, so many of them."""
    BOUNDED_PARTITION_AWARE = "BoundedPartitionAwareCompactionStrategy"
    """The last days, and those to come."""
    UNBOUNDED_PARTITION_AWARE = "UnBoundedPartitionAwareCompactionStrategy"
    """The days that BoundedPartitionAwareCompactionStrategy leaves out."""
    PARTITION_REGEX = "PartitionRegexBasedCompactionStrategy"


class Metric(StrEnum):
    """What a plan says of each file slice.   Spec: format/timeline 3.4."""

    LOG_FILES = "TOTAL_LOG_FILES"
    LOG_BYTES = "TOTAL_LOG_FILES_SIZE"
    READ_MB = "TOTAL_IO_READ_MB"
    WRITE_MB = "TOTAL_IO_WRITE_MB"
    IO_MB = "TOTAL_IO_MB"


def _strategies(text: str) -> str:
    """Take class names, with their packages or without, separated by commas."""
    names = [name.strip().rsplit(".", 1)[-1] for name in text.split(",")]
    known = {one.value for one in Strategy}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(sorted(known))}")
    return ",".join(names)


STRATEGY: Final = option(
    "hoodie.compaction.strategy",
    Strategy.LOG_FILE_SIZE.value,
    "Class name of what chooses the file slices that a compaction takes; several, separated by commas, are a chain.",
    parse=_strategies,
)
TARGET_IO_MB: Final = option(
    "hoodie.compaction.target.io",
    512_000,
    "Units: MB. LogFileSizeBasedCompactionStrategy, LogFileNumBasedCompactionStrategy and BoundedIOCompactionStrategy: "
    "slices are taken until so much is read and written.",
    parse=between(0, 2**63 - 1),
)
SIZE_THRESHOLD: Final = option(
    "hoodie.compaction.logfile.size.threshold",
    0,
    "Units: bytes. LogFileSizeBasedCompactionStrategy: slices with smaller logs are left.",
    parse=between(0, 2**63 - 1),
)
NUM_THRESHOLD: Final = option(
    "hoodie.compaction.logfile.num.threshold",
    0,
    "LogFileNumBasedCompactionStrategy: slices with fewer log files are left.",
    parse=between(0, 2**63 - 1),
)
TARGET_PARTITIONS: Final = option(
    "hoodie.compaction.daybased.target.partitions",
    10,
    "DayBasedCompactionStrategy: the newest so many partitions. BoundedPartitionAwareCompactionStrategy: those of the "
    "last so many days and later.",
    parse=between(0, MOST),
)
PARTITION_REGEX: Final = option(
    "hoodie.compaction.partition.path.regex",
    "",
    "PartitionRegexBasedCompactionStrategy: partitions in whose path it is found.",
    parse=regular_expression,
)
_BUDGETED: Final = frozenset({Strategy.LOG_FILE_SIZE, Strategy.LOG_FILE_NUM, Strategy.BOUNDED_IO})
_DATE: Final = re.compile(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", re.ASCII)
_LEVEL_NAME: Final = re.compile(r"(^|/)[^/=]*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """How a compaction chooses."""

    strategies: tuple[Strategy, ...]
    target_io_mb: int
    least_log_bytes: int
    least_log_files: int
    days_count: int
    partition_regex: str
    today: date


def compaction_rules(settings: Settings, today: date) -> CompactionRules:
    """Read the options.

    Raises: OptionError for the strategy by a regular expression without one.
    """
    rules = CompactionRules(
        strategies=tuple(Strategy(name) for name in settings.get(STRATEGY).split(",")),
        target_io_mb=settings.get(TARGET_IO_MB),
        least_log_bytes=settings.get(SIZE_THRESHOLD),
        least_log_files=settings.get(NUM_THRESHOLD),
        days_count=settings.get(TARGET_PARTITIONS),
        partition_regex=settings.get(PARTITION_REGEX),
        today=today,
    )
    if Strategy.PARTITION_REGEX in rules.strategies and not rules.partition_regex:
        raise OptionError("this strategy needs a regular expression", strategy=STRATEGY.key, key=PARTITION_REGEX.key)
    return rules


def chosen_partitions(partitions: Iterable[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    """Return the partitions that are looked into, before any is listed.

    Raises: OptionError where a strategy goes by days and a partition is none.
    """
    found = list(partitions)
    for strategy in rules.strategies:
        found = _PARTITIONS.get(strategy, _all_partitions)(found, rules)
    return found


def chosen_operations(
    operations: Iterable[CompactionOperation], rules: CompactionRules
) -> tuple[CompactionOperation, ...]:
    """Return the file slices that are compacted, in order.   Raises: as `chosen_partitions`."""
    found = list(operations)
    for strategy in rules.strategies:
        if strategy in _BUDGETED:
            found = _within_budget(_by_logs(found, strategy, rules), rules)
        elif strategy in _PARTITIONS and strategy is not Strategy.PARTITION_REGEX:
            found = _by_day(found, strategy, rules)
    return tuple(found)


def _by_logs(
    operations: Sequence[CompactionOperation], strategy: Strategy, rules: CompactionRules
) -> list[CompactionOperation]:
    """Leave out slices with few logs and put the others in order, as far as the strategy goes by them."""
    if strategy is Strategy.BOUNDED_IO:
        return list(operations)
    is_by_size = strategy is Strategy.LOG_FILE_SIZE
    name, least = (Metric.LOG_BYTES, rules.least_log_bytes) if is_by_size else (Metric.LOG_FILES, rules.least_log_files)
    kept = [one for one in operations if one.metrics[name] >= least]
    return sorted(kept, key=lambda one: one.metrics[name], reverse=True)


def _within_budget(operations: Sequence[CompactionOperation], rules: CompactionRules) -> list[CompactionOperation]:
    """Take slices until the budget is used up; the first is always taken."""
    found, left_mb = [], float(rules.target_io_mb)
    for one in operations:
        left_mb -= one.metrics[Metric.IO_MB]
        found.append(one)
        if left_mb <= 0:
            break
    return found


def _by_day(
    operations: Sequence[CompactionOperation], strategy: Strategy, rules: CompactionRules
) -> list[CompactionOperation]:
    by_partition: dict[PartitionPath, list[CompactionOperation]] = {}
    for one in operations:
        by_partition.setdefault(PartitionPath(one.partition), []).append(one)
    return [one for partition in _PARTITIONS[strategy](list(by_partition), rules) for one in by_partition[partition]]


def _all_partitions(partitions: list[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    return partitions


def _newest_days(partitions: list[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    return _latest_first(partitions)[: rules.days_count]


def _last_days(partitions: list[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    first = rules.today - timedelta(days=rules.days_count)
    return [one for one in _latest_first(partitions) if _day_of(one) >= first]


def _older_days(partitions: list[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    last = set(_last_days(partitions, rules))
    return [one for one in _latest_first(partitions) if one not in last]


def _matching(partitions: list[PartitionPath], rules: CompactionRules) -> list[PartitionPath]:
    pattern = re.compile(rules.partition_regex)
    return [one for one in partitions if pattern.search(one)]


_PARTITIONS: Final[Mapping[Strategy, Callable[[list[PartitionPath], CompactionRules], list[PartitionPath]]]] = {
    Strategy.DAY_BASED: _newest_days,
    Strategy.BOUNDED_PARTITION_AWARE: _last_days,
    Strategy.UNBOUNDED_PARTITION_AWARE: _older_days,
    Strategy.PARTITION_REGEX: _matching,
}


def _latest_first(partitions: Iterable[PartitionPath]) -> list[PartitionPath]:
    return sorted(partitions, key=_day_of, reverse=True)


def _day_of(partition: PartitionPath) -> date:
    """Read the day that a partition's path begins with: 2026/11/22, or year=2026/month=11/day=22."""
    match = _DATE.match(_LEVEL_NAME.sub(r"\1", partition))
    try:
        return date(*map(int, match.groups())) if match else _no_day(partition)
    except ValueError:
        return _no_day(partition)


def _no_day(partition: PartitionPath) -> date:
    raise OptionError(
        "this strategy goes by days, and a partition is none; choose another", key=STRATEGY.key, partition=partition
    )

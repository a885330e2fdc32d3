"""Plan a clustering: the newest file slices of some partitions, in groups, and the file slices that a plan names.

Reads listings, and decides. Slices that another table service is going to read are left out. Start at
`plan_clustering`.

Spec: format/timeline 3.5, 10.6.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import BaseFile, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.filegroup.view import as_file_slices, file_groups, newest_slices
from pyhudi.index.choice import index_of
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.slices import table_schema
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.services.cluster.strategy import (
    PLAN_STRATEGY,
    ClusteringRules,
    Execution,
    Grouping,
    clustered_partitions,
    clustering_groups,
    clustering_rules,
)
from pyhudi.services.compact.plan import operation_of
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.tasks.new_files import MAX_FILE_SIZE
from pyhudi.timeline.active import read_commit_metadata, timeline_zone
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.codec import ClusteringGroup, ClusteringPlan, ClusteringSlice, CompactionOperation
from pyhudi.timeline.view import Timeline, replaced_file_groups
from pyhudi.txn.checks import planned_groups

__all__ = ["FILE_BYTES", "operations_of", "plan_clustering", "rules_of"]

FILE_BYTES: Final = "TOTAL_FILES_SIZE"
"""The metric of ours: bytes of all files that a group reads; those of Apache Hudi are whole MB."""
_HOUR: Final = slice(8, 10)
"""Of an instant's digits."""


def rules_of(state: TableState, settings: Settings) -> ClusteringRules:
    """Return how a table is clustered: under the bucket index each file group for itself.

    Raises: OptionError for strategies that put file groups of the bucket index together: keys name these.
    """
    rules = clustering_rules(settings, int(format_instant(state.env.now_ms(), timeline_zone(state))[_HOUR]))
    if not index_of(settings, state.config).is_computed or rules.keeps_files:
        return rules
    if settings.has(PLAN_STRATEGY) or not rules.sort_columns:
        raise OptionError(
            "the bucket index names file groups by their keys, so that none can be put together; name columns to sort"
            " each of them by",
            key=PLAN_STRATEGY.key,
            value=str(rules.grouping),
        )
    return clustering_rules(settings.over(Settings({PLAN_STRATEGY.key: Grouping.SINGLE_FILE.value})), rules.hour)


def plan_clustering(state: TableState, timeline: Timeline, settings: Settings) -> ClusteringPlan | None:
    """Choose what a clustering takes now; None where there is nothing.

    Locks:  the table lock is held, or it is a dry run.
    Cost:   a listing of each partition that the filter leaves.
    Raises: OptionError; InvalidInput for a sort column that the table does not have.
    """
    rules = rules_of(state, settings)
    _require_columns(state, timeline, rules)
    index = file_index(state, timeline)
    partitions = clustered_partitions(index.partitions(), rules)
    groups: list[ClusteringGroup] = []
    slices = _open_slices(index, partitions)
    for partition in partitions:
        if len(groups) >= rules.most_groups:
            break
        found = clustering_groups([one for one in slices if one.group.partition == partition], rules)
        groups += [_group(members, count, settings) for members, count in found]
    if not groups:
        return None
    execution = Execution.SINGLE_FILE if rules.keeps_files else rules.execution
    return ClusteringPlan(groups=tuple(groups[: rules.most_groups]), strategy=execution.class_name, params=rules.params)


def operations_of(group: ClusteringGroup) -> list[CompactionOperation]:
    """Return the slices of a group in the form in which plans of compactions name theirs."""
    return [
        CompactionOperation(
            partition=one.partition,
            file_id=one.file_id,
            base_instant=_base_instant(one),
            base=one.base,
            logs=one.logs,
        )
        for one in group.slices
    ]


def _base_instant(one: ClusteringSlice) -> str:
    name = one.base or next(iter(one.logs), "")
    file = parse_file(PartitionPath(one.partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
    return file.instant if isinstance(file, BaseFile | LogFile) else ""


def _open_slices(index: FileIndex, partitions: Sequence[PartitionPath]) -> list[FileSlice]:
    """Return the newest slices that no pending table service is going to read."""
    state, timeline = index.state, index.timeline
    replaced = replaced_file_groups(timeline, partial(read_commit_metadata, state))
    found = as_file_slices(newest_slices(file_groups(index.files(partitions), timeline, replaced)))
    planned = planned_groups(state, timeline)
    return [one for one in found if one.group not in planned]


def _group(members: Sequence[FileSlice], outputs_count: int, settings: Settings) -> ClusteringGroup:
    described = [operation_of(one, settings.get(MAX_FILE_SIZE)) for one in members]
    logs_bytes = sum(log.size_bytes for one in members for log in one.logs)
    metrics = {FILE_BYTES: float(logs_bytes + sum(one.base.size_bytes for one in members if one.base is not None))}
    for one in described:
        for name, value in one.metrics.items():
            metrics[str(name)] = metrics.get(str(name), 0.0) + value
    slices = tuple(
        ClusteringSlice(partition=one.partition, file_id=one.file_id, base=one.base, logs=one.logs) for one in described
    )
    return ClusteringGroup(slices=slices, outputs_count=outputs_count, metrics=metrics)


def _require_columns(state: TableState, timeline: Timeline, rules: ClusteringRules) -> None:
    if not rules.sort_columns:
        return
    schema = with_meta_fields(table_schema(state, timeline))
    missing = [name for name in rules.sort_columns if name.partition(".")[0] not in schema.names]
    nested = [
        name for name in rules.sort_columns if name in schema.names and pa.types.is_nested(schema.field(name).type)
    ]
    if missing or nested:
        raise InvalidInput(
            "rows cannot be ordered by these columns; name columns of the table, or fields of its structs",
            missing=missing,
            nested=nested,
        )

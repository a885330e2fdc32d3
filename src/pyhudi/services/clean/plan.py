"""Decide which files a clean deletes: pure, from what was found out about a table under its lock.

An older slice of a file group goes when a newer one has hidden it from every moment that is to stay readable: those
since the earliest retained instant, pinned ones, and the begin of each pending write. What savepoints name, and groups
that a pending plan names, stay whatever their age; their partitions are looked at again by the next clean. Start at
`plan_clean`.

Spec: format/timeline 6.1, 10.1; reliability 1.5, I8.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.view import as_file_slices, file_groups
from pyhudi.services.clean.retention import Retention, horizon_of
from pyhudi.timeline.cleaning import CleanPlan, EarliestInstant
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, completion_of

__all__ = ["BYTES", "HELD", "HELD_EVERYWHERE", "SAVEPOINTS", "VERSIONS_KEPT", "CleanSnapshot", "plan_clean"]

BYTES: Final = "pyhudi.bytes"
"""Entry of the plan: how many bytes its files have."""
HELD: Final = "pyhudi.held"
"""Entry: JSON of the partitions in which something stays that has to be looked at again."""
HELD_EVERYWHERE: Final = "*"
VERSIONS_KEPT: Final = "pyhudi.versions"
"""Entry of a clean by file versions: how many it kept."""
SAVEPOINTS: Final = "savepointed_timestamps"
"""Entry that Apache Hudi makes too: which savepoints there were."""
_MOST_HELD: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSnapshot:
    """What a plan is made from."""

    timeline: Timeline
    retention: Retention
    earliest: Instant | None
    """None where slices are counted."""
    files: pa.Table
    """All files of the partitions that are looked into, `filegroup.file_index.FILES`."""
    partitions: Collection[PartitionPath]
    replaced: Mapping[tuple[str, str], InstantTime] = field(default_factory=dict)
    """By (partition path, file id), the replacecommit that took a group away."""
    moments: Collection[InstantTime] = ()
    """Points that are to stay readable besides: pinned ones, and the begin of each pending write."""
    savepoints: Mapping[InstantTime, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """File names by partition path, of each savepoint."""
    planned: frozenset[FileGroupId] = frozenset()
    """File groups that a pending compaction or clustering is going to read."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """When a slice goes, as it follows from a snapshot."""

    snapshot: CleanSnapshot
    horizon: InstantTime
    saved: frozenset[tuple[str, str]]

    def point_of(self, time: InstantTime) -> InstantTime:
        """Return when what an instant wrote became visible; its own time where that is not known."""
        timeline = self.snapshot.timeline
        done = completion_of(timeline, time) if timeline.layout.has_completion_times else None
        return done if done is not None and len(done) == len(time) else time

    def is_outdated(self, one: FileSlice, hidden_at: InstantTime, *, is_counted_out: bool) -> bool:
        """Return whether the policy lets a slice go that is hidden since a point."""
        earliest = self.snapshot.earliest
        if earliest is None:
            return is_counted_out
        return one.base_instant < earliest.requested_time and hidden_at < self.horizon

    def is_held(self, one: FileSlice, hidden_at: InstantTime) -> bool:
        """Return whether a slice that the policy lets go has to stay."""
        if one.group in self.snapshot.planned:
            return True
        if any((file.partition, file.name) in self.saved for file in _files_of(one)):
            return True
        shown_at = min(self.point_of(file.instant) for file in _files_of(one))
        return any(shown_at <= moment < hidden_at for moment in self.snapshot.moments)


def plan_clean(snapshot: CleanSnapshot) -> CleanPlan:
    """Plan a clean; a plan without files or partitions has nothing to do.

    Cost: some microseconds for each slice of the groups that have several, or that were replaced.
    """
    earliest = snapshot.earliest
    horizon = horizon_of(snapshot.timeline, earliest) if earliest is not None else InstantTime("")
    saved = frozenset(
        (where, name) for files in snapshot.savepoints.values() for where, names in files.items() for name in names
    )
    rules = _Rules(snapshot, horizon, saved)
    outdated: dict[PartitionPath, dict[str, int]] = {}
    held: set[str] = set()
    slices = as_file_slices(_candidates(file_groups(snapshot.files, snapshot.timeline, {}), snapshot.replaced))
    for group, listed in groupby(slices, key=lambda one: one.group):
        for one, is_held in _outdated(list(listed), rules):
            if is_held:
                held.add(group.partition)
            else:
                sizes = {file.name: file.size_bytes for file in _files_of(one)}
                outdated.setdefault(group.partition, {}).update(sizes)
    return _plan(snapshot, outdated, held)


def _plan(snapshot: CleanSnapshot, outdated: Mapping[PartitionPath, Mapping[str, int]], held: set[str]) -> CleanPlan:
    earliest, writes = snapshot.earliest, completed_writes(snapshot.timeline)
    extra = {BYTES: str(sum(size for files in outdated.values() for size in files.values()))}
    if held:
        extra[HELD] = json.dumps(sorted(held)) if len(held) <= _MOST_HELD else json.dumps([HELD_EVERYWHERE])
    if snapshot.savepoints:
        extra[SAVEPOINTS] = ",".join(sorted(snapshot.savepoints))
    if earliest is None:
        extra[VERSIONS_KEPT] = str(snapshot.retention.versions)
    return CleanPlan(
        earliest=None
        if earliest is None
        else EarliestInstant(
            time=earliest.requested_time, action=earliest.comparable_action, state=earliest.state.upper()
        ),
        last_completed=writes[-1].requested_time if writes else "",
        policy=snapshot.retention.policy,
        files={partition: tuple(outdated[partition]) for partition in sorted(outdated)},
        partitions=_emptied(snapshot, outdated),
        extra=extra,
    )


def _candidates(slices: pa.Table, replaced: Mapping[tuple[str, str], InstantTime]) -> pa.Table:
    """Keep the slices of groups that have several, or that were replaced.   Shape: SLICES -> SLICES."""
    groups = pc.binary_join_element_wise(slices["partition"], slices["file_id"], "/")
    counts = groups.value_counts()
    several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    gone = pa.array([f"{partition}/{file_id}" for partition, file_id in replaced], pa.string())
    return slices.filter(pc.or_(pc.is_in(groups, several), pc.is_in(groups, gone)))


def _outdated(slices: Sequence[FileSlice], rules: _Rules) -> list[tuple[FileSlice, bool]]:
    """Return the slices of one group that the policy lets go, and whether each has to stay nevertheless.

    The slices come oldest first. One is hidden since the first of the newer ones became visible, or since its group was
    replaced; of a hash bucket's group a later instant may have files under the same id.
    """
    group, kept_count = slices[0].group, rules.snapshot.retention.versions
    replacing = rules.snapshot.replaced.get((group.partition, group.file_id))
    found: list[tuple[FileSlice, bool]] = []
    hidden_at: InstantTime | None = None
    for number, one in enumerate(reversed(slices)):
        is_replaced = replacing is not None and one.base_instant <= replacing
        if replacing is not None and is_replaced:
            hidden_at = _first(rules.point_of(replacing), hidden_at)
        if hidden_at is not None and rules.is_outdated(
            one, hidden_at, is_counted_out=is_replaced or number >= kept_count
        ):
            found.append((one, rules.is_held(one, hidden_at)))
        hidden_at = _first(rules.point_of(one.base_instant), hidden_at)
    return found[::-1]


def _first(point: InstantTime, other: InstantTime | None) -> InstantTime:
    return point if other is None else min(point, other)


def _files_of(one: FileSlice) -> list[BaseFile | LogFile]:
    """Return a slice's files: the base file first, then its logs."""
    return [file for file in (one.base, *one.logs) if file is not None]


def _emptied(snapshot: CleanSnapshot, outdated: Mapping[PartitionPath, Mapping[str, int]]) -> tuple[str, ...]:
    """Return the partitions in which nothing is left but what makes them partitions."""
    names = dict.fromkeys(snapshot.partitions, 0)
    for partition, count in zip(*_counts(snapshot.files), strict=True):
        names[partition] = count
    return tuple(sorted(one for one, count in names.items() if one and count == len(outdated.get(one, ()))))


def _counts(files: pa.Table) -> tuple[list[PartitionPath], list[int]]:
    counted = files["partition"].value_counts()
    return counted.field("values").to_pylist(), counted.field("counts").to_pylist()

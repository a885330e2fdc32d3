"""Clean: delete older file slices that no reader is promised any more.

A table service: `services.clean.scope` finds out where to look, `services.clean.plan` decides, and here the files of
the plan are deleted and the clean is completed. Nothing else is ever deleted than what the stored plan names, so a
clean may be run by two processes at once, and finished by any. It conflicts with no other action. Start at `Cleaning`.

Spec: format/timeline 3.6, 10.1; reliability 1.5.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import is_partition_metadata, parse_file
from pyhudi.metadata.partitions.changes import records_of_clean
from pyhudi.metadata.table.commit import publish_changes
from pyhudi.options import option
from pyhudi.queries.display import facts_html
from pyhudi.services.clean.plan import BYTES, HELD, HELD_EVERYWHERE, plan_clean
from pyhudi.services.clean.retention import TRIGGER_COMMITS, commits_since, pending_writes, retention_of
from pyhudi.services.clean.scope import clean_snapshot, earliest_for
from pyhudi.services.metadata_table import keep_metadata_table
from pyhudi.services.service import ServiceCall, ServiceRun, plan_service, run_service, schedule_service
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, check_path
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleaning import CleanMetadata, CleanPartition, CleanPlan
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.codec import decode_clean_plan, encode_clean_metadata, encode_clean_plan
from pyhudi.timeline.columns import committed_schema
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.view import Timeline, newest_time, pending_instants

__all__ = ["AUTOMATIC", "CleanResult", "Cleaning", "clean_table"]

AUTOMATIC: Final = option("hoodie.clean.automatic", True, "A table is cleaned after each write that makes a clean due.")
_DEAR_COMMITS: Final = 10
"""A clean without files is stored all the same where so many commits were read to find that out."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CleanResult:
    """What a clean deleted, or would delete. Units: bytes."""

    instants: tuple[str, ...]
    """Requested times of the cleans that were completed; of a plan that was only stored its own; none of a dry run."""
    files: tuple[str, ...]
    """Relative to the base path."""
    bytes: int
    """Of what pyhudi planned; a plan of Apache Hudi does not say."""
    partitions: tuple[str, ...]
    """In which nothing is left, so that they go too once no write is pending."""
    earliest: str
    """The earliest instant that is retained; empty where nothing is to be cleaned, or file versions are counted."""

    def __str__(self) -> str:
        """Describe it in one line."""
        named = f" {', '.join(self.instants)}" if self.instants else ""
        kept = f"; retained from {self.earliest}" if self.earliest else ""
        return f"clean{named}: {len(self.files)} files, {self.bytes} bytes{kept}"

    def __repr__(self) -> str:
        """Show counts; `files` has the rest."""
        return f"CleanResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        shown = {"instants": ", ".join(self.instants), "files": len(self.files), "bytes": self.bytes}
        return facts_html("clean", shown | {"partitions": len(self.partitions), "earliest": self.earliest})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """The service; see `services.service.Service`."""

    action: Action = Action.CLEAN
    is_shareable: bool = True

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether enough was committed since the last clean, or a clean was left unfinished."""
        pending = {one.action for one in pending_instants(timeline)}
        if not call.settings.get(AUTOMATIC) or Action.RESTORE in pending:
            return False
        if Action.CLEAN in pending:
            return True
        last, retention = last_clean(call.state, timeline), retention_of(call.settings)
        if commits_since(timeline, last.last_completed if last else "") < call.settings.get(TRIGGER_COMMITS):
            return False
        earliest = earliest_for(call.state, timeline, retention, last)
        if earliest is None:
            return retention.counts_versions
        return last is None or earliest.requested_time > last.earliest

    def plan(self, call: ServiceCall, timeline: Timeline) -> CleanPlan | None:
        """Plan; a plan without files is stored only where the next one would else have as much to read again."""
        if any(one.action is Action.RESTORE for one in pending_instants(timeline)):
            return None
        found = clean_snapshot(call.state, timeline, call.settings)
        if found is None:
            return None
        snapshot, scope = found
        plan = plan_clean(snapshot)
        plan = replace(plan, partitions=_to_drop(call, plan))
        last = last_clean(call.state, timeline)
        moves_on = plan.earliest is None or last is None or plan.earliest.time > last.earliest
        is_dear = moves_on and (scope.partitions is None or scope.commits_count >= _DEAR_COMMITS)
        return plan if plan.files or plan.partitions or is_dear else None

    def encode_plan(self, call: ServiceCall, plan: CleanPlan, nonce: bytes) -> bytes:
        """Format the requested file."""
        return encode_clean_plan(plan, partial(_whole_path, call.state), nonce)

    def decode_plan(self, data: bytes, file_name: str) -> CleanPlan:
        """Read the requested file of any writer."""
        return decode_clean_plan(data, file_name)

    def run(self, call: ServiceCall, instant: Instant, plan: CleanPlan) -> float:
        """Delete the plan's files, several at once; returns when that began. A file that is gone is fine.

        Raises: CorruptData for a plan that names anything but data files of this table; nothing is deleted then.
        """
        paths = _paths(plan)
        started_s = call.state.env.monotonic_s()
        at_once(call.state.storage.delete, paths)
        return started_s

    def commit(self, call: ServiceCall, instant: Instant, plan: CleanPlan, done: float) -> Callable[[bytes], bytes]:
        """Delete the partitions that are empty, and say what was done."""
        is_free = not pending_writes(load_timeline(call.state))
        emptied = _to_drop(call, plan)  # another release planned more
        dropped = _drop_partitions(call.state, emptied) if is_free else set()
        _tell_metadata_table(call, instant, plan.files, dropped)
        metadata = CleanMetadata(
            start_time=instant.requested_time,
            time_taken_ms=int((call.state.env.monotonic_s() - done) * 1000),
            earliest=plan.earliest.time if plan.earliest is not None else "",
            last_completed=plan.last_completed,
            partitions={
                where: CleanPartition(
                    policy=plan.policy,
                    deleted=plan.files.get(where, ()),
                    patterns=plan.files.get(where, ()),
                    is_deleted=where in dropped,
                )
                for where in sorted({*plan.files, *dropped})
            },
            extra=_with_held(plan.extra or {}, () if is_free else emptied),
        )
        return partial(encode_clean_metadata, metadata)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Do nothing: a clean writes no file, and what it deleted is to be deleted."""


def clean_table(call: ServiceCall, *, is_dry_run: bool = False, is_only_planned: bool = False) -> CleanResult:
    """Clean a table now, whether that is due or not: what is planned already is finished first.

    Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; StorageUnavailable.
    """
    if is_dry_run:
        plan = plan_service(call, Cleaning())
        return _result((), [] if plan is None else [plan])
    call = replace(call, state=keep_metadata_table(call.state, call.settings, call.engine))
    if is_only_planned:
        scheduled = schedule_service(call, Cleaning())
        runs: Iterable[ServiceRun[CleanPlan]] = () if scheduled is None else (scheduled,)
    else:
        runs = run_service(call, Cleaning())
    return _result([one.instant.requested_time for one in runs], [one.plan for one in runs])


def _tell_metadata_table(
    call: ServiceCall, instant: Instant, files: Mapping[str, Collection[str]], dropped: Collection[str]
) -> None:
    """Take the files that are gone out of the metadata table, by a delta commit that counts once the clean is done."""
    timeline = load_timeline(call.state)
    records = partial(
        records_of_clean,
        deleted=files,
        dropped=dropped,
        schema=committed_schema(call.state, timeline)[0] or call.state.config.create_schema,
        settings=call.settings,
    )
    after = newest_time(timeline)
    publish_changes(call.state, instant.requested_time, records, call.settings, lambda: call.times.issue(after))


def _result(instants: Iterable[str], plans: Collection[CleanPlan]) -> CleanResult:
    sizes = ((plan.extra or {}).get(BYTES, "") for plan in plans)
    return CleanResult(
        instants=tuple(instants),
        files=tuple(path for plan in plans for path in _paths(plan)),
        bytes=sum(int(size) for size in sizes if size.isdecimal()),
        partitions=tuple(where for plan in plans for where in plan.partitions),
        earliest=max((plan.earliest.time for plan in plans if plan.earliest is not None), default=""),
    )


def _paths(plan: CleanPlan) -> list[str]:
    """Return the plan's files, relative to the base path; all are judged before one is deleted."""
    if plan.bootstrap_files:
        raise CorruptData("a plan of a clean names files outside the table", file=min(plan.bootstrap_files))
    found = []
    for partition, names in plan.files.items():
        for name in names:
            path = f"{partition}/{name}" if partition else name
            if _is_data_file(PartitionPath(partition), name, path):
                found.append(path)
            else:
                raise CorruptData("a plan of a clean names what is no data file", file=path)
    return found


def _is_data_file(partition: PartitionPath, name: str, path: str) -> bool:
    try:
        check_path(path)
    except InvalidInput:
        return False
    status = FileStatus(path=name, size_bytes=0, modified_ms=0)
    return partition.split("/")[0] != ".hoodie" and parse_file(partition, status) is not None


def _whole_path(state: TableState, partition: str, name: str) -> str:
    """Spell a path as Hadoop does: one slash after the scheme of local files."""
    base = state.storage.url.rstrip("/")
    base = f"file:{base.removeprefix('file://')}" if base.startswith(("file://", "/")) else base
    return "/".join(filter(None, (base, partition, name)))


def _to_drop(call: ServiceCall, plan: CleanPlan) -> tuple[str, ...]:
    """Return the empty partitions that go: none of a metadata table, where each says when it was built."""
    return tuple(plan.partitions) if call.owner is None else ()


def _drop_partitions(state: TableState, partitions: Collection[str]) -> set[str]:
    """Delete the directories of partitions in which nothing is left; returns which.

    Only while no write is pending: that may have found the partition's metadata there, and not make it again. Those
    that begin later wait for the lock.
    """
    dropped = set()
    for where in partitions:
        content = state.storage.list_directory(check_path(where))
        if not content.directories and all(is_partition_metadata(status.name) for status in content.files):
            state.storage.delete_tree(where)
            dropped.add(where)
    return dropped


def _with_held(extra: Mapping[str, str], left: Collection[str]) -> dict[str, str]:
    """Add partitions that the next clean has to look at again."""
    entries = dict(extra)
    held = set(json.loads(entries.get(HELD, "[]"))) | set(left)
    if held:
        entries[HELD] = json.dumps(sorted(held) if HELD_EVERYWHERE not in held else [HELD_EVERYWHERE])
    return entries

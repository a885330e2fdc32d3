"""Merge a source into the table by conditions: update, delete, insert, and clauses for rows the source has not.

`MergeBuilder` collects the clauses; `execute` checks them, finds the target rows by record key and lets tasks apply
the clauses to one file group after the other. Start at `MergeBuilder`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from pyhudi.actions.call import WriteCall, WriteResult, write_spec
from pyhudi.actions.merge_clauses import Clause, ClauseKind, MergeClauses, source_name
from pyhudi.actions.merge_task import merge_bucket, merge_buckets
from pyhudi.actions.opening import Opened, opened
from pyhudi.actions.publish import profile, publish
from pyhudi.actions.write import Located, locate, plan_for
from pyhudi.actions.write_plan import WritePlan
from pyhudi.actions.write_task import to_statuses
from pyhudi.engine.api import Frame
from pyhudi.errors import InvalidInput
from pyhudi.filegroup.writer import WRITE_STATUS, FileTask, WriteStatus
from pyhudi.predicate import Expression, literal, parse, to_expression
from pyhudi.predicate.model import Column
from pyhudi.predicate.split import equalities
from pyhudi.queries.slices import slices_at, table_schema
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["MergeBuilder"]


class MergeBuilder:
    """Clauses of one merge, in the order they are tried; the first whose condition is true acts on a row.

    `t` is the table, `s` the source. Every record key field must be equated in `on`: Hudi finds rows by key.
    """

    def __init__(self, call: WriteCall, source: Frame, on: str) -> None:
        self._call, self._source, self._on = call, source, on
        self._clauses: tuple[Clause, ...] = ()

    def when_matched_update_all(self, condition: str | None = None) -> "MergeBuilder":
        """Take all columns from the source."""
        return self._with(ClauseKind.UPDATE, None, condition)

    def when_matched_update(self, set: Mapping[str, Any], condition: str | None = None) -> "MergeBuilder":
        """Set columns to expressions over `t` and `s`."""
        return self._with(ClauseKind.UPDATE, set, condition)

    def when_matched_delete(self, condition: str | None = None) -> "MergeBuilder":
        """Delete the target row."""
        return self._with(ClauseKind.DELETE, None, condition)

    def when_not_matched_insert_all(self, condition: str | None = None) -> "MergeBuilder":
        """Insert the source row."""
        return self._with(ClauseKind.INSERT, None, condition)

    def when_not_matched_insert(self, values: Mapping[str, Any], condition: str | None = None) -> "MergeBuilder":
        """Insert a row of expressions over `s`; columns that are not named are null."""
        return self._with(ClauseKind.INSERT, values, condition)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Any],
        condition: str | None = None,
    ) -> "MergeBuilder":
        """Set columns of target rows that no source row matches, to expressions over `t`."""
        return self._with(ClauseKind.UPDATE_BY_SOURCE, set, condition)

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> "MergeBuilder":
        """Delete target rows that no source row matches."""
        return self._with(ClauseKind.DELETE_BY_SOURCE, None, condition)

    def execute(self) -> WriteResult | WritePlan:
        """Run the merge as one commit.

        Raises: InvalidInput where `on` or a clause cannot be used; DuplicateKeys where two source rows match one row.
        """
        merge = _Merge.of(self._call, self._call.engine.schema(self._source), self._on, self._clauses)
        return _execute(self._call, self._source, merge)

    def _with(self, kind: ClauseKind, values: Mapping[str, Any] | None, condition: str | None) -> "MergeBuilder":
        assignments = None if values is None else {name: _expression(value) for name, value in values.items()}
        clause = Clause(kind=kind, assignments=assignments, condition=None if condition is None else parse(condition))
        longer = MergeBuilder(self._call, self._source, self._on)
        longer._clauses = (*self._clauses, clause)
        return longer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merge:
    """A merge whose clauses fit the table and the source."""

    clauses: MergeClauses
    keys: Mapping[str, Expression]
    """Record key and partition fields of a source row, as expressions over the source."""
    knows_partition: bool
    """`on` equates every partition field, so a row is looked for in its own partition only."""

    @staticmethod
    def of(call: WriteCall, source: pa.Schema, on: str, clauses: tuple[Clause, ...]) -> "_Merge":
        if not clauses:
            raise InvalidInput("a merge needs at least one clause")
        target = table_schema(call.state, load_timeline(call.state))
        split = equalities(parse(on))
        equal = {pair[0].parts[-1]: pair[1] for pair in split.pairs}
        config = call.state.config
        missing = [name for name in config.record_key if name not in equal]
        if missing or not config.record_key:
            raise InvalidInput(
                "a merge finds rows by key: equate every record key field in `on`", missing=missing, on=on
            )
        partitions = [name.split(":")[0] for name in config.partition_fields]
        checked = MergeClauses.of(clauses, split.residual, target, source, fixed=(*config.record_key, *partitions))
        keys = {name: equal[name] for name in config.record_key}
        for name in partitions:
            # Without an insert nobody asks where an unmatched row would go.
            nowhere = Column(parts=(name,)) if name in source.names else literal(None, target.field(name).type)
            keys.setdefault(name, equal.get(name) or checked.inserted(name) or nowhere)
        return _Merge(
            clauses=checked,
            keys={name: checked.over_source(expression) for name, expression in keys.items()},
            knows_partition=all(name in equal for name in partitions),
        )


def _execute(call: WriteCall, source: Frame, merge: _Merge) -> WriteResult | WritePlan:
    keyed = _keyed(call, source, merge)
    with opened(call, keyed, Action.COMMIT, WriteOperation.UPSERT, has_only_keys=True) as write:
        located = locate(_in_all_partitions(write) if not merge.knows_partition else write)
        plan = plan_for(write, located, has_inserts=merge.clauses.has_inserts, is_anywhere=not merge.knows_partition)
        if call.is_dry_run:
            return plan
        write.txn.start(profile(WriteOperation.UPSERT, plan))
        statuses = _write(write, located, plan, merge.clauses)
        if merge.clauses.has_by_source:
            statuses += _write_untouched(write, statuses, merge.clauses, len(plan.files))
        return publish(call, write.txn, WriteOperation.UPSERT, statuses, schema=write.schema, phases=write.phases)


def _in_all_partitions(write: Opened) -> Opened:
    """Look for the rows wherever they are: `on` does not say in which partition."""
    return replace(write, has_unknown_partitions=True, slices=slices_at(write.call.state, write.snapshot))


def _keyed(call: WriteCall, source: Frame, merge: _Merge) -> Frame:
    """Give the source its keys; its own columns get names that cannot meet the table's."""
    engine = call.engine
    names = engine.schema(source).names
    columns: dict[str, Expression] = {source_name(name): Column(parts=(name,)) for name in names}
    renamed = engine.select(source, columns)
    everything = {name: Column(parts=(name,)) for name in columns}
    fields = engine.select(renamed, {**everything, **merge.keys})
    return engine.with_keys(fields, call.keys())


def _write(write: Opened, located: Located, plan: WritePlan, clauses: MergeClauses) -> list[WriteStatus]:
    call, engine = write.call, write.call.engine
    with write.phases.step("write files"):
        routed = engine.exchange(engine.route(write.rows, located.frame, plan.routes), plan.tasks_count)
        task = partial(
            merge_buckets,
            storage=call.state.storage,
            spec=write_spec(call, write.time, write.schema),
            files=plan.files,
            clauses=clauses,
        )
        return to_statuses(engine.collect(engine.map(routed, task, WRITE_STATUS)))


def _write_untouched(
    write: Opened, statuses: list[WriteStatus], clauses: MergeClauses, first: int
) -> list[WriteStatus]:
    """Apply the clauses for rows without a source row to the file groups that no source row reached."""
    reached = {(status.partition, status.file_id) for status in statuses}
    left = [one for one in slices_at(write.call.state, write.snapshot) if one.base is not None]
    tasks = [
        FileTask(
            partition=one.group.partition,
            file_id=one.group.file_id,
            write_token=f"{first + number}-0-0",
            base=one.base,
            number=first + number,
        )
        for number, one in enumerate(left)
        if (one.group.partition, one.group.file_id) not in reached
    ]
    spec = write_spec(write.call, write.time, write.schema)
    work = partial(merge_bucket, storage=write.call.state.storage, spec=spec, rows=None, clauses=clauses)
    return write.call.engine.run(work, tasks)


def _expression(value: Any) -> Expression:  # noqa: ANN401 - what users type
    expression = to_expression(value)
    if expression is None:
        raise InvalidInput("an assignment needs an expression", value=value)
    return expression
